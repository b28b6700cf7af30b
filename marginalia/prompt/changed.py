"""The budget of a prompt that listeners changed after it was counted: its figures are those of what is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from marginalia.prompt.budget import Budget
from marginalia.prompt.segment import Segment, SegmentKind
from marginalia.prompt.stages import MESSAGE_TOKENS

_COUNTED = frozenset({"lore", "user_prompt", "chronicle", "system_prompt", "messages"})
"""What the budget counted, or was counted from, when a listener can still change it."""


def as_sent(budget: Budget, segments: Iterable[Segment], changed: Collection[str]) -> Budget:
    """*budget* as the *segments* have it, when listeners answered the fields *changed* of an event differently."""
    if not _COUNTED.intersection(changed):
        return budget
    tokens, pieces = Counter[SegmentKind](), Counter[SegmentKind]()
    for each in segments:
        tokens[each.kind] += each.tokens
        pieces[each.kind] += 1
    inside = tokens[SegmentKind.LORE] + tokens[SegmentKind.SUMMARY]
    costs = replace(
        budget.costs,
        system=tokens[SegmentKind.SYSTEM] + inside,
        lore=tokens[SegmentKind.LORE],
        summaries=tokens[SegmentKind.SUMMARY],
        jailbreak=tokens[SegmentKind.JAILBREAK],
        user_lore=tokens[SegmentKind.USER_LORE],
        request=tokens[SegmentKind.REQUEST],
        inserts=tokens[SegmentKind.INSERT] + MESSAGE_TOKENS * pieces[SegmentKind.INSERT],
    )
    return replace(
        budget,
        costs=costs,
        story=tokens[SegmentKind.STORY],
        sent_parts=pieces[SegmentKind.STORY],
        foreign=tokens[SegmentKind.FOREIGN],
    )
