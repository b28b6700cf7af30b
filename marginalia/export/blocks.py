"""A story as blocks: what every format makes its own headings, paragraphs and lists of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stretch of text in one style; ``link`` is an address of the web or of mail.

    A line end alone is a line break.
    """

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of level 1 to 6; ``anchor`` is its name inside the file."""

    level: int
    runs: tuple[Run, ...]
    anchor: str = ""

    @property
    def title(self) -> str:
        """The heading's text on one line."""
        return " ".join(words(self.runs).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Blocks that are quoted."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list; ``start`` is the first number, ``None`` for bullets."""

    items: tuple[tuple[Block, ...], ...]
    start: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines that are shown as they stand."""

    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A scene break."""


Block: TypeAlias = Paragraph | Heading | Quote | Listing | Code | Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What stands in one file of a book that has many: blocks from one top heading to the next.

    ``heading`` is that heading; ``None`` for what comes before the first, or for the rest of a very long chapter.
    """

    heading: Heading | None
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table of contents, with those under it; ``chapter`` is the index of its chapter."""

    title: str
    anchor: str
    chapter: int = 0
    under: tuple[Line, ...] = ()


def words(runs: Iterable[Run]) -> str:
    """The text of *runs* without its styles."""
    return "".join(run.text for run in runs)


def headings(blocks: Iterable[Block]) -> Iterator[Heading]:
    """The headings that say something, in their order; those inside quotes and lists are no headings of the book."""
    return (block for block in blocks if isinstance(block, Heading) and block.title)


def weight(block: Block) -> int:
    """About how many characters a block takes."""
    match block:
        case Paragraph() | Heading():
            return len(words(block.runs))
        case Quote():
            return sum(weight(each) for each in block.blocks)
        case Listing():
            return sum(weight(each) for item in block.items for each in item)
        case Code():
            return len(block.text)
        case Rule():
            return 5


def chapters(blocks: Iterable[Block], *, longest: int) -> tuple[Chapter, ...]:
    """The blocks cut at the highest level of heading, and again where a chapter has more than *longest* characters."""
    told = tuple(blocks)
    top = min((heading.level for heading in headings(told)), default=0)
    found: list[tuple[Heading | None, list[Block]]] = []
    size = 0
    for block in told:
        begins = isinstance(block, Heading) and block.level == top and bool(block.title)
        if begins or not found or size > longest:
            found.append((block if begins and isinstance(block, Heading) else None, []))
            size = 0
        found[-1][1].append(block)
        size += weight(block)
    return tuple(Chapter(heading=heading, blocks=tuple(under)) for heading, under in found)


def outline(chapters_of_book: Iterable[Chapter]) -> tuple[Line, ...]:
    """The table of contents: headings under headings, however their levels skip."""
    flat = [
        (heading, number)
        for number, chapter in enumerate(chapters_of_book)
        for heading in headings(chapter.blocks)
    ]
    return _nested(flat)


def _nested(flat: list[tuple[Heading, int]]) -> tuple[Line, ...]:
    lines: list[Line] = []
    while flat:
        (heading, chapter), rest = flat[0], flat[1:]
        below = next((at for at, (each, _) in enumerate(rest) if each.level <= heading.level), len(rest))
        under = _nested(rest[:below])
        lines.append(Line(title=heading.title, anchor=heading.anchor, chapter=chapter, under=under))
        flat = rest[below:]
    return tuple(lines)
