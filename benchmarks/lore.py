"""Verdicts per second: three keys each, every tenth entry with a regular expression too; and a naive scan beside it.

Run ``python benchmarks/lore.py``. Times are medians of processor time in milliseconds. The naive scan does what a
straightforward program does, and no more: for every entry and every key one search in the text, no verdicts.
"""

from __future__ import annotations

import gc
import re
import statistics
import time
from random import Random
from typing import TYPE_CHECKING

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook, Lorebook, Match, Pattern, TextFilter
from marginalia.lore.collecting import Candidate, in_order
from marginalia.lore.matching import Matcher
from marginalia.lore.scan import Scan
from marginalia.values import EntryId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LETTERS = "abcdefghijklmnopqrstuvwxyz"
RUNS = 9


def main() -> None:
    random = Random(20)
    words = ["".join(random.choices(LETTERS, k=random.randint(4, 9))) for _ in range(40_000)]
    heads = "build ms", "scan ms", "naive ms", "verdicts/s", "in"
    print(f"{'entries':>8} {'characters':>10} {'kind':>8}" + "".join(f"{head:>12}" for head in heads))
    for kind, make in (("keys", _with_keys), ("filters", _with_filter)):
        for size in (100, 1_000, 10_000):
            entries = tuple(make(number, words, random) for number in range(size))
            for length in (4_000, 20_000):
                _measure(kind, entries, _prose(words, length, random))


def _measure(kind: str, entries: tuple[Entry, ...], text: str) -> None:
    candidates = in_order((FilledLorebook(lorebook=Lorebook(name="World"), entries=entries),))
    build = _median(lambda: Matcher(candidates), runs=1)
    active = sum(each.active for each in activate(candidates, Scan(request=text)))
    typed = iter(range(1_000))
    scan = _median(lambda: activate(candidates, Scan(request=f"{text} {next(typed)}")))
    naive = _median(lambda: _naive(candidates, text), runs=3)
    rate = len(entries) / scan * 1_000
    print(
        f"{len(entries):>8,} {len(text):>10,} {kind:>8}"
        f"{build:>12.1f}{scan:>12.2f}{naive:>12.1f}{rate:>12,.0f}{active:>12}"
    )


def _median(work: Callable[[], object], runs: int = RUNS) -> float:
    times: list[float] = []
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1_000)
    return statistics.median(times)


def _with_keys(number: int, words: Sequence[str], random: Random) -> Entry:
    one, two, three, four, five = random.choices(words, k=5)
    keys = [_key(one), _key(f"{two}{number}"), _key(f"{three} {four}")]
    if number % 10 == 0:
        keys.append(Pattern(text=rf"\b(?:{five}|{two})s?\b", kind="regex"))
    return _entry(number, Match(any=tuple(keys)))


def _with_filter(number: int, words: Sequence[str], random: Random) -> Entry:
    return Entry(
        id=EntryId(number + 1),
        name=f"entry {number}",
        payload="x " * 110,
        filter=TextFilter(random.choice(words)),
    )


def _entry(number: int, match: Match) -> Entry:
    return Entry(id=EntryId(number + 1), name=f"entry {number}", payload="x " * 110, match=match)


def _key(text: str) -> Pattern:
    return Pattern(text=text, whole_word=True)


def _prose(words: Sequence[str], length: int, random: Random) -> str:
    return " ".join(random.choices(words, k=length // 7))[:length]


def _naive(candidates: Sequence[Candidate], text: str) -> int:
    found = 0
    for candidate in candidates:
        filter_ = candidate.entry.filter
        plain = [filter_.text.lower() in text.lower()] if isinstance(filter_, TextFilter) else []
        searched = (re.search(_pattern(key), text, re.IGNORECASE) for key in candidate.entry.match.any)
        found += any(plain) or any(searched)
    return found


def _pattern(key: Pattern) -> str:
    return key.text if key.kind == "regex" else rf"\b{re.escape(key.text)}\b"


if __name__ == "__main__":
    main()
