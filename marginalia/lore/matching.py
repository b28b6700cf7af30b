"""The candidates of a book made ready to be looked for: compiled once, read for every keystroke."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from marginalia.lore.book import Match, Pattern, RegexFilter, Scope, TextFilter
from marginalia.lore.caching import IdentityCache
from marginalia.lore.needles import Needle, blank
from marginalia.lore.reading import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from marginalia.lore.book import Entry, LoreSettings
    from marginalia.lore.collecting import Candidate
    from marginalia.lore.reading import Reading
    from marginalia.lore.verdicts import Verdict
    from marginalia.values import LorebookId

Source: TypeAlias = TextFilter | RegexFilter | Pattern
Resting: TypeAlias = "tuple[Sequence[Verdict], Sequence[int]]"
CERTAIN = 100
_KEPT = 4
_OVERLAY = 1_000


class Row:
    """A candidate with the numbers of its needles; ``calling`` are those that call it, ``numbers`` all of them."""

    __slots__ = (
        "_counted",
        "all",
        "also",
        "any",
        "calling",
        "candidate",
        "conditional",
        "entry",
        "filter",
        "none",
        "not_all",
        "numbers",
        "rests_called",
    )

    def __init__(self, candidate: Candidate, number_of: Callable[[Source], int]) -> None:
        entry = self.entry = candidate.entry
        self.candidate = candidate
        self.filter = None if entry.filter is None or blank(entry.filter) else number_of(entry.filter)
        match = entry.match
        self.any = _numbers(match.any, number_of)
        self.also = _numbers(match.also, number_of)
        self.all = _numbers(match.all, number_of)
        self.none = _numbers(match.none, number_of)
        self.not_all = _numbers(match.not_all, number_of)
        first = () if self.filter is None else (self.filter,)
        self.calling = tuple(dict.fromkeys((*first, *self.any, *self.also, *self.all)))
        self.numbers = tuple(dict.fromkeys((*self.calling, *self.none, *self.not_all)))
        self.conditional = _conditional(entry)
        self.rests_called = entry.when.always or not (self.calling or entry.scope.only_recursive)
        self._counted: tuple[Callable[[str], int], int] | None = None

    def satisfied_by(self, found: Container[int]) -> bool:
        """Whether the filter and the keys hold when the needles in *found* are there."""
        there = found.__contains__
        return (
            (self.filter is None or there(self.filter))
            and (not self.any or any(map(there, self.any)))
            and (not self.also or any(map(there, self.also)))
            and all(map(there, self.all))
            and not any(map(there, self.none))
            and not (self.not_all and all(map(there, self.not_all)))
        )

    def tokens(self, count: Callable[[str], int]) -> int:
        """The tokens of the payload as it is stored, counted once."""
        if self._counted is None or self._counted[0] != count:
            payload = self.entry.payload
            self._counted = (count, count(payload) if payload.strip() else 0)
        return self._counted[1]

    def parts(self, settings: LoreSettings) -> int:
        """How many of the last parts the entry looks at: its own word, its lorebook's, then *settings*'."""
        return self.entry.scope.parts or self.candidate.lorebook.settings.scan_parts or settings.scan_parts

    def recursive(self, settings: LoreSettings) -> bool:
        """Whether other active lore may call the entry."""
        scope = self.entry.scope
        if scope.no_recursion:
            return False
        own = scope.recursive or scope.only_recursive or scope.recursion_level > 0
        return own or self.candidate.lorebook.settings.recursive or settings.recursive

    def limit(self, settings: LoreSettings) -> int:
        """How many entries a chain of calls may have before this one; 0 for no limit."""
        return self.candidate.lorebook.settings.recursion_limit or settings.recursion_limit


def _numbers(patterns: Iterable[Pattern], number_of: Callable[[Source], int]) -> tuple[int, ...]:
    return tuple(number_of(each) for each in patterns if not blank(each))


def _conditional(entry: Entry) -> bool:
    """Whether more than tags and what is found decides about the entry."""
    when = entry.when
    timed = when.after or when.every or when.sticky or when.cooldown
    waits = entry.scope.only_recursive or entry.scope.recursion_level > 0
    return bool(timed or when.groups or when.chance < CERTAIN or waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stock:
    """Needles by number and the index that finds them; ``covered`` of them are in the big index at the bottom."""

    numbers: Mapping[Source, int]
    needles: Sequence[Needle]
    base: Index
    covered: int
    index: Index

    @classmethod
    def of(cls, sources: Sequence[Source], before: _Stock | None) -> _Stock:
        """The stock for *sources*, taking over what is compiled already unless too much has come since."""
        numbers = dict(before.numbers) if before else {}
        for source in sources:
            numbers.setdefault(source, len(numbers))
        if before is None:
            needles = [Needle(source) for source in numbers]
            base = Index(dict(enumerate(needles)))
            return cls(numbers=numbers, needles=needles, base=base, covered=len(needles), index=base)
        if len(numbers) - before.covered > _OVERLAY:
            return cls.of(sources, None)
        needles = [*before.needles, *(Needle(source) for source in list(numbers)[len(before.needles) :])]
        fresh = {number: needles[number] for number in range(before.covered, len(needles))}
        index = Index(fresh, before.base) if fresh else before.base
        return cls(numbers=numbers, needles=needles, base=before.base, covered=before.covered, index=index)


class Matcher:
    """Candidates with everything that they are called by, compiled.

    ``Matcher.of`` remembers the last few, so that while somebody types only the texts are read; when an entry was
    edited, only what is new is compiled. A matcher can be used from several threads.
    """

    def __init__(self, candidates: Sequence[Candidate], before: Matcher | None = None) -> None:
        sources = [source for each in candidates for source in _sources(each.entry)]
        self.stock: _Stock = _Stock.of(sources, before.stock if before else None)
        number_of = self.stock.numbers.__getitem__
        self.rows = [Row(each, number_of) for each in candidates]
        self.resting: dict[object, Resting] = {}

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Matcher:
        """The matcher for *candidates*: the one made before for the same tuple, else a new one."""
        given = tuple(candidates)
        return _matchers.get((given,), lambda: _latest.make(given))

    @property
    def needles(self) -> Sequence[Needle]:
        """What is looked for, by number."""
        return self.stock.needles

    def read(self, text: str) -> Reading:
        """What *text* holds of everything that is looked for."""
        return self.stock.index.read(text)

    @cached_property
    def users(self) -> Mapping[int, Sequence[int]]:
        """For each needle the rows that look for it."""
        users: dict[int, list[int]] = {}
        for index, row in enumerate(self.rows):
            for number in row.numbers:
                users.setdefault(number, []).append(index)
        return users

    @cached_property
    def conditional(self) -> Sequence[int]:
        """The rows that have to be decided about each time, whatever is found."""
        return [index for index, row in enumerate(self.rows) if row.conditional]

    @cached_property
    def only_recursive(self) -> Sequence[int]:
        """The rows that nothing but other active lore calls."""
        return [index for index in self.conditional if self.rows[index].entry.scope.only_recursive]

    @cached_property
    def levels(self) -> Sequence[tuple[int, Sequence[int]]]:
        """The levels of recursion, lowest first, each with the rows that wait for it."""
        waiting: dict[int, list[int]] = {}
        for index in self.conditional:
            if (level := self.rows[index].entry.scope.recursion_level) > 0:
                waiting.setdefault(level, []).append(index)
        return sorted(waiting.items())

    @cached_property
    def limited(self) -> bool:
        """Whether an entry or a lorebook has a budget of its own."""
        entries = (row.entry.budget.maximum for row in self.rows)
        return any(entries) or any(row.candidate.lorebook.settings.token_budget for row in self.rows)

    @cached_property
    def widest(self) -> Scope:
        """The scope that takes in everything that any row looks at."""
        scopes = [row.entry.scope for row in self.rows]
        books = [row.candidate.lorebook.settings for row in self.rows]
        called = (each.recursive or each.only_recursive or each.recursion_level > 0 for each in scopes)
        return Scope(
            parts=max((*(each.parts for each in scopes), *(each.scan_parts for each in books)), default=0),
            characters=max((each.characters for each in scopes), default=0),
            memory=any(each.memory for each in scopes),
            recursive=any(called) or any(each.recursive for each in books),
        )


def _sources(entry: Entry) -> Iterator[Source]:
    if entry.filter is not None and not blank(entry.filter):
        yield entry.filter
    match = entry.match
    if match is not _NO_MATCH:
        for pattern in (*match.any, *match.also, *match.all, *match.none, *match.not_all):
            if not blank(pattern):
                yield pattern


class _Latest:
    """The last matcher for each of a few groups of lorebooks, so that the next one can take over what it compiled."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[LorebookId, ...], Matcher] = OrderedDict()
        self._lock = Lock()

    def make(self, candidates: tuple[Candidate, ...]) -> Matcher:
        """A new matcher for *candidates*."""
        lorebooks = tuple(sorted({each.lorebook.id for each in candidates}))
        with self._lock:
            before = self._kept.get(lorebooks)
        matcher = Matcher(candidates, before)
        with self._lock:
            self._kept[lorebooks] = matcher
            self._kept.move_to_end(lorebooks)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return matcher


_NO_MATCH = Match()
_matchers: IdentityCache[Matcher] = IdentityCache(_KEPT)
_latest = _Latest()
