"""Why a piece of a prompt is new, gone, changed or in another place: clauses without a full stop."""

from __future__ import annotations

from collections.abc import Iterator

from marginalia.prompt.segment import Segment, SegmentKind, Sent

_LORE = frozenset({SegmentKind.LORE, SegmentKind.USER_LORE})
_PART = "part "


def why_added(segment: Segment, older: Sent, newer: Sent) -> str:
    """Why *segment* is in *newer* and was not in *older*."""
    if segment.kind is SegmentKind.STORY:
        return _story_added(segment, older, newer)
    if segment.kind is SegmentKind.SUMMARY:
        return "it stands for older parts now"
    return _clause(segment.reason) or "it is new"


def why_removed(segment: Segment, newer: Sent) -> str:
    """Why *segment* is not in *newer* any more."""
    if segment.kind is SegmentKind.STORY:
        return _story_removed(segment, newer)
    if segment.kind in _LORE:
        why = "" if segment.source_id is None else newer.why_not_entry(segment.source_id)
        return _clause(why) or "nothing calls it any more"
    if segment.kind is SegmentKind.SUMMARY:
        return "it is not used any more"
    return "it is not sent any more"


def why_changed(old: Segment, new: Segment) -> str:
    """Why the text of a piece is another one."""
    match new.kind:
        case SegmentKind.REQUEST:
            return "something else is asked for"
        case SegmentKind.SYSTEM:
            return "the master template or what it prints was changed"
        case SegmentKind.JAILBREAK:
            return "the provider's own instructions were changed"
        case SegmentKind.STORY if old.source_id != new.source_id:
            return "another version of this part"
        case SegmentKind.LORE | SegmentKind.USER_LORE:
            return "its text was changed, or prints other values"
        case _:
            return "its text was changed"


def why_moved(old: Segment, new: Segment) -> str:
    """Where a piece stands now."""
    if new.kind is SegmentKind.USER_LORE and old.kind is SegmentKind.LORE:
        return "it stands before the request now, behind the story"
    if new.kind is SegmentKind.LORE and old.kind is SegmentKind.USER_LORE:
        return "it stands in the master template now, before the story"
    if new.kind is SegmentKind.INSERT:
        return "it moved on with the end of the story"
    return "it moved"


def _story_added(segment: Segment, older: Sent, newer: Sent) -> str:
    number, before = _number(segment), list(_numbers(older))
    if number and before:
        if number > max(before):
            return "it was written since"
        if number < min(before):
            return "there is room for it now"
    elif number and number == max(_numbers(newer), default=0):
        return "it was written since"
    return "it is on this branch, and there is room for it"


def _story_removed(segment: Segment, newer: Sent) -> str:
    known = "" if segment.source_id is None else newer.why_not_part(segment.source_id)
    if known:
        return known
    number, left = _number(segment), list(_numbers(newer))
    if number and left and number < min(left):
        return "budget: it is older than what still fits"
    return "it is not on this branch"


def _numbers(sent: Sent) -> Iterator[int]:
    for segment in sent.segments:
        if segment.kind is SegmentKind.STORY and (number := _number(segment)):
            yield number


def _number(segment: Segment) -> int:
    """The number of the part that *segment* is, counted from 1; 0 for a made-up passage."""
    digits = segment.source.removeprefix(_PART)
    return int(digits) if segment.source.startswith(_PART) and digits.isdecimal() else 0


def _clause(sentence: str) -> str:
    """A sentence as it stands behind a colon."""
    text = sentence.strip().removesuffix(".")
    return text[:1].lower() + text[1:]
