"""Says what one tag is: a comment, a variable, a macro, or a part of a block."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from marginalia.prompt.macros.arguments import after, choices, split, trimmed, words
from marginalia.prompt.macros.blocks import Blocks, Build, Else, Item, Opener
from marginalia.prompt.macros.paths import BUILT_IN, path_of
from marginalia.prompt.macros.problems import mistake
from marginalia.prompt.macros.scanner import Piece, Ready, Tag
from marginalia.prompt.macros.table import Macro
from marginalia.prompt.macros.tree import Call, If, Node, Nodes, Path, Section, Test, Text

if TYPE_CHECKING:
    from marginalia.prompt.macros.parser import Parser

_NAME = re.compile(r"[^\W\d_][\w-]*")
_OLD_TIME = re.compile(r"(?i:time_(UTC[+-][0-9]{1,2}))")


def _choices_in(nodes: Nodes) -> list[list[Piece]]:
    """The choices that the content of a block lists."""
    return choices([node.text if isinstance(node, Text) else Ready(node) for node in nodes])


class Classifier:
    """Says what one tag is, and adds it to the blocks around it."""

    def __init__(self, parser: Parser, blocks: Blocks, tag: Tag) -> None:
        self.parser = parser
        self.blocks = blocks
        self.tag = tag
        self.pieces = trimmed(tag.pieces)

    def run(self) -> None:
        """Add the tag to the blocks."""
        first = self.pieces[0] if self.pieces else None
        if self.tag.kept or not isinstance(first, str):
            self._text()
        elif first.startswith(("!", "//")):
            return
        elif self.tag.plain or first[0] == "&":
            self._printed(first.lstrip("&").strip() if len(self.pieces) == 1 else "")
        elif first[0] in ".$":
            self._variable()
        elif first[0] == "/":
            self._close()
        elif first[0] in "#^":
            self._block(first[0])
        else:
            self._named(keep=False)

    def _text(self) -> None:
        self.blocks.add(*self.parser.as_text(self.tag))

    def _printed(self, content: str) -> None:
        """A tag without arguments: a macro, or a variable of the template."""
        macro = self.parser.macros.find(content)
        if macro and macro.minimum == 0:
            self.blocks.add(self.parser.call(macro, [], self.tag.start))
            return
        path = None if macro or content.lower() in BUILT_IN else path_of(content, self.tag.start)
        self.blocks.add(path) if path else self._text()

    def _variable(self) -> None:
        shorthand = self.parser.shorthand(self.pieces, self.tag.start)
        if shorthand:
            self.blocks.add(shorthand)
        else:
            self._printed(words(self.pieces) or "")

    def _close(self) -> None:
        name = (words(self.pieces) or "")[1:].strip()
        key = self._key(name)
        if self.blocks.is_open(key):
            self.blocks.close(key, self.tag)
        elif path_of(name, 0) and key != "if" and not self.parser.macros.find(name):
            shown = self.parser.source[self.tag.start : self.tag.end]
            raise mistake(
                self.parser.source, self.tag.start, f"{shown} closes a block that was never opened."
            )
        else:
            self._text()

    def _key(self, name: str) -> str:
        lower = name.lower()
        return lower if lower in BUILT_IN or self.parser.macros.find(name) else name

    def _block(self, sign: str) -> None:
        """What begins with ``#`` or ``^``."""
        self.pieces = trimmed(after(self.pieces, 1))
        content = words(self.pieces)
        first = self.pieces[0] if self.pieces else ""
        if sign == "^":
            self._section(content or "", inverted=True) if content else self.blocks.add(Else(self.tag))
        elif isinstance(first, str) and first[:1] in (".", "$") and first.strip() != ".":
            self._variable()
        elif content and content.lower() not in BUILT_IN and self._is_section(content):
            self._section(content, inverted=False)
        else:
            self._named(keep=True)

    def _is_section(self, content: str) -> bool:
        macro = self.parser.macros.find(content)
        return macro.minimum == 0 and not macro.optional_block if macro else path_of(content, 0) is not None

    def _section(self, content: str, *, inverted: bool) -> None:
        subject = self._subject(content)
        if subject is None:
            self._text()
            return

        def build(items: list[Item]) -> Node:
            (_, body), *rest = self.blocks.branches(items)
            otherwise = self._rest(rest)
            first, second = (otherwise, body) if inverted else (body, otherwise)
            return Section(subject, first, second, each=False)

        self.blocks.open(Opener(self._key(content), self.tag, build))

    def _subject(self, content: str) -> Path | Call | None:
        macro = self.parser.macros.find(content)
        if macro:
            return self.parser.make(macro, [], self.tag.start) if macro.minimum == 0 else None
        return path_of(content, self.tag.start)

    def _named(self, *, keep: bool) -> None:
        """A macro, a block of the language or a name, with or without arguments."""
        first = self.pieces[0] if self.pieces else None
        content = words(self.pieces)
        match = _NAME.match(first) if isinstance(first, str) else None
        old = _OLD_TIME.fullmatch(content) if content else None
        if old and (macro := self.parser.macros.find("time")):
            self.blocks.add(self.parser.call(macro, [[old[1]]], self.tag.start))
        elif match and content and content.lower() == "else":
            self.blocks.add(Else(self.tag))
        elif content and self._without_arguments(content):
            self._printed(content)
        elif match:
            self._with_arguments(match[0], self._arguments(match.end()), keep=keep)
        else:
            self._text()

    def _without_arguments(self, content: str) -> bool:
        macro = self.parser.macros.find(content)
        if macro:
            return macro.minimum == 0 and not macro.optional_block
        return content.lower() not in BUILT_IN and path_of(content, 0) is not None

    def _arguments(self, end: int) -> list[Piece] | None:
        """What follows the name: after ``::``, after ``:``, or after a blank. None: the name goes on, it is none."""
        rest = after(self.pieces, end)
        first = rest[0] if rest else None
        if not isinstance(first, str):
            return None if rest else []
        stripped = first.lstrip()
        for separator in ("::", ":"):
            if stripped.startswith(separator):
                return after(rest, len(first) - len(stripped) + len(separator)) or [""]
        return rest if first[0].isspace() else None

    def _with_arguments(self, name: str, rest: list[Piece] | None, *, keep: bool) -> None:
        lower = name.lower()
        macro = self.parser.macros.find(name)
        if rest is None:
            self._text()
        elif lower == "if":
            self._if(split(rest, "::", 2), keep=keep)
        elif lower in BUILT_IN and keep:
            self._builtin(lower, trimmed(rest))
        elif lower == "else" and self._else_if(rest):
            return
        elif macro is None or (rest and macro.maximum == 0 and not macro.choices):
            self._text()
        else:
            self._macro(macro, name, self._parts(macro, rest), keep=keep)

    def _parts(self, macro: Macro, rest: list[Piece]) -> list[list[Piece]]:
        if not rest:
            return []
        return choices(rest) if macro.choices else split(rest, "::", macro.maximum)

    def _else_if(self, rest: list[Piece]) -> bool:
        rest = trimmed(rest)
        first = rest[0] if rest else None
        if not isinstance(first, str) or not re.match(r"(?i:if)(\s|$)", first):
            return False
        condition = trimmed(after(rest, 2))
        if condition:
            self.blocks.add(Else(self.tag, condition))
        return bool(condition)

    def _macro(self, macro: Macro, name: str, parts: list[list[Piece]], *, keep: bool) -> None:
        missing = macro.minimum - len(parts)
        if missing == 1 or (macro.optional_block and not parts):
            self.blocks.open(self._scoped(macro, name, parts, keep=keep))
        elif missing <= 0:
            self.blocks.add(self.parser.call(macro, parts, self.tag.start))
        elif not macro.forgiving:
            self._text()

    def _scoped(self, macro: Macro, name: str, parts: list[list[Piece]], *, keep: bool) -> Opener:
        """A macro that gets its last argument from a block."""

        def build(items: list[Item]) -> Node:
            call = self.parser.make(macro, parts, self.tag.start)
            body = self.blocks.settled(items)
            if macro.choices:
                listed = tuple([self.parser.sequence(each) for each in _choices_in(body)])
                return Call(macro, listed, call.site, self.tag.start)
            return Call(macro, (*call.arguments, body), call.site, self.tag.start, block=True, keep=keep)

        def unclosed() -> Nodes:
            if macro.optional_block:
                return (self.parser.call(macro, parts, self.tag.start),)
            return () if macro.forgiving else self.parser.as_text(self.tag)

        return Opener(name.lower(), self.tag, build, unclosed)

    def _if(self, parts: list[list[Piece]], *, keep: bool) -> None:
        parser, start = self.parser, self.tag.start
        condition = parts[0]
        if not condition:
            if keep:
                raise mistake(parser.source, start, "{{#if}} needs a condition, as in {{#if sceneSetting}}.")
            self._text()
            return
        if len(parts) > 1:
            branch = (parser.test(condition, start, strict=keep), parser.sequence(parts[1]))
            self.blocks.add(If((branch,), (), tidy=False))
            return

        def build(items: list[Item]) -> Node:
            return self._branches(condition, items, keep=keep)

        unclosed: Callable[[], Nodes] | None = None if keep else lambda: parser.as_text(self.tag)
        self.blocks.open(Opener("if", self.tag, build, unclosed))

    def _branches(self, condition: list[Piece], items: list[Item], *, keep: bool) -> If:
        start = self.tag.start
        (_, body), *rest = self.blocks.branches(items)
        branches = [(self.parser.test(condition, start, strict=keep), body)]
        for alternative, nodes in rest:
            if alternative and alternative.condition:
                test = self.parser.test(alternative.condition, alternative.tag.start, strict=keep)
                branches.append((test, nodes))
        return If(tuple(branches), self._rest(rest), tidy=not keep)

    def _rest(self, cuts: list[tuple[Else | None, Nodes]]) -> Nodes:
        """What stands after ``{{else}}``, if there is one."""
        return next((nodes for start, nodes in cuts if start and start.condition is None), ())

    def _builtin(self, name: str, condition: list[Piece]) -> None:
        """``{{#unless}}`` and ``{{#each}}``."""
        if not condition:
            text = f"{{{{#{name}}}}} needs a name, as in {{{{#{name} presentCharacters}}}}."
            raise mistake(self.parser.source, self.tag.start, text)
        build = self._unless(condition) if name == "unless" else self._each(words(condition) or "")
        self.blocks.open(Opener(name, self.tag, build))

    def _unless(self, condition: list[Piece]) -> Build:
        def build(items: list[Item]) -> Node:
            made = self._branches(condition, items, keep=True)
            (test, body), *rest = made.branches
            negated = Test(test.subject, not test.negated, test.strict)
            return If(((negated, body), *rest), made.otherwise, tidy=False)

        return build

    def _each(self, content: str) -> Build:
        subject = self._subject(content)
        if subject is None:
            raise mistake(self.parser.source, self.tag.start, "{{#each}} needs the name of a list.")

        def build(items: list[Item]) -> Node:
            (_, body), *rest = self.blocks.branches(items)
            return Section(subject, body, self._rest(rest), each=True)

        return build
