"""Which entries are in: a verdict for every candidate, in the candidates' order.

The default is the specification's: enabled, negative tags, tags, filter against the rendered request (step 3, 3;
spec/semantics.md, B1 42 to 45). What an entry has beyond that holds as well. Everything is decided from the candidates
and the scan alone: no clock, no global dice, nothing is stored.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from marginalia.lore.budgeting import give_room
from marginalia.lore.cases import Case, Text
from marginalia.lore.dice import draw
from marginalia.lore.explaining import Explanation
from marginalia.lore.expressions import TooSlow
from marginalia.lore.groups import Groups
from marginalia.lore.matching import CERTAIN, Matcher
from marginalia.lore.timing import Timing, identity
from marginalia.lore.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from marginalia.lore.collecting import Candidate
    from marginalia.lore.matching import Row
    from marginalia.lore.reading import Place
    from marginalia.lore.scan import Scan

_RESTING_KEPT = 8


def activate(candidates: Sequence[Candidate], scan: Scan) -> tuple[Verdict, ...]:
    """A verdict for every one of *candidates*, in the same order.

    Give the same tuple again (``in_order`` does) and only the texts are read. The words of a verdict are found when
    somebody reads them.
    """
    return Activation(Matcher.of(candidates), scan).verdicts()


class Activation:
    """One turn while it is decided, and afterwards what its verdicts are explained from."""

    def __init__(self, matcher: Matcher, scan: Scan) -> None:
        self.matcher = matcher
        self.scan = scan
        self.tags = frozenset(scan.tags)
        self.texts: list[Text] = []
        self.where: dict[int, list[Text]] = {}
        self._cases: dict[int, Case] = {}
        self._groups = Groups(scan.seed)
        self._patience = scan.patience
        self._recursing = matcher.widest.recursive or scan.settings.recursive

    def verdicts(self) -> tuple[Verdict, ...]:
        """Decide, and put it down."""
        resting, calm = self._resting()
        limited = self.scan.budget > 0 or self.matcher.limited
        touched = self._take_in(self._texts())
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

    def sees(self, row: Row, text: Text) -> int:
        """From which character on the entry looks at the text; -1 when it does not."""
        scope = row.entry.scope
        if text.caller is not None:
            limit = row.limit(self.scan.settings)
            within = limit <= 0 or text.caller.depth < limit
            return 0 if within and row.recursive(self.scan.settings) else -1
        if scope.only_recursive:
            return -1
        if text.kind == "story":
            return self._sees_story(row, text)
        return 0 if (scope.request if text.kind == "request" else scope.memory) else -1

    def place(self, text: Text, number: int, start: int) -> Place | None:
        """Where in *text*, from *start* on, a needle is; raises ``TooSlow`` when its time ran out."""
        places = text.reading.found.get(number)
        if places:
            return next((place for place in places if place[0] >= start), None)
        if places is None and number not in text.reading.maybe:
            return None
        return self._search(text, number, start)

    def quick_place(self, text: Text, number: int, start: int) -> Place | None:
        """The place of a needle that was found, for somebody who reads it; ``None`` if that takes too long."""
        try:
            return self.place(text, number, start)
        except TooSlow:
            return None

    def _sees_story(self, row: Row, text: Text) -> int:
        parts, characters = row.parts(self.scan.settings), row.entry.scope.characters
        if not (parts or characters) or (parts and text.index >= parts):
            return -1
        start = max(0, len(text.reading.text) + text.behind - characters) if characters else 0
        return start if start < len(text.reading.text) else -1

    def _search(self, text: Text, number: int, start: int) -> Place | None:
        searched = text.reading.searched
        expression = self.matcher.needles[number].expression
        if expression is None:
            return None
        if (number, start) not in searched:
            began = self.scan.stopwatch()
            try:
                searched[number, start] = expression.find(text.reading.text, start, self._patience)
            finally:
                self._patience -= self.scan.stopwatch() - began
        return searched[number, start]

    def _texts(self) -> Iterable[Text]:
        scan, widest = self.scan, self.matcher.widest
        yield Text(kind="request", name="request", reading=self.matcher.read(scan.request))
        parts = max(widest.parts, scan.settings.scan_parts)
        characters = max(widest.characters, scan.horizon)
        index = behind = 0
        while index < len(scan.story) and (index < parts or behind < characters):
            text = scan.story[index]
            name = f"part {scan.parts - index}" if scan.parts > index else "an earlier part"
            yield Text(kind="story", name=name, reading=self.matcher.read(text), index=index, behind=behind)
            behind += len(text)
            index += 1
        for index, text in enumerate(scan.memory):
            yield Text(
                kind="memory", name=f"memory {index + 1}", reading=self.matcher.read(text), index=index
            )

    def _take_in(self, texts: Iterable[Text]) -> set[int]:
        """Note where every needle is; the rows that look for any of them."""
        touched: set[int] = set()
        users = self.matcher.users
        for text in texts:
            reading = text.reading
            self.texts.append(text)
            for number in chain(reading.found, reading.maybe):
                self.where.setdefault(number, []).append(text)
                touched.update(users.get(number, ()))
            for number in reading.refused:
                touched.update(users.get(number, ()))
        return touched

    def _decide_all(self, touched: set[int], calm: Sequence[int]) -> None:
        """Decide about everything that may be in, round by round; *touched* grows with what lore calls for."""
        fresh = self._decide(sorted({*touched, *self.matcher.conditional, *calm}))
        bare = [
            index for index in self.matcher.conditional if self.matcher.rows[index].entry.scope.only_recursive
        ]
        while fresh and self._recursing:
            called_for = self._take_in(self._lore_of(fresh))
            touched |= called_for
            fresh = self._decide(sorted({*called_for, *bare}), fresh)

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
            self._look(case, callers)
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
        found = row.satisfied_by(case.hits) and self._may_be_called(row, callers)
        case.called = case.sticky or row.entry.when.always or found
        if case.called and callers:
            texts = [text for number, (text, _) in case.hits.items() if text.caller and number in row.calling]
            case.caller = texts[0].caller if texts else callers[0]
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
        for text in self.where.get(number, ()):
            start = self.sees(case.row, text)
            if start < 0:
                continue
            if start == 0 and text.reading.found.get(number) == []:
                case.hits[number] = text, None
                return
            try:
                place = self.place(text, number, start)
            except TooSlow:
                case.too_slow.add(number)
                continue
            if place is not None:
                case.hits[number] = text, place
                return

    def _resting(self) -> tuple[Sequence[Verdict], Sequence[int]]:
        """The verdicts when nothing is found anywhere, and the rows that are in all the same."""
        scan = self.scan
        key = (self.tags, scan.settings, scan.count)
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
