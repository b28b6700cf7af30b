"""From a template's text to its tags: pairs the braces, in one pass, and decides nothing else.

Braces without a partner are text, so a scan fails on nothing but nesting without end. A comment, an escape or a
marker in a *value* never comes here: only the template's own text is scanned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from marginalia.prompt.macros.problems import MAX_DEPTH, mistake
from marginalia.prompt.macros.tree import Node

_TOKEN = re.compile(
    r"""
    (?= [\\{}<] ) (?:  # most characters begin nothing; this says so at once
    (?P<backslash> \\\\ (?=\{\{) )
  | (?P<kept>      \\ \{\{ )
  | (?P<brace>     \\ [{}] )
  | (?P<comment>   \{\{!-- )
  | (?P<hidden>    \{\{ \s* // \s* \}\} )
  | (?P<plain>     (?<!\{) \{\{\{ \s* [\w@./-]+ \s* \}\}\} )
  | (?P<open>      \{\{ (?!\{) )
  | (?P<close>     \}\} )
  | (?P<marker>    < (?ai:USER|BOT|CHAR|GROUP|CHARIFNOTGROUP) > )
    )
    """,
    re.VERBOSE,
)
_SHOWN_AGAIN = re.compile(r"\{\{\s*///\s*\}\}")
_SPECIAL = re.compile(r"\{\{|\\[{}]|<(?ai:USER|BOT|CHAR|GROUP|CHARIFNOTGROUP)>")


@dataclass(slots=True, eq=False)
class Tag:
    """``{{`` … ``}}`` at ``source[start:end]``: the texts and tags inside. ``kept`` ones are printed, not run."""

    start: int
    end: int = 0
    pieces: list[Piece] = field(default_factory=list["Piece"])
    height: int = 0
    kept: bool = False
    plain: bool = False


@dataclass(slots=True, eq=False)
class Marker:
    """An old-style name such as ``<USER>``."""

    name: str
    start: int


@dataclass(slots=True, eq=False)
class Ready:
    """What is a node already."""

    node: Node


Piece: TypeAlias = "str | Tag | Marker | Ready"


def is_plain(source: str) -> bool:
    """Whether *source* holds nothing that a scan could find, so that it is its own output."""
    return _SPECIAL.search(source) is None


def scan(source: str, lonely: list[int] | None = None) -> list[Piece]:
    """The texts, tags and markers of *source*, in order; adjoining texts are one.

    Where braces without a partner stand is added to *lonely*.

    Raises:
        Mistake: tags stand inside each other more than 60 deep.
    """
    return _Scanner(source, lonely).run()


def scan_tag(source: str, start: int) -> tuple[Tag | None, int]:
    """The tag that begins at *start*, and where it ends; None for a block of comment.

    Raises:
        Mistake: the tag is not closed.
    """
    return _Scanner(source).one(start)


class _Scanner:
    def __init__(self, source: str, lonely: list[int] | None = None) -> None:
        self.source = source
        self.lonely = lonely
        self.pieces: list[Piece] = []
        self.open: list[tuple[Tag, list[Piece]]] = []
        self.without_end: set[str] = set()

    def run(self) -> list[Piece]:
        source, at, search = self.source, 0, _TOKEN.search
        while match := search(source, at):
            if match.start() > at:
                self._text(source[at : match.start()])
            at = self._token(str(match.lastgroup), match.group(), match.start(), match.end())
        self._text(source[at:])
        return self._rest()

    def one(self, start: int) -> tuple[Tag | None, int]:
        at = start
        while match := _TOKEN.search(self.source, at):
            if match.start() > at:
                self._text(self.source[at : match.start()])
            at = self._token(str(match.lastgroup), match.group(), match.start(), match.end())
            if not self.open:
                piece = self.pieces[0] if self.pieces else None
                return (piece if isinstance(piece, Tag) else None), at
        raise mistake(self.source, start, "This tag is never closed. Add }} at its end.")

    def _token(self, kind: str, text: str, start: int, end: int) -> int:
        match kind:
            case "open":
                self._open(Tag(start))
            case "close":
                self._close(end)
            case "backslash" | "brace":
                self._text(text[-1])
            case "kept":
                self._open(Tag(start, kept=True))
            case "plain":
                self.pieces.append(Tag(start, end, [text[3:-3].strip()], height=1, plain=True))
            case "marker":
                self.pieces.append(Marker(text[1:-1].lower(), start))
            case _:
                return self._comment(kind, start, end)
        return end

    def _comment(self, kind: str, start: int, end: int) -> int:
        """The end of a comment; without one, ``{{//}}`` is an empty comment and ``{{!--`` the start of a tag."""
        if kind not in self.without_end:
            if kind == "comment":
                found = self.source.find("--}}", end)
                found = found + 4 if found >= 0 else -1
            else:
                match = _SHOWN_AGAIN.search(self.source, end)
                found = match.end() if match else -1
            if found >= 0:
                return found
            self.without_end.add(kind)
        if kind == "comment":
            self._open(Tag(start))
            return start + 2
        return end

    def _text(self, text: str) -> None:
        if text:
            self.pieces.append(text)

    def _open(self, tag: Tag) -> None:
        self.open.append((tag, self.pieces))
        self.pieces = []

    def _close(self, end: int) -> None:
        if not self.open:
            self._text("}}")
            if self.lonely is not None:
                self.lonely.append(end - 2)
            return
        tag, outer = self.open.pop()
        tag.pieces, tag.end = _joined(self.pieces), end
        tag.height = 1 + max((piece.height for piece in tag.pieces if isinstance(piece, Tag)), default=0)
        if tag.height > MAX_DEPTH:
            raise mistake(
                self.source, tag.start, f"Tags stand inside each other more than {MAX_DEPTH} deep here."
            )
        self.pieces = outer
        outer.append(tag)

    def _rest(self) -> list[Piece]:
        """Openers without a partner become text again; from the outside in, so that this stays linear."""
        if not self.open:
            return _joined(self.pieces)
        if self.lonely is not None:
            self.lonely.extend(tag.start for tag, _ in self.open if not tag.kept)
        levels = [*(pieces for _, pieces in self.open), self.pieces]
        pieces = list(levels[0])
        for level in levels[1:]:
            pieces += ["{{", *level]
        return _joined(pieces)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """*pieces* with adjoining texts made one; done once for each list, so that the cost stays that of the text."""
    result: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            result.append("".join(texts))
            texts = []
        result.append(piece)
    if texts:
        result.append("".join(texts))
    return result
