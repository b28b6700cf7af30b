"""What a story is made of: parts, and the summaries on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from marginalia.values import EPOCH, NOTHING, BookId, HasPartId, PartId, SummaryId, Turn

_WORD = re.compile(r"\w+")


def count_words(text: str) -> int:
    """The number of words: runs of letters, digits and underscores of any script (spec/semantics.md, B1 80)."""
    return sum(1 for _ in _WORD.finditer(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(HasPartId):
    """One part of a story, as stored.

    ``tokens`` and ``words`` are counts of ``text``; ``model`` and ``protocol`` are the names of what wrote it
    (empty for a part written by hand); ``variables`` are the local template variables as they are after this
    part; ``attributes`` belong to extensions. A ``partial`` part was stopped or cut off; an ``edited`` one
    was changed by hand. ``label`` and ``bookmarked`` are the writer's own marks on it.
    """

    id: PartId
    uid: str
    book_id: BookId
    parent_id: PartId | None
    text: str = ""
    reasoning: str = ""
    turn: Turn = Turn()
    tokens: int = 0
    words: int = 0
    reasoning_tokens: int = 0
    model: str = ""
    protocol: str = ""
    variables: Mapping[str, str] = NOTHING
    attributes: Mapping[str, Any] = NOTHING
    images: tuple[Mapping[str, Any], ...] = ()
    partial: bool = False
    edited: bool = False
    background_lore: str = ""
    prompt_tokens: int | None = None
    finish_reason: str = ""
    request_time: datetime | None = None
    first_token_time: datetime | None = None
    reasoning_end_time: datetime | None = None
    summary_id: SummaryId | None = None
    created: datetime = EPOCH
    label: str = ""
    bookmarked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary on a part: it stands for the part and everything before it, down to the next part with one.

    ``source_hash`` is the hash of the story it was made from. A meta summary (``replaced`` is not ``None``)
    stands for several summaries at once; ``oldest_id`` is the part of the oldest one it merged, ``replaced``
    the summary that it took the place of and gives back when unwound.
    """

    id: SummaryId
    part_id: PartId
    text: str
    source_hash: str
    tokens: int = 0
    oldest_id: PartId | None = None
    replaced: Summary | None = None
    created: datetime = EPOCH
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def meta(self) -> bool:
        """Whether this summary merged others."""
        return self.replaced is not None
