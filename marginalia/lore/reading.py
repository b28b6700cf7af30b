"""Reading a text once for all needles: plain keys in one pass, expressions as sets, and only the rest one by one."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from ahocorasick_rs import AhoCorasick, Implementation

from marginalia.lore.expressions import plain_text, without_turkish
from marginalia.lore.folding import Folded, clean, simple_fold
from marginalia.lore.linear import LinearSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from marginalia.lore.needles import Needle

Place: TypeAlias = tuple[int, int]
_KEPT = 64
_PLACES = 16
_HEAD = 64
_WINDOW = 1_024
_LOOKS = 100_000


class Reading:
    """What a text holds.

    ``found`` has the places of keys, of a very frequent one the first few and the last, and no places yet for an
    expression that is surely in it; ``more`` counts the places of a short key that were left out;
    ``maybe`` are the expressions that have to be searched one by one, ``refused`` the keys that are only there inside
    of a longer word, or with other capitals. All are by the needles' numbers. ``searched`` remembers single searches,
    by number and where they started.
    """

    __slots__ = ("found", "maybe", "more", "refused", "searched", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[int, list[Place]] = {}
        self.more: dict[int, int] = {}
        self.maybe: set[int] = set()
        self.refused: dict[int, Place] = {}
        self.searched: dict[tuple[int, int], Place | None] = {}


class Index:
    """Needles by number, compiled to be found together. Building costs, reading does not.

    An index may lie over another one, so that an edit among thousands of entries compiles only what is new.
    """

    def __init__(self, needles: Mapping[int, Needle], below: Index | None = None) -> None:
        self._below = below
        self._texts = _Automaton([item for item in needles.items() if item[1].kind == "text"])
        self._keys = _Automaton([item for item in needles.items() if item[1].kind == "key"])
        expressions = [item for item in needles.items() if item[1].expression]
        self._together = [item for item in expressions if item[1].expression and item[1].expression.relaxed]
        together = {number for number, _ in self._together}
        compiled = [needle.expression for _, needle in self._together if needle.expression]
        self._strict = LinearSet(each.strict or "" for each in compiled)
        self._relaxed = LinearSet(each.relaxed or "" for each in compiled)
        self._alone = {
            number for number, needle in expressions if number not in together and not needle.problem
        }
        self._kept: OrderedDict[str, Reading] = OrderedDict()
        self._lock = Lock()

    def read(self, text: str) -> Reading:
        """What *text* holds; texts that were read lately are not read again."""
        with self._lock:
            if (known := self._kept.get(text)) is not None:
                self._kept.move_to_end(text)
                return known
        reading = self._read(clean(text))
        with self._lock:
            self._kept[text] = reading
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return reading

    def _read(self, text: str) -> Reading:
        reading = Reading(text)
        if self._below:
            self._take_over(reading, self._below.read(text))
        for start, end, needles in self._texts.search(simple_fold(text)):
            for number, needle in needles:
                _note(reading, number, needle, (start, end))
        if self._keys:
            self._read_keys(reading)
        reading.maybe.update(self._alone)
        if self._together:
            self._read_expressions(reading)
        return reading

    def _read_keys(self, reading: Reading) -> None:
        folded = Folded(reading.text)
        for start, end, needles in self._keys.search(folded.folded):
            for number, needle in needles:
                place = folded.back(start, end)
                if not needle.exacting or needle.accepts(folded, start, end):
                    _note(reading, number, needle, place)
                else:
                    reading.refused.setdefault(number, place)

    @staticmethod
    def _take_over(reading: Reading, below: Reading) -> None:
        reading.found.update(below.found)
        reading.more.update(below.more)
        reading.maybe.update(below.maybe)
        reading.refused.update(below.refused)
        reading.searched.update(below.searched)

    def _read_expressions(self, reading: Reading) -> None:
        plain = plain_text(reading.text)
        relaxed = reading.text if plain else without_turkish(reading.text)
        found, unsure = (self._strict if plain else self._relaxed).search(relaxed)
        for at in found:
            number, needle = self._together[at]
            same = needle.expression and needle.expression.same and relaxed == reading.text
            if plain or same:
                reading.found[number] = []
            else:
                reading.maybe.add(number)
        reading.maybe.update(self._together[at][0] for at in unsure)


def _note(reading: Reading, number: int, needle: Needle, place: Place) -> None:
    places = reading.found.setdefault(number, [])
    if len(places) < _PLACES:
        places.append(place)
    else:
        # The last place decides for entries that look only so far back.
        places[-1] = place
        if len(needle.looked_for) <= _HEAD:
            reading.more[number] = reading.more.get(number, 0) + 1


class _Automaton:
    """Aho-Corasick over the distinct beginnings of some needles' texts.

    Only so many keys of different lengths can end in one place, and the text is read window by window: keys that are
    in each other over and over neither fill the memory nor hold other threads up. Of keys that are longer than that,
    many of them in each other, not every place is looked at.
    """

    def __init__(self, needles: Sequence[tuple[int, Needle]]) -> None:
        by_head: dict[str, dict[str, list[tuple[int, Needle]]]] = {}
        for number, needle in needles:
            text = needle.looked_for
            by_head.setdefault(text[:_HEAD], {}).setdefault(text, []).append((number, needle))
        self._short = [whole.pop(head, None) for head, whole in by_head.items()]
        self._long = [list(whole.items()) for whole in by_head.values()]
        # The contiguous automaton is built in 50 ms for 10,000 keys, and as fast as the one that takes 350 ms.
        self._automaton = (
            AhoCorasick(list(by_head), implementation=Implementation.ContiguousNFA) if by_head else None
        )

    def __bool__(self) -> bool:
        return self._automaton is not None

    def search(self, text: str) -> Iterator[tuple[int, int, list[tuple[int, Needle]]]]:
        """Every place of every needle, overlapping ones too, each needle's from left to right: start, end, needles."""
        if self._automaton is None:
            return
        begun: set[int] = set()
        for at in range(0, len(text), _WINDOW):
            window = text[at : at + _WINDOW + _HEAD - 1]
            for head, start, end in self._automaton.find_matches_as_indexes(window, overlapping=True):
                if start >= _WINDOW:
                    continue
                if needles := self._short[head]:
                    yield at + start, at + end, needles
                if self._long[head]:
                    begun.add(head)
        long = [pair for head in sorted(begun) for pair in self._long[head]]
        most = max(_PLACES, _LOOKS // max(1, len(long)))
        for whole, needles in long:
            yield from ((start, start + len(whole), needles) for start in _places(text, whole, most))


def _places(text: str, key: str, most: int) -> Iterator[int]:
    """The first places of a key, *most* at most, and the last one."""
    at = text.find(key)
    while at >= 0 and most > 1:
        yield at
        at = text.find(key, at + 1)
        most -= 1
    if at >= 0:
        yield text.rfind(key)
