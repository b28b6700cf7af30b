"""A book's story in memory: its shape, its summaries, and the parts that wait for their answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from marginalia.lore.book import FilledLorebook
from marginalia.store.memory import Key
from marginalia.story.parts import Part, Summary
from marginalia.story.tree import Node, StoryTree
from marginalia.values import NOTHING, BookId, PartId, SummaryId

if TYPE_CHECKING:
    from collections.abc import Mapping

RequestKind: TypeAlias = Literal["new", "swipe", "regenerate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What a part that waits for its answer needs to be taken back: how the book and the part were."""

    text_id: int = 0
    leaf: PartId | None = None
    shared: Mapping[str, str] = NOTHING
    summary_id: SummaryId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A part that waits for its answer, as far as it has come."""

    part: Part
    request: RequestKind
    before: Before
    receipt_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """A story without its texts, at one moment."""

    tree: StoryTree
    summaries: Mapping[SummaryId, Summary]
    drafts: Mapping[PartId, Draft]

    def with_nodes(self, *nodes: Node) -> Pages:
        """These pages with nodes added or replaced."""
        return dataclasses.replace(self, tree=self.tree.with_nodes(*nodes))

    def with_draft(self, draft: Draft) -> Pages:
        """These pages with a draft added or replaced."""
        return dataclasses.replace(self, drafts={**self.drafts, draft.part.id: draft})

    def without_draft(self, part: PartId) -> Pages:
        """These pages without the draft of *part*."""
        return dataclasses.replace(
            self, drafts={number: draft for number, draft in self.drafts.items() if number != part}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One stored version of a part: its contents, and where its receipt is."""

    part: Part
    receipt_id: int | None


def weigh(value: object) -> int:
    """About how many characters of memory a remembered value takes; 0: little."""
    if isinstance(value, str):
        return len(value) + 100
    if isinstance(value, Version):
        return len(value.part.text) + len(value.part.reasoning) + len(value.part.background_lore) + 2000
    if isinstance(value, Pages):
        return 400 * (len(value.tree) + 1)
    if isinstance(value, frozenset):
        return 60 * (len(cast("frozenset[object]", value)) + 1)
    if isinstance(value, FilledLorebook):
        return sum(len(entry.payload) + 2000 for entry in value.entries) + 1
    return 0


def pages_key(book: BookId) -> Key[Pages]:
    """Under what a book's pages are remembered."""
    return Key("pages", book)


def node_of(part: Part, text_id: int) -> Node:
    """The node of a part whose newest version is *text_id* (0: it waits for its answer)."""
    return Node(
        id=part.id,
        parent_id=part.parent_id,
        tokens=part.tokens,
        words=part.words,
        blank=not part.text.strip(),
        partial=part.partial,
        summary_id=part.summary_id,
        text_id=text_id,
        created=part.created,
        label=part.label,
        bookmarked=part.bookmarked,
    )


def placed(part: Part, node: Node) -> Part:
    """*part* where it stands now."""
    return dataclasses.replace(
        part,
        parent_id=node.parent_id,
        summary_id=node.summary_id,
        created=node.created,
        label=node.label,
        bookmarked=node.bookmarked,
    )
