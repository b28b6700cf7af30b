"""From tags to a tree: what each tag of a template means. Nothing is evaluated here, and plain text always compiles."""

from __future__ import annotations

import re
from typing import cast

from marginalia.prompt.macros.arguments import after, trimmed, words
from marginalia.prompt.macros.blocks import Blocks, text
from marginalia.prompt.macros.paths import path_of
from marginalia.prompt.macros.problems import MAX_DEPTH, mistake
from marginalia.prompt.macros.scanner import Marker, Piece, Ready, Tag, scan
from marginalia.prompt.macros.table import Macro, MacroTable
from marginalia.prompt.macros.tags import Classifier
from marginalia.prompt.macros.tree import (
    Call,
    Nodes,
    Operator,
    Shorthand,
    Test,
    Text,
    Trim,
    depth,
)

_VARIABLE = re.compile(
    r"([.$])\s*([A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)\s*"
    r"(?:(\+\+|--)\s*$|(\|\|=|\?\?=|\|\||\?\?|\+=|-=|==|!=|>=|<=|=|>|<)|$)"
)


def parse(source: str, macros: MacroTable) -> Nodes:
    """The tree of *source*.

    Raises:
        Mistake: a block of the template language is not closed, is crossed or lacks its condition, or the nesting is
            too deep. Everything else that is no macro is text.
    """
    pieces = scan(source)
    parser = Parser(source, macros)
    nodes = parser.sequence(pieces)
    tallest = max((piece.height for piece in pieces if isinstance(piece, Tag)), default=0)
    if parser.blocks + tallest >= MAX_DEPTH and depth(nodes) > MAX_DEPTH + 1:
        raise mistake(source, 0, f"Blocks stand inside each other more than {MAX_DEPTH} deep.")
    return nodes


class Parser:
    """Makes the nodes of one template; ``blocks`` counts its blocks, ``printed`` are the tags that are text."""

    def __init__(self, source: str, macros: MacroTable) -> None:
        self.source = source
        self.macros = macros
        self.sites = 0
        self.blocks = 0
        self.printed: list[Tag] = []

    def sequence(self, pieces: list[Piece]) -> Nodes:
        """The nodes of a list of pieces, which closes all its blocks itself."""
        blocks = Blocks(self.source, self.as_text)
        for piece in pieces:
            if isinstance(piece, str):
                blocks.add(Text(piece))
            elif isinstance(piece, Ready):
                blocks.add(piece.node)
            elif isinstance(piece, Marker):
                macro = self.macros.find("char" if piece.name == "bot" else piece.name)
                shown = self.source[piece.start : piece.start + len(piece.name) + 2]
                blocks.add(self.make(macro, [], piece.start) if macro else Text(shown))
            else:
                Classifier(self, blocks, piece).run()
        nodes = blocks.finish()
        self.blocks += blocks.count
        return nodes

    def as_text(self, tag: Tag) -> Nodes:
        """A tag that is no macro: printed as it stands, with what stands in it evaluated."""
        self.printed.append(tag)
        if not tag.pieces or words(tag.pieces) is not None:
            shown = self.source[tag.start : tag.end]
            return text(
                f"{{{{{tag.pieces[0] if tag.pieces else ''}}}}}" if tag.kept or "\\" in shown else shown
            )
        return (Text("{{"), *self.sequence(tag.pieces), Text("}}"))

    def call(self, macro: Macro, arguments: list[list[Piece]], start: int) -> Call | Trim:
        """A macro that is printed."""
        if macro.name == "trim" and not arguments:
            return Trim()
        return self.make(macro, arguments, start)

    def make(self, macro: Macro, arguments: list[list[Piece]], start: int) -> Call:
        """A call of *macro*; the calls of a template are numbered in the order they are made."""
        self.sites += 1
        site = self.sites
        return Call(macro, tuple([self.sequence(each) for each in arguments]), site, start)

    def shorthand(self, pieces: list[Piece], start: int) -> Shorthand | None:
        """``.name op value``, when that is what *pieces* are."""
        first = pieces[0] if pieces else None
        match = _VARIABLE.match(first) if isinstance(first, str) else None
        if not match or (match[4] is None and len(pieces) > 1):
            return None
        operator = cast("Operator", match[3] or match[4] or "")
        value = self.sequence(trimmed(after(pieces, match.end()))) if match[4] else ()
        return Shorthand(match[1] == "$", match[2], operator, value, start)

    def test(self, pieces: list[Piece], start: int, *, strict: bool) -> Test:
        """A condition: ``!``, then a shorthand, the name of a macro or a variable, or text."""
        negated = False
        while pieces and isinstance(pieces[0], str) and pieces[0].startswith("!"):
            negated = not negated
            pieces = trimmed(after(pieces, 1))
        content = words(pieces)
        macro = self.macros.find(content) if content else None
        if macro and macro.minimum == 0 and not macro.choices:
            return Test(self.make(macro, [], start), negated, strict)
        found = self.shorthand(pieces, start) or (path_of(content, start) if content else None)
        return Test(found or self.sequence(pieces), negated, strict)
