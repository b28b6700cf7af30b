"""Why an entry is in or out, in plain sentences: every gate, what was found where, and the nearest miss.

What a sentence names is what decided: making the change that it names turns the verdict.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

from marginalia.lore.phrases import and_, beyond, looks_at, names, source_of, times
from marginalia.lore.verdicts import Gate, Hit, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from marginalia.lore.activation import Activation
    from marginalia.lore.cases import Case, Cut

_PERCENT = 100


class Explanation:
    """Puts the outcome of one entry into words."""

    __slots__ = ("_case", "_gates", "_row", "_turn")

    def __init__(self, turn: Activation, case: Case) -> None:
        self._turn = turn
        self._case = case
        self._row = case.row
        self._gates: tuple[Gate, ...] | None = None

    def tokens(self) -> int:
        """The tokens of the payload as it is stored."""
        return self._row.tokens(self._turn.scan.count)

    def gates(self) -> tuple[Gate, ...]:
        """Every condition that the entry has, each with its result; an entry is in when all of them hold."""
        if self._gates is None:
            self._gates = self._all_gates()
        return self._gates

    def _all_gates(self) -> tuple[Gate, ...]:
        return (
            self._enabled(),
            self._negative_tags(),
            self._tags(),
            *self._calls(),
            *self._recursion(),
            *self._timing(),
            *self._chance(),
            *self._group(),
            *self._budget(),
        )

    def reason(self) -> str:
        """What called the entry, or all that keeps it out."""
        failed = [gate.text for gate in self.gates() if not gate.passed]
        return sentence(*failed) if failed else sentence(self._called_by())

    def hits(self) -> tuple[Hit, ...]:
        """All places of the keys that were found, in every text that the entry looks at."""
        return tuple(hit for number in self._case.hits for hit in self._hits(number))

    def nearly(self) -> bool:
        """Whether one condition alone is missing, or a key is just out of reach."""
        failed = sum(not gate.passed for gate in self.gates())
        wanted = (number for number in self._row.numbers if number not in self._row.none)
        close = self._case.called or bool(self._case.hits) or any(self._beyond(number) for number in wanted)
        return failed == 1 and close

    def _enabled(self) -> Gate:
        entry = self._row.entry
        if entry.when.never:
            return Gate(name="enabled", passed=False, text="it is set to be never in")
        return Gate(
            name="enabled", passed=entry.enabled, text=f"it is switched {'on' if entry.enabled else 'off'}"
        )

    def _negative_tags(self) -> Gate:
        barring = [tag for tag in self._row.entry.negative_tags if tag in self._turn.tags]
        if barring:
            return Gate(
                name="negative tags", passed=False, text=f"the book has {names(barring)}, which keeps it out"
            )
        none = (
            "the book has none of its negative tags"
            if self._row.entry.negative_tags
            else "it has no negative tags"
        )
        return Gate(name="negative tags", passed=True, text=none)

    def _tags(self) -> Gate:
        tags = self._row.entry.tags
        if not tags:
            return Gate(name="tags", passed=True, text="it needs no tag")
        fitting = [tag for tag in tags if tag in self._turn.tags]
        if fitting:
            return Gate(name="tags", passed=True, text=f"the book has the tag {names(fitting)}")
        one = "the tag " if len(tags) == 1 else "any of the tags "
        return Gate(name="tags", passed=False, text=f"the book does not have {one}{names(tags)}")

    def _calls(self) -> Iterator[Gate]:
        row, when = self._row, self._row.entry.when
        free = (
            "it is always called"
            if when.always
            else "it sticks and needs no call"
            if self._case.sticky
            else ""
        )
        if row.filter is None:
            yield Gate(name="filter", passed=True, text="it has no filter")
        else:
            found = row.filter in self._case.hits
            text = free or (self._found([row.filter]) if found else self._missing([row.filter]))
            yield Gate(name="filter", passed=bool(free) or found, text=text)
        has_keys = row.any or row.also or row.all or row.none or row.not_all
        if free and (has_keys or when.always):
            yield Gate(name="keys", passed=True, text=free)
        elif has_keys:
            failed = list(self._failed_keys())
            text = (
                "; ".join(failed)
                or self._found(row.any + row.also + row.all)
                or "none of the words that keep it out is there"
            )
            yield Gate(name="keys", passed=not failed, text=text)

    def _recursion(self) -> Iterator[Gate]:
        scope, case = self._row.entry.scope, self._case
        bare = scope.only_recursive and not self._row.calling
        if bare and not (case.sticky or self._row.entry.when.always):
            nobody = "and no lore may" if scope.no_recursion else "and none does"
            text = "other active lore calls it" if case.reached else f"only other lore may call it, {nobody}"
            yield Gate(name="recursion", passed=case.reached, text=text)
        if scope.recursion_level:
            text = "other active lore has been read before it"
            if case.waiting:
                text = "it waits until other active lore has been read, and there is none to read"
            if scope.no_recursion:
                text = "it waits for other lore, and no lore may call it"
            yield Gate(name="recursion", passed=not case.waiting, text=text)

    def _failed_keys(self) -> Iterator[str]:
        row, hits = self._row, self._case.hits
        for either in (row.any, row.also):
            if either and not any(number in hits for number in either):
                yield self._missing(either)
        missing = [number for number in row.all if number not in hits]
        if missing and len(missing) == len(row.all) == 1:
            yield self._missing(missing)
        elif missing:
            there = [number for number in row.all if number in hits]
            only = f"only {self._labels(there, and_)} is there" if there else f"none is in {self._where()}"
            yield f"it needs {self._labels(row.all, and_)}, {only}" + self._why_not(missing)
        if barring := [number for number in row.none if number in hits]:
            yield f"{self._found(barring)}, and must not be"
        if row.not_all and all(number in hits for number in row.not_all):
            together = (
                "is there, and must not be"
                if len(row.not_all) == 1
                else "are there together, and must not be"
            )
            yield f"{self._labels(row.not_all, and_)} {together}"

    def _missing(self, numbers: Sequence[int]) -> str:
        close = next((text for number in numbers if (text := self._beyond(number))), "")
        if close:
            return close
        if len(numbers) == 1:
            return f"{self._labels(numbers)} is not in {self._where()}"
        return f"none of {self._labels(numbers)} is in {self._where()}"

    def _why_not(self, numbers: Iterable[int]) -> str:
        return "".join(f"; {text}" for number in numbers if (text := self._beyond(number)))

    def _beyond(self, number: int) -> str:
        """Why a key that was not found is not, where there is more to say than that."""
        if number in self._case.hits:
            return ""
        needle = self._turn.matcher.needles[number]
        if needle.problem:
            return f"the expression *{needle.label}* {needle.problem}"
        if number in self._case.too_slow:
            return f"the search for *{needle.label}* took too long and was stopped"
        refused = (text for text in self._turn.sight.texts if number in text.reading.refused)
        if any(self._turn.sight.sees(self._row, text) >= 0 for text in refused):
            return f"*{needle.label}* is only there inside a longer word, or with other capitals"
        texts = [text for text in self._turn.sight.where.get(number, ()) if number in text.reading.found]
        return beyond(needle.label, number, texts, self._row, self._turn.scan.settings)

    def _found(self, numbers: Iterable[int]) -> str:
        hits = self._case.hits
        found = [(number, hits[number][0]) for number in numbers if number in hits]
        if not found:
            return ""
        first, text = found[0]
        together = [self._labels([number]) for number, there in found if there.name == text.name]
        if len(together) > 1:
            return f"{and_(together)} are in {source_of(text.name)}"
        return f"{self._labels([first])} is in {source_of(text.name)}{times(text.reading, first)}"

    def _timing(self) -> Iterator[Gate]:
        when, parts, timing = self._row.entry.when, self._turn.scan.parts, self._turn.scan.timing
        if self._case.sticky:
            age = timing.age(self._row.entry, parts)
            text = f"it sticks for {when.sticky} parts and was called {age} {'part' if age == 1 else 'parts'} ago"
            yield Gate(name="timing", passed=True, text=text)
            return
        if when.after:
            text = f"it waits for part {when.after + 1:,}, the next one is {parts + 1:,}"
            yield Gate(name="timing", passed=parts >= when.after, text=text)
        if when.every > 0:
            text = f"it comes after every {when.every} parts, there are {parts:,}"
            yield Gate(name="timing", passed=parts % when.every == 0, text=text)
        if when.cooldown:
            rest = timing.rests(self._row.entry, parts)
            text = (
                f"it rests for {rest} more {'part' if rest == 1 else 'parts'}" if rest else "it does not rest"
            )
            yield Gate(name="timing", passed=not rest, text=text)

    def _chance(self) -> Iterator[Gate]:
        chance = self._row.entry.when.chance
        if chance >= _PERCENT or self._case.sticky:
            return
        drawn = self._turn.drawn(self._row)
        shown = f"{floor(drawn)}" if float(chance).is_integer() else f"{drawn:.4g}"
        yield Gate(name="chance", passed=drawn < chance, text=f"chance {chance:g} %, drew {shown}")

    def _group(self) -> Iterator[Gate]:
        groups, lost = self._row.entry.when.groups, self._case.lost
        if lost:
            text = f"it lost its group *{lost.group}* to *{lost.winner}*: {lost.why}"
            yield Gate(name="group", passed=False, text=text)
        elif groups and (self._case.active or self._case.cuts):
            yield Gate(name="group", passed=True, text=f"it is the one of its group {names(groups)}")

    def _budget(self) -> Iterator[Gate]:
        for cut in self._case.cuts:
            yield Gate(name="budget", passed=False, text=_too_many(cut))
        if self._turn.scan.budget > 0 and self._case.active:
            yield Gate(name="budget", passed=True, text=f"its {self.tokens():,} tokens fit")

    def _called_by(self) -> str:
        case, row = self._case, self._row
        if case.sticky:
            return next(self._timing()).text
        if row.entry.when.always:
            return "it is always called"
        called = self._found(row.calling) or (
            "other active lore calls it" if case.caller else "nothing has to call it"
        )
        cut = [each.name for each in case.chain if each.cuts]
        return f"{called}, although {names(cut)} itself did not fit" if cut else called

    def _hits(self, number: int) -> Iterator[Hit]:
        label = self._turn.matcher.needles[number].label
        for text in self._turn.sight.where.get(number, ()):
            start = self._turn.sight.sees(self._row, text)
            if start < 0:
                continue
            places = [place for place in text.reading.found.get(number, ()) if place[0] >= start]
            if not places and (place := self._turn.sight.quick_place(text, number, start)):
                places = [place]
            for first, last in places:
                yield Hit(key=label, source=text.name, start=first, end=last)

    def _labels(self, numbers: Iterable[int], join: object = None) -> str:
        labels = [f"*{self._turn.matcher.needles[number].label}*" for number in numbers]
        return and_(labels) if join is and_ else names(labels, marked=True)

    def _where(self) -> str:
        return looks_at(self._row, self._turn.scan.settings)


def _too_many(cut: Cut) -> str:
    over = cut.tokens - cut.left
    short = f"{over:,} {'token' if over == 1 else 'tokens'} too many"
    if cut.whose == "this entry":
        return f"{short}: it has {cut.tokens:,}, and its own maximum is {cut.limit:,}"
    most = f" (most went to *{cut.taker}*)" if cut.taker else ""
    left = f"{cut.left:,} of {cut.limit:,} tokens for {cut.whose} are left{most}"
    return f"{short}: it has {cut.tokens:,}, {left}; with {cut.enough:,} in all it would fit"
