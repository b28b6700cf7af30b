"""Why a piece of a prompt is new, gone, changed or in another place: clauses without a full stop."""

from __future__ import annotations

from collections.abc import Mapping

from marginalia.prompt.segment import Segment, SegmentKind, Sent

_LORE = frozenset({SegmentKind.LORE, SegmentKind.USER_LORE})
_INSIDE = {SegmentKind.LORE: "lore", SegmentKind.SUMMARY: "memory"}
"""What the master template prints among its own words."""
_PART = "part "
SUMMARISED = "a summary stands for it"
"""How a prompt says that a summary is in the place of a part."""


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


def why_changed(old: Segment, new: Segment, older: Sent, newer: Sent) -> str:
    """Why the text of a piece is another one."""
    match new.kind:
        case SegmentKind.REQUEST:
            return "something else is asked for"
        case SegmentKind.SYSTEM:
            return _system_changed(older, newer)
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


def _system_changed(older: Sent, newer: Sent) -> str:
    """Words that frame lore or summaries come and go with the first of them; else somebody wrote something else."""
    before, after = ({each.kind for each in sent.segments} for sent in (older, newer))
    for kind, name in _INSIDE.items():
        if (kind in before) != (kind in after):
            how = "came in with the first of it" if kind in after else "went with the last of it"
            return f"its words around {name} {how}"
    return "the master template or what it prints was changed"


def _story_added(segment: Segment, older: Sent, newer: Sent) -> str:
    if segment.source_id is not None and older.why_not_part(segment.source_id) == SUMMARISED:
        return "no summary stands for it any more"
    number, before, after = _number(segment), _parts(older), _parts(newer)
    if number and before and not _other_branch(before, after):
        if number > max(before):
            return "it was written since"
        if number < min(before):
            return "there is room for it now"
    elif number and not before and number == max(after):
        return "it was written since"
    return "it is on this branch, and there is room for it"


def _story_removed(segment: Segment, newer: Sent) -> str:
    known = "" if segment.source_id is None else newer.why_not_part(segment.source_id)
    if known:
        return known
    number, left = _number(segment), _parts(newer)
    if number and left and number < min(left):
        if any(each.kind is SegmentKind.SUMMARY for each in newer.segments):
            return "a summary stands for it, or it is older than what still fits"
        return "budget: it is older than what still fits"
    return "it is not on this branch"


def _parts(sent: Sent) -> Mapping[int, int | None]:
    """The parts of the story that are in it: their ids by their numbers."""
    found = ((_number(each), each.source_id) for each in sent.segments if each.kind is SegmentKind.STORY)
    return {number: part for number, part in found if number}


def _other_branch(before: Mapping[int, int | None], after: Mapping[int, int | None]) -> bool:
    """Whether two prompts have different parts in the same place."""
    return any(before[number] != after[number] for number in before.keys() & after.keys())


def _number(segment: Segment) -> int:
    """The number of the part that *segment* is, counted from 1; 0 for a made-up passage."""
    digits = segment.source.removeprefix(_PART)
    return int(digits) if segment.source.startswith(_PART) and digits.isdecimal() else 0


def _clause(sentence: str) -> str:
    """A sentence as it stands behind a colon."""
    text = sentence.strip().removesuffix(".")
    return text[:1].lower() + text[1:]
