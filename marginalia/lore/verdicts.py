"""What activation says about every entry: in or out, each gate with its result, and the sentence that explains it."""

from __future__ import annotations

from dataclasses import dataclass

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marginalia.lore.book import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition of an entry and whether it held. ``name`` is one of ``enabled, negative tags, tags, filter, keys,
    chance, timing, group, budget, listener``; ``text`` is a plain sentence.
    """

    name: str
    passed: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a key was found: ``source`` names the text that was scanned (``request``, ``part 12``, ``lore: Varro``)."""

    key: str
    source: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an entry is in the prompt, and why. Made for every entry of every collected lorebook.

    ``reason`` is one plain sentence: for an active entry what called it, for another the nearest miss. ``chain`` names the
    entries that called this one by recursion, outermost first.
    """

    entry: Entry
    lorebook: str
    active: bool
    reason: str
    gates: tuple[Gate, ...] = ()
    hits: tuple[Hit, ...] = ()
    chain: tuple[str, ...] = ()
    tokens: int = 0
