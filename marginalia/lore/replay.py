"""Lore over a whole story: what entries would have done at every part, without storing or asking anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from marginalia.lore.activation import Activation
from marginalia.lore.matching import Matcher
from marginalia.lore.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from marginalia.lore.book import Entry
    from marginalia.lore.collecting import Candidate
    from marginalia.lore.scan import Scan
    from marginalia.lore.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Firings:
    """How often an entry was in: ``at`` are the turns, counted from 0, of ``turns`` in all."""

    entry: Entry
    lorebook: str
    at: tuple[int, ...]
    turns: int

    @property
    def never(self) -> bool:
        """Whether the entry was never in."""
        return not self.at

    @property
    def always(self) -> bool:
        """Whether the entry was in at every turn."""
        return len(self.at) == self.turns > 0


def replay(candidates: Sequence[Candidate], scans: Iterable[Scan]) -> Iterator[tuple[Verdict, ...]]:
    """The verdicts on *candidates* for every one of *scans*, oldest turn first, made one turn at a time.

    Timed state runs through: what is called in one turn sticks and rests in the next ones, beginning with the timing of
    the first scan. Whoever reads may stop at any turn, or do something else in between.
    """
    matcher = Matcher.of(candidates)
    timed = any(each.entry.when.sticky or each.entry.when.cooldown for each in candidates)
    timing: Timing | None = None
    for scan in scans:
        turn = scan if timing is None else replace(scan, timing=timing)
        verdicts = Activation(matcher, turn).verdicts()
        timing = Timing.of(turn.timing.next_state(verdicts, turn.parts)) if timed else Timing()
        yield verdicts


def firings(matrix: Iterable[Sequence[Verdict]]) -> tuple[Firings, ...]:
    """For every entry of a replay when it was in; all turns must have the same entries in the same order."""
    first: Sequence[Verdict] = ()
    at: list[list[int]] = []
    turns = 0
    for turn, verdicts in enumerate(matrix):
        if not turn:
            first, at = verdicts, [[] for _ in verdicts]
        for fired, verdict in zip(at, verdicts, strict=True):
            if verdict.active:
                fired.append(turn)
        turns += 1
    return tuple(
        Firings(entry=verdict.entry, lorebook=verdict.lorebook, at=tuple(fired), turns=turns)
        for verdict, fired in zip(first, at, strict=True)
    )
