"""Searching a story for a page: the hits to list, and what tree and text mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.story.search import Query

if TYPE_CHECKING:
    from marginalia.store.story import Story
    from marginalia.ui.reading import Shape
    from marginalia.values import BookId, PartId

_MOST_HITS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    """A part that was found: its number on the branch (0: on another one), and the stretch around the first match."""

    part: PartId
    number: int
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search came to: the first hits to list, all parts to mark, and the words to mark in the text."""

    query: str = ""
    total: int = 0
    rows: tuple[HitRow, ...] = ()
    parts: frozenset[PartId] = frozenset()
    words: tuple[str, ...] = ()


NOTHING_FOUND = Found()


def find(story: Story, book: BookId, shape: Shape | None, query: str) -> Found:
    """Look for *query* on all branches; blocks a little."""
    hits = story.search(book, query)
    listed = hits[:_MOST_HITS]
    excerpts = story.excerpts(book, [hit.part for hit in listed], query)
    places = {part: at for at, part in enumerate(shape.branch, 1)} if shape is not None else {}
    rows = (
        HitRow(part=hit.part, number=places.get(hit.part, 0), excerpt=excerpts.get(hit.part, ""))
        for hit in listed
    )
    words = {piece.strip() for term in Query.parse(query).terms for piece in term}
    return Found(
        query=query,
        total=len(hits),
        rows=tuple(rows),
        parts=frozenset(hit.part for hit in hits),
        words=tuple(sorted(words - {""}, key=len, reverse=True)) if hits else (),
    )
