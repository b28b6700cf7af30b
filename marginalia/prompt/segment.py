"""A stretch of a prompt: what it is, whose it is, and why it is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from marginalia.story.frames import frame
from marginalia.values import Limits, Message

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame


class SegmentKind(StrEnum):
    """What a stretch of the prompt is."""

    JAILBREAK = "jailbreak"
    SYSTEM = "system"
    LORE = "lore"
    SUMMARY = "summary"
    PLACEHOLDER = "placeholder"
    STORY = "story"
    INSERT = "insert"
    USER_LORE = "user_lore"
    REQUEST = "request"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of one message.

    ``messages[message].content[start:end]``, what it is, whose it is and why it is there.

    ``source`` is a name for people ("Varro", "part 12"); ``source_id`` the id of the entry, part or summary,
    if it has one.
    """

    kind: SegmentKind
    message: int
    start: int
    end: int
    tokens: int
    source: str = ""
    source_id: int | None = None
    reason: str = ""


class Sent(Protocol):
    """Messages that were or would be sent, and where they came from: a ``Prompt`` and a ``Receipt`` both are that."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, exactly."""
        ...

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Where each stretch of them came from."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits it was built for."""
        ...

    def why_not_entry(self, entry: int) -> str:
        """Why a lore entry is not in it, in one sentence; empty when that is not known."""
        ...

    def why_not_part(self, part: int) -> str:
        """Why a part of the story is not in it, without a full stop; empty when that is not known."""
        ...


def segments_frame(sent: Sent) -> DataFrame:
    """A row per segment of *sent*."""
    rows = (
        (each.message, sent.messages[each.message].role, each.kind.value, each.source, each.tokens, each.reason,
         each.start, each.end)
        for each in sent.segments
    )  # fmt: skip
    return frame(rows, "message", "role", "kind", "source", "tokens", "reason", "start", "end")
