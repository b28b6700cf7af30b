"""Which entries are in: a verdict for every candidate, in the candidates' order.

The default is the specification's: enabled, negative tags, tags, filter against the rendered request (step 3, 3;
spec/semantics.md, B1 42 to 45). What an entry has beyond that holds as well. Everything is decided from the candidates
and the scan alone: no clock, no global dice, nothing is stored.
"""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from marginalia.lore.budgeting import give_room
from marginalia.lore.calm import without_collections
from marginalia.lore.cases import Case, Text
from marginalia.lore.dice import draw
from marginalia.lore.explaining import Explanation
from marginalia.lore.expressions import TooSlow
from marginalia.lore.groups import Groups
from marginalia.lore.matching import CERTAIN, Matcher
from marginalia.lore.sight import Sight
from marginalia.lore.timing import Timing, identity
from marginalia.lore.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from marginalia.lore.collecting import Candidate
    from marginalia.lore.matching import Row
    from marginalia.lore.scan import Scan

_RESTING_KEPT = 8
_MANY = 1_000


def activate(candidates: Sequence[Candidate], scan: Scan) -> tuple[Verdict, ...]:
    """A verdict for every one of *candidates*, in the same order.

    Give the same tuple again (``in_order`` does) and only the texts are read. The words of a verdict are found when
    somebody reads them.
    """
    turn = Activation(Matcher.of(candidates), scan)
    with without_collections() if len(candidates) > _MANY else nullcontext():
        return turn.verdicts()


