"""What activation says about every entry: in or out, each gate with its result, and the sentence that explains it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from marginalia.lore.book import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition of an entry and whether it held.

    ``name`` is one of ``enabled, negative tags, tags, filter, keys, recursion, chance, timing, group, budget,
    listener``; ``text`` is a plain sentence without its full stop.
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


class Explains(Protocol):
    """Knows why an entry is in or out, and puts it into words when somebody wants to read them."""

    def gates(self) -> tuple[Gate, ...]:
        """Every condition with its result."""
        ...

    def reason(self) -> str:
        """One plain sentence."""
        ...

    def hits(self) -> tuple[Hit, ...]:
        """Where the entry's keys were found."""
        ...

    def tokens(self) -> int:
        """The tokens of the payload as it is stored."""
        ...

    def nearly(self) -> bool:
        """Whether the entry, being out, was close to being in."""
        ...


class Verdict:
    """Whether an entry is in the prompt, and why. Made for every entry of every collected lorebook.

    ``reason`` is one plain sentence: for an active entry what called it, for another the nearest miss. ``chain`` names
    the entries that called this one by recursion, outermost first. ``tokens`` are the payload's as it is stored.
    ``nearly`` says that an inactive entry was called for, or was found just beyond what it looks at.

    A verdict is never changed. One that is given *explains* instead of words finds them when they are first read: with
    ten thousand entries, most of them never are.
    """

    def __init__(
        self,
        *,
        entry: Entry,
        lorebook: str,
        active: bool,
        reason: str = "",
        gates: tuple[Gate, ...] = (),
        hits: tuple[Hit, ...] = (),
        chain: tuple[str, ...] = (),
        tokens: int = 0,
        nearly: bool = False,
        explains: Explains | None = None,
    ) -> None:
        self.entry = entry
        self.lorebook = lorebook
        self.active = active
        self.chain = chain
        if explains is not None:
            self._explains = explains
        else:
            # A value in the instance stands for the cached property of the same name.
            vars(self).update(reason=reason, gates=gates, hits=hits, tokens=tokens, nearly=nearly)

    @cached_property
    def reason(self) -> str:
        """One plain sentence."""
        return self._explains.reason()

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Every condition with its result."""
        return self._explains.gates()

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Where the entry's keys were found."""
        return self._explains.hits()

    @cached_property
    def tokens(self) -> int:
        """The tokens of the payload as it is stored."""
        return self._explains.tokens()

    @cached_property
    def nearly(self) -> bool:
        """Whether an inactive entry was close to being in."""
        return not self.active and self._explains.nearly()

    def but(self, *, active: bool, gate: Gate, entry: Entry | None = None) -> Verdict:
        """The same verdict, overruled: *gate* is added, and its text is the reason.

        *entry* stands for the old one, if there is one.
        """
        return Verdict(
            entry=entry or self.entry,
            lorebook=self.lorebook,
            active=active,
            reason=sentence(gate.text),
            gates=(*self.gates, gate),
            hits=self.hits,
            chain=self.chain,
            tokens=self.tokens,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash((self.lorebook, self.entry.id, self.entry.name, self.active))

    def __repr__(self) -> str:
        return f"<{self.entry.name or 'entry'}: {'in' if self.active else 'out'}, {self.reason}>"

    def _all(self) -> tuple[object, ...]:
        parts = (self.reason, self.gates, self.hits, self.chain, self.tokens, self.nearly)
        return (self.entry, self.lorebook, self.active, *parts)


def sentence(*clauses: str) -> str:
    """One sentence of *clauses*: joined, with a capital and a full stop."""
    text = "; ".join(clause for clause in clauses if clause)
    return text[:1].upper() + text[1:] + "." if text else ""
