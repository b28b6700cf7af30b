"""A part of a story without its text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from marginalia.values import EPOCH, PartId, SummaryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part without its text: what walking, budgeting and drawing need.

    ``text_id`` is the number of its newest version, 0 while it waits for its answer.
    """

    id: PartId
    parent_id: PartId | None
    tokens: int = 0
    words: int = 0
    blank: bool = False
    partial: bool = False
    summary_id: SummaryId | None = None
    text_id: int = 0
    created: datetime = EPOCH
    label: str = ""
    bookmarked: bool = False
