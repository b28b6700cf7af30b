"""What lore looked at, with the words marked that called an entry."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from marginalia.lore.scan import Scan
    from marginalia.lore.verdicts import Hit, Verdict

_MOST = 20_000
_PARTS = 3


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
    edges = sorted(
        {0, len(text), *(min(edge, len(text)) for hit, _, _ in calls for edge in (hit.start, hit.end))}
    )
    pieces: list[tuple[str, str, bool]] = []
    for start, end in pairwise(edges):
        there = [(name, mine) for hit, name, mine in calls if hit.start <= start and end <= hit.end]
        names = ", ".join(dict.fromkeys(name for name, _ in there))
        pieces.append((text[start:end], names, any(mine for _, mine in there)))
    return pieces
