"""What lore looked at, with the words marked that called an entry."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from marginalia.lore.scan import Scan
    from marginalia.lore.verdicts import Hit, Verdict

_MOST = 20_000
_PARTS = 3
_NAMED = 8


def scanned(scan: Scan, verdicts: Iterable[Verdict], opened: Verdict | None) -> list[dict[str, Any]]:
    """The texts that were looked at: a name each, and pieces of text with the entries that they called.

    The request always; the last parts and those further back in which something was found. What is called by the
    *opened* entry's keys is marked even when it is not in.
    """
    calls: dict[str, list[tuple[Hit, str, bool]]] = {}
    for verdict in verdicts:
        mine = opened is not None and verdict is opened
        if verdict.active or mine:
            for hit in verdict.hits:
                calls.setdefault(hit.source, []).append((hit, verdict.entry.name, mine))
    found: list[dict[str, Any]] = []
    for at, (name, text) in enumerate(_texts(scan)):
        if at <= _PARTS or name in calls:
            found.append({"name": name, "pieces": _pieces(text[:_MOST], calls.get(name, []))})
    return found


def _texts(scan: Scan) -> Iterator[tuple[str, str]]:
    yield "request", scan.request
    behind = 0
    for index, text in enumerate(scan.story):
        if behind > scan.horizon:
            break
        yield (f"part {scan.parts - index}" if scan.parts > index else "an earlier part"), text
        behind += len(text)
    for index, text in enumerate(scan.memory):
        yield f"memory {index + 1}", text


def _pieces(text: str, calls: Sequence[tuple[Hit, str, bool]]) -> list[tuple[str, str, bool]]:
    """The text in stretches: its characters, the names of the entries called there, whether the open one is."""
    begin: dict[int, list[tuple[str, bool]]] = {}
    end: dict[int, list[tuple[str, bool]]] = {}
    for hit, name, mine in calls:
        first, last = min(hit.start, len(text)), min(hit.end, len(text))
        if first < last:
            begin.setdefault(first, []).append((name, mine))
            end.setdefault(last, []).append((name, mine))
    here: Counter[str] = Counter()
    own = 0
    pieces: list[tuple[str, str, bool]] = []
    for start, stop in pairwise(sorted({0, len(text), *begin, *end})):
        for name, mine in end.get(start, ()):
            here[name] -= 1
            own -= mine
            if not here[name]:
                del here[name]
        for name, mine in begin.get(start, ()):
            here[name] += 1
            own += mine
        pieces.append((text[start:stop], _some(here), own > 0))
    return pieces


def _some(names: Counter[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(islice(names, _NAMED)) + more
