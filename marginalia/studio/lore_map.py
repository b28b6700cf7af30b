"""The story again as a map: the entries that are shown by the parts, and how often every entry was in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from marginalia.lore.book import Entry
from marginalia.lore.collecting import in_order
from marginalia.lore.replay import replay
from marginalia.lore.verdicts import Verdict
from marginalia.studio.lore_story import History, Moment, with_draft
from marginalia.values import EntryId


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
) -> StoryMap | None:
    """The story again, from its first part to its last; ``None`` when *ended* was set meanwhile.

    ``shown`` are the entries that get cells, for the last *most* parts. Timed effects run through from the start.
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
        for verdict in verdicts:
            if verdict.active:
                fired[verdict.entry.id] += 1
                last[verdict.entry.id] = number
        if number >= first:
            cells += [_cell(row, number, verdicts[at]) for row, (_, at) in enumerate(wanted)]
    rows = tuple((each, candidates[at].entry.name) for each, at in wanted)
    return StoryMap(rows=rows, cells=tuple(cells), fired=fired, last=last, first=first, parts=total)


def _cell(row: int, part: int, verdict: Verdict) -> Cell:
    return Cell(
        row=row,
        part=part,
        active=verdict.active,
        nearly=verdict.nearly,
        reason=verdict.reason.replace("*", ""),
    )
