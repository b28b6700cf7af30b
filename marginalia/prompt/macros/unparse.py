"""From the tree of a mixed text to Jinja's own source.

What is Jinja stays as it is. A macro becomes a tag with nothing but a number in it, its place in a table of nodes:
no word of a macro, and no value, ever becomes Jinja source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from marginalia.prompt.macros.tree import Call, If, Native, Node, Nodes, Section, Test, Text

PRINT, WHEN, EACH, BLOCK, TIDY = "macro_print", "macro_if", "macro_each", "macro_block", "macro_tidy"
ELSE_WHEN, ELSE = "macro_elif", "macro_else"

_UNSAFE = re.compile(r"\{[{%#]|\{\Z|[%#}]\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Jinja source, and what its numbered tags stand for."""

    source: str
    table: tuple[Node | Test, ...]


def unparse(source: str, nodes: Nodes) -> Mixed:
    """The Jinja source of *nodes*, whose lines are those of *source* as far as Jinja's own tags are concerned."""
    writer = _Writer(source)
    writer.write(nodes)
    return Mixed(source="".join(writer.parts), table=tuple(writer.table))


class _Writer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.parts: list[str] = []
        self.table: list[Node | Test] = []
        self.line = 0
        self.seen = (0, 0)

    def write(self, nodes: Nodes) -> None:
        for node in nodes:
            match node:
                case Native():
                    self._native(node)
                case Text():
                    self._text(node)
                case If():
                    self._if(node)
                case Section():
                    self._open(EACH, self._number(node))
                    self.write(node.body)
                    self._otherwise(node.otherwise)
                    self._open(f"end{EACH}")
                case Call() if node.block:
                    self._block(node)
                case _:
                    self._open(PRINT, self._number(node))

    def _number(self, item: Node | Test) -> int:
        self.table.append(item)
        return len(self.table) - 1

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.line += text.count("\n")

    def _open(self, name: str, number: int | None = None) -> None:
        self._put(f"{{% {name} %}}" if number is None else f"{{% {name} {number} %}}")

    def _native(self, node: Native) -> None:
        """Makes up for line breaks inside macro tags, so that an error of Jinja names the right line."""
        at, line = self.seen
        line += self.source.count("\n", at, node.start)
        self.seen = (node.start, line)
        if line > self.line and not node.text.startswith(("{%-", "{{-")):
            self._put("{#" + "\n" * (line - self.line) + "#}")
        self._put(node.text)

    def _text(self, node: Text) -> None:
        if _UNSAFE.search(node.text):
            self._open(PRINT, self._number(node))
        else:
            self._put(node.text)

    def _block(self, node: Call) -> None:
        self._open(BLOCK, self._number(node))
        self.write(node.arguments[-1])
        self._open(f"end{BLOCK}")

    def _if(self, node: If) -> None:
        for index, (test, body) in enumerate(node.branches):
            self._open(ELSE_WHEN if index else WHEN, self._number(test))
            self._branch(body, tidy=node.tidy)
        if node.otherwise:
            self._open(ELSE)
            self._branch(node.otherwise, tidy=node.tidy)
        self._open(f"end{WHEN}")

    def _otherwise(self, nodes: Nodes) -> None:
        if nodes:
            self._open(ELSE)
            self.write(nodes)

    def _branch(self, nodes: Nodes, *, tidy: bool) -> None:
        if not tidy:
            self.write(nodes)
            return
        self._open(TIDY)
        self.write(nodes)
        self._open(f"end{TIDY}")
