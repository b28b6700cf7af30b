"""Plain text: no markup, one blank line between paragraphs."""

from __future__ import annotations

from collections.abc import Iterable

from marginalia.export.blocks import (
    Block,
    Code,
    Heading,
    Line,
    Listing,
    Paragraph,
    Quote,
    Rule,
    chapters,
    outline,
    words,
)
from marginalia.export.manuscript import Manuscript
from marginalia.export.reading import read

SCENE_BREAK = "* * *"
_INDENT = "    "
_WHOLE = 1 << 60


def write(manuscript: Manuscript) -> bytes:
    """The story as UTF-8 text."""
    blocks = read(manuscript)
    pieces: list[str] = []
    if manuscript.title_page:
        pieces.append("\n".join(filter(None, (manuscript.title, manuscript.author))) + "\n")
    lines = outline(chapters(blocks, longest=_WHOLE)) if manuscript.contents else ()
    if lines:
        pieces.append("\n".join(_contents(lines)) + "\n")
    pieces.extend(_lines(blocks))
    return ("\n\n".join(pieces) + "\n").encode()


def _contents(lines: Iterable[Line], depth: int = 0) -> Iterable[str]:
    for line in lines:
        yield _INDENT * depth + line.title
        yield from _contents(line.under, depth + 1)


def _lines(blocks: Iterable[Block]) -> list[str]:
    return [text for block in blocks if (text := _text(block))]


def _text(block: Block) -> str:
    match block:
        case Paragraph() | Heading():
            return words(block.runs).strip()
        case Quote():
            return _indented("\n\n".join(_lines(block.blocks)), _INDENT)
        case Listing():
            return "\n".join(_item(block, number, item) for number, item in enumerate(block.items))
        case Code():
            return _indented(block.text, _INDENT)
        case Rule():
            return SCENE_BREAK


def _item(listing: Listing, number: int, item: tuple[Block, ...]) -> str:
    mark = "- " if listing.start is None else f"{listing.start + number}. "
    return mark + _indented("\n".join(_lines(item)), " " * len(mark)).lstrip()


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else "" for line in text.split("\n"))
