"""The messages of a prompt, cut into the stretches that came from somewhere; for the prompt tab and for receipts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginalia.prompt.segments import Segment
    from marginalia.values import Message


def message_rows(messages: Sequence[Message], segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """A row per message: its role, its tokens, and its text in pieces, each with what it is and where it came from."""
    by_message: dict[int, list[Segment]] = {}
    for segment in segments:
        by_message.setdefault(segment.message, []).append(segment)
    return [_message_row(each, by_message.get(at, [])) for at, each in enumerate(messages)]


def _message_row(message: Message, segments: list[Segment]) -> dict[str, Any]:
    return {
        "role": message.role,
        "tokens": sum(segment.tokens for segment in segments),
        "pieces": _pieces(message.content, sorted(segments, key=lambda each: (each.start, each.end))),
    }


def _pieces(text: str, segments: list[Segment]) -> list[dict[str, str]]:
    """*text* without a gap: what no segment covers stands as it is, what two cover belongs to the first."""
    pieces: list[dict[str, str]] = []
    at = 0
    for segment in segments:
        start = max(at, segment.start)
        if start > at:
            pieces.append({"kind": "", "text": text[at:start], "title": ""})
        if segment.end > start:
            pieces.append(
                {"kind": segment.kind.value, "text": text[start : segment.end], "title": _title(segment)}
            )
        at = max(at, segment.end)
    if at < len(text):
        pieces.append({"kind": "", "text": text[at:], "title": ""})
    return pieces


def _title(segment: Segment) -> str:
    what = " · ".join(filter(None, (segment.source or segment.kind.value, f"{segment.tokens:,} tokens")))
    return f"{what}\n{segment.reason}" if segment.reason else what