class Activation:
    """One turn while it is decided, and afterwards what its verdicts are explained from."""

    def __init__(self, matcher: Matcher, scan: Scan) -> None:
        self.matcher = matcher
        self.scan = scan
        self.tags = frozenset(scan.tags)
        self.sight = Sight(matcher, scan)
        self._cases: dict[int, Case] = {}
        self._groups = Groups(scan.seed)
        self._level = 0
        self._recursing = matcher.widest.recursive or scan.settings.recursive

    def verdicts(self) -> tuple[Verdict, ...]:
        """Decide, and put it down."""
        resting, calm = self._resting()
        limited = self.scan.budget > 0 or self.matcher.limited
        touched = self.sight.take_in(self.sight.given())
        self._decide_all(touched, calm if limited or self._recursing else ())
        if limited:
            give_room(
                [case for case in self._cases.values() if case.active], self.scan.budget, self.scan.count
            )
        verdicts = list(resting)
        for index, case in self._cases.items():
            if index in touched or case.row.conditional or case.cuts:
                verdicts[index] = self.verdict(case)
        return tuple(verdicts)

    def verdict(self, case: Case) -> Verdict:
        """The verdict on one entry."""
        return Verdict(
            entry=case.row.entry,
            lorebook=case.row.candidate.lorebook.name,
            active=case.active,
            chain=tuple(each.name for each in case.chain) if case.caller else (),
            explains=Explanation(self, case),
        )

    def _decide_all(self, touched: set[int], calm: Sequence[int]) -> None:
        """Decide about everything that may be in, round by round; *touched* grows with what lore calls for.

        In each round the lore of what has just come in is read. The entries of the lowest level may come in as soon as
        any lore is read, those of the next one when nothing more is called for.
        """
        fresh = self._decide(sorted({*touched, *self.matcher.conditional, *calm}))
        levels, spoke = deque(self.matcher.levels), list[Case]()
        while self._recursing:
            texts = list(self._lore_of(fresh))
            callers = [text.caller for text in texts if text.caller]
            spoke += callers
            if not spoke or not (texts or levels):
                return
            opened: Sequence[int] = ()
            if levels and not (texts and self._level):
                self._level, opened = levels.popleft()
            called_for = self.sight.take_in(texts)
            touched |= called_for
            again = {*called_for, *opened, *self.matcher.only_recursive}
            fresh = self._decide(sorted(again), callers or spoke)

    def _lore_of(self, cases: Iterable[Case]) -> Iterable[Text]:
        for case in cases:
            payload = case.row.entry.payload
            if case.row.entry.scope.calls_others and payload.strip():
                yield Text(
                    kind="lore", name=f"lore: {case.name}", reading=self.matcher.read(payload), caller=case
                )

    def _decide(self, indexes: Iterable[int], callers: Sequence[Case] = ()) -> list[Case]:
        called: list[Case] = []
        for index in indexes:
            case = self._cases.get(index) or self._case(index)
            if case.active or case.lost or (callers and not case.row.recursive(self.scan.settings)):
                continue
            case.waiting = case.row.entry.scope.recursion_level > self._level
            self._look(case, callers)
            if case.waiting:
                continue
            if case.standing and case.called and self.in_time(case.row) and self.lucky(case):
                called.append(case)
        fresh = self._groups.admit(called)
        for case in fresh:
            case.active = True
        return fresh

    def _case(self, index: int) -> Case:
        row = self.matcher.rows[index]
        sticky = self.scan.timing.sticks(row.entry, self.scan.parts)
        case = self._cases[index] = Case(index, row, standing=self.stands(row), sticky=sticky)
        return case

    def stands(self, row: Row) -> bool:
        """Whether the entry is on, and the book's tags let it in."""
        entry = row.entry
        if not entry.enabled or entry.when.never:
            return False
        if entry.negative_tags and not self.tags.isdisjoint(entry.negative_tags):
            return False
        return not entry.tags or not self.tags.isdisjoint(entry.tags)

    def in_time(self, row: Row) -> bool:
        """Whether the entry's turn has come: enough parts, the right one, and no cooldown."""
        when, parts = row.entry.when, self.scan.parts
        due = parts >= when.after and (when.every <= 0 or parts % when.every == 0)
        return self.scan.timing.sticks(row.entry, parts) or (
            due and not self.scan.timing.rests(row.entry, parts)
        )

    def drawn(self, row: Row) -> float:
        """What the entry's die shows this turn: 0 up to, never reaching, 100."""
        return draw(self.scan.seed, identity(row.entry), "chance") * CERTAIN

    def lucky(self, case: Case) -> bool:
        """Whether chance lets the entry in; one that sticks does not draw again."""
        chance = case.row.entry.when.chance
        return case.sticky or chance >= CERTAIN or self.drawn(case.row) < chance

    def _look(self, case: Case, callers: Sequence[Case]) -> None:
        row = case.row
        for number in row.numbers:
            if number not in case.hits:
                self._find(case, number)
        case.reached = case.reached or self._may_be_called(row, callers)
        found = case.reached and row.satisfied_by(case.hits)
        case.called = case.sticky or row.entry.when.always or found
        if case.called and callers:
            texts = [text for number, (text, _) in case.hits.items() if text.caller and number in row.calling]
            bare = row.entry.scope.only_recursive and not row.calling
            case.caller = texts[0].caller if texts else callers[0] if bare else None
            case.depth = case.caller.depth + 1 if case.caller else 0

    def _may_be_called(self, row: Row, callers: Sequence[Case]) -> bool:
        """Whether an entry whose keys are found, or that has none, is called now."""
        if row.calling or not row.entry.scope.only_recursive:
            return True
        limit = row.limit(self.scan.settings)
        return any(
            case.row.entry.scope.calls_others and (limit <= 0 or case.depth < limit) for case in callers
        )

    def _find(self, case: Case, number: int) -> None:
        for text in self.sight.where.get(number, ()):
            start = self.sight.sees(case.row, text)
            if start < 0:
                continue
            if start == 0 and text.reading.found.get(number) == []:
                case.hits[number] = text, None
                return
            try:
                place = self.sight.place(text, number, start)
            except TooSlow:
                case.too_slow |= {number}
                continue
            if place is not None:
                case.hits[number] = text, place
                return

    def _resting(self) -> tuple[Sequence[Verdict], Sequence[int]]:
        """The verdicts when nothing is found anywhere, and the rows that are in all the same."""
        scan = self.scan
        key = (self.tags, scan.settings, scan.counter or scan.count)
        known = self.matcher.resting.get(key)
        if known is None:
            if len(self.matcher.resting) >= _RESTING_KEPT:
                self.matcher.resting.clear()
            silent = replace(scan, request="", story=(), memory=(), timing=Timing(), budget=0, parts=0)
            known = self.matcher.resting[key] = Activation(self.matcher, silent).silent()
        return known

    def silent(self) -> tuple[Sequence[Verdict], Sequence[int]]:
        """The verdicts on all rows when nothing is found, and the rows that are in all the same."""
        verdicts: list[Verdict] = []
        calm: list[int] = []
        for index, row in enumerate(self.matcher.rows):
            case = Case(index, row, standing=self.stands(row), sticky=False)
            case.called = row.rests_called
            case.active = case.standing and case.called and not row.conditional
            verdicts.append(self.verdict(case))
            if case.active:
                calm.append(index)
        return verdicts, calm
