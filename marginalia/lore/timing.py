"""Sticky entries and cooldowns: when an entry was last called, kept with the parts of the branch.

The state hangs on the branch: every part keeps the state as it is after it, so a swipe starts from its parent's, and an
edit of a text or of an entry cannot orphan anything. Only the moment of the call is kept; how long an entry sticks or
rests is read from the entry as it is now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marginalia.values import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from marginalia.lore.book import Entry
    from marginalia.lore.verdicts import Verdict


def identity(entry: Entry) -> str:
    """What an entry is known by in timed state and for its dice: its uid, or its lorebook and id, or its name."""
    if entry.uid:
        return entry.uid
    return f"{entry.lorebook_id}/{entry.id}" if entry.id else entry.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The timed state of a branch: how many parts there were when each entry with timed effects was last called."""

    called: Mapping[str, int] = NOTHING

    @classmethod
    def of(cls, state: Mapping[str, Any] | None) -> Timing:
        """The timing in a stored *state*; anything that is not a number of parts is left out."""
        return cls(called={str(key): at for key, at in (state or {}).items() if type(at) is int})

    def age(self, entry: Entry, parts: int) -> int | None:
        """How many parts ago the entry was called, seen from a branch of *parts*; ``None`` when it was not."""
        at = self.called.get(identity(entry))
        return parts - at if at is not None and at < parts else None

    def sticks(self, entry: Entry, parts: int) -> bool:
        """Whether the entry stays in without being called again."""
        age = self.age(entry, parts)
        return age is not None and age <= entry.when.sticky

    def rests(self, entry: Entry, parts: int) -> int:
        """For how many more parts the entry cannot be called; 0 when it can."""
        age = self.age(entry, parts)
        if age is None or age <= entry.when.sticky:
            return 0
        return max(0, entry.when.sticky + entry.when.cooldown - age + 1)

    def next_state(self, verdicts: Iterable[Verdict], parts: int) -> dict[str, int]:
        """The state after the next part, ready for JSON: what was called now, and what is not over yet.

        *parts* is the number of parts that the verdicts were made for.
        """
        state: dict[str, int] = {}
        for verdict in verdicts:
            entry = verdict.entry
            length = entry.when.sticky + entry.when.cooldown
            if not length:
                continue
            age = self.age(entry, parts)
            if verdict.active and not self.sticks(entry, parts):
                state[identity(entry)] = parts
            elif age is not None and age < length:
                state[identity(entry)] = parts - age
        return state
