"""What is known about one entry while a turn is decided, and kept to explain it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from marginalia.lore.matching import Row
    from marginalia.lore.reading import Place, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text that is looked through: the ``request``, a part of the ``story``, ``memory``, or the ``lore`` of an entry.

    ``index`` counts from 0 (the newest part); ``behind`` is how many characters of the story come after the text;
    ``caller`` is the entry whose lore it is.
    """

    kind: str
    name: str
    reading: Reading
    index: int = 0
    behind: int = 0
    caller: Case | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What an entry lost its group to."""

    group: str
    winner: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Why an entry got no room: it needs ``tokens``, ``left`` were left of ``limit``; ``enough`` would have been.

    ``whose`` names the budget: all lore's, a lorebook's, or the entry's own; ``taker`` is who got most of it.
    """

    whose: str
    tokens: int
    left: int
    limit: int
    enough: int
    taker: str = ""


class Case:
    """One entry in one turn. ``hits`` are its needles that were found, each with the first text and place.

    ``standing``: it is on, and the book's tags let it in. ``called``: something calls for it, or it needs no call.
    ``caller`` is the entry whose lore called it, when nothing else did, and ``depth`` how many calls led to it.
    ``waiting``: it waits for other active lore, or for a lower level. ``reached``: it has keys that may be found, or
    other active lore that it needs was read.
    """

    __slots__ = (
        "active",
        "called",
        "caller",
        "cuts",
        "depth",
        "hits",
        "index",
        "lost",
        "reached",
        "row",
        "standing",
        "sticky",
        "too_slow",
        "waiting",
    )

    def __init__(self, index: int, row: Row, *, standing: bool, sticky: bool) -> None:
        self.index = index
        self.row = row
        self.standing = standing
        self.sticky = sticky
        self.active = False
        self.called = False
        self.waiting = False
        self.reached = False
        self.hits: dict[int, tuple[Text, Place | None]] = {}
        self.too_slow: frozenset[int] = frozenset()
        self.caller: Case | None = None
        self.depth = 0
        self.lost: Loss | None = None
        self.cuts: tuple[Cut, ...] = ()

    @property
    def name(self) -> str:
        """The entry's name, for people."""
        return self.row.entry.name or "an entry without a name"

    @property
    def chain(self) -> tuple[Case, ...]:
        """The entries that led to this one, outermost first."""
        return (*self.caller.chain, self.caller) if self.caller else ()

    @property
    def score(self) -> int:
        """How many of the entry's keys were found."""
        return sum(number in self.hits for number in self.row.calling)
