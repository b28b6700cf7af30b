"""What listeners made of the list of activated entries, as verdicts (specification, ``PROCESS_ACTIVATED_ENTRIES``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.lore.timing import identity
from marginalia.lore.verdicts import Gate, Verdict, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from marginalia.lore.book import Entry

_OUT = Gate(name="listener", passed=False, text="a listener took it out")
_IN = Gate(name="listener", passed=True, text="a listener put it in")
_CHANGED = Gate(name="listener", passed=True, text="a listener changed it")


def overruled(verdicts: Sequence[Verdict], entries: Sequence[Entry]) -> tuple[Verdict, ...]:
    """The *verdicts*, with exactly *entries* active and in that order.

    An entry is known by itself or by its uid or id. What was active and is missing is out, what was out and is there is
    in, an unknown entry is added behind the one that it follows; each says that a listener did it.
    """
    if [each.entry for each in verdicts if each.active] == list(entries):
        return tuple(verdicts)
    places = {identity(each.entry): at for at, each in enumerate(verdicts)}
    places_of_objects = {id(each.entry): at for at, each in enumerate(verdicts)}
    result = [_without(each) for each in verdicts]
    known: list[tuple[int, Verdict]] = []
    used: set[int] = set()
    added: dict[int, list[Verdict]] = {}
    for entry in entries:
        at = places_of_objects.get(id(entry), places.get(identity(entry)))
        if at is None or at in used:
            added.setdefault(len(known), []).append(_added(entry))
        else:
            used.add(at)
            known.append((at, _with(verdicts[at], entry)))
    slots = sorted(used)
    for slot, (_, verdict) in zip(slots, known, strict=True):
        result[slot] = verdict
    for number in sorted(added, reverse=True):
        behind = slots[number - 1] + 1 if number else 0
        result[behind:behind] = added[number]
    return tuple(result)


def _without(verdict: Verdict) -> Verdict:
    return verdict.but(active=False, gate=_OUT) if verdict.active else verdict


def _with(verdict: Verdict, entry: Entry) -> Verdict:
    if not verdict.active:
        return verdict.but(active=True, gate=_IN, entry=entry)
    return verdict if verdict.entry is entry else verdict.but(active=True, gate=_CHANGED, entry=entry)


def _added(entry: Entry) -> Verdict:
    return Verdict(entry=entry, lorebook="", active=True, reason=sentence(_IN.text), gates=(_IN,))
