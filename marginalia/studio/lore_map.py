"""The story again as a map: the entries that are shown by the parts, and how often every entry was in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event

from marginalia.lore.book import Entry
from marginalia.lore.collecting import in_order
from marginalia.lore.matching import Matcher
from marginalia.lore.replay import replay
from marginalia.lore.verdicts import Verdict
from marginalia.pipeline.steps.lorebook import lore_budget
from marginalia.studio.lore_story import History, Moment, with_draft
from marginalia.values import EntryId

_NOW_AND_THEN = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An entry at a part of a map: whether it was in, whether it nearly was, and why."""

    row: int
    part: int
    active: bool
    nearly: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMap:
    """What lore would have done at every part: how often each entry was in, and the cells of the ``rows`` shown.

    ``fired`` counts by entry id, ``last`` is the last part with it; ``first`` and ``parts`` are the numbers of the
    first part shown and of the last.
    """

    rows: tuple[tuple[EntryId, str], ...]
    cells: tuple[Cell, ...]
    fired: dict[EntryId, int]
    last: dict[EntryId, int]
    first: int
    parts: int


def story_map(
    moment: Moment,
    history: History,
    draft: Entry | None,
    *,
    shown: Sequence[EntryId],
    most: int,
    ended: Event,
    told: Callable[[int], object] = int,
) -> StoryMap | None:
    """The story again, from its first part to its last; ``None`` when *ended* was set meanwhile.

    ``shown`` are the entries that get cells, for the last *most* parts. Timed effects run through from the start.
    *told* is called with the number of a part now and then.
    """
    candidates = in_order(with_draft(moment.lorebooks, draft))
    places = {candidate.entry.id: at for at, candidate in enumerate(candidates)}
    wanted = [(each, places[each]) for each in shown if each in places]
    total, cells = len(history.parts), list[Cell]()
    first = max(1, total - most + 1)
    fired, last = dict.fromkeys(places, 0), dict[EntryId, int]()
    for number, verdicts in enumerate(replay(candidates, history.scans(moment, candidates)), start=1):
        if ended.is_set():
            return None
        if number % _NOW_AND_THEN == 0:
            told(number)
        for verdict in verdicts:
            if verdict.active:
                fired[verdict.entry.id] += 1
                last[verdict.entry.id] = number
        if number >= first:
            cells += [_cell(row, number, verdicts[at]) for row, (_, at) in enumerate(wanted)]
    rows = tuple((each, candidates[at].entry.name) for each, at in wanted)
    return StoryMap(rows=rows, cells=tuple(cells), fired=fired, last=last, first=first, parts=total)


def with_row_again(
    before: StoryMap, moment: Moment, history: History, draft: Entry, *, ended: Event
) -> StoryMap | None:
    """*before* with the course of *draft* made anew, at once; ``None`` where other entries have a say in it.

    They have with a budget, with groups, and where lore calls lore.
    """
    lorebooks = with_draft(moment.lorebooks, draft)
    settings = [each.lorebook.settings for each in lorebooks]
    limited = lore_budget(moment.book, moment.limits) or any(each.token_budget for each in settings)
    candidates = [each for each in in_order(lorebooks) if each.entry.id == draft.id]
    called = Matcher.of(candidates).widest.recursive
    same = before.parts == len(history.parts) and draft.id in before.fired
    if limited or called or draft.when.groups or not candidates or not same:
        return None
    at = next((row for row, (each, _) in enumerate(before.rows) if each == draft.id), -1)
    fired, cells = list[int](), list[Cell]()
    for number, (verdict,) in enumerate(replay(candidates, history.scans(moment, candidates)), start=1):
        if ended.is_set():
            return None
        if verdict.active:
            fired.append(number)
        if at >= 0 and number >= before.first:
            cells.append(_cell(at, number, verdict))
    last = {each: part for each, part in before.last.items() if each != draft.id}
    return replace(
        before,
        cells=(*(cell for cell in before.cells if cell.row != at), *cells),
        fired={**before.fired, draft.id: len(fired)},
        last=last | ({draft.id: fired[-1]} if fired else {}),
    )


def _cell(row: int, part: int, verdict: Verdict) -> Cell:
    return Cell(
        row=row,
        part=part,
        active=verdict.active,
        nearly=verdict.nearly,
        reason=verdict.reason.replace("*", ""),
    )
