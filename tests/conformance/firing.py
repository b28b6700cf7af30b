"""One call of a case's listener: the event as answered so far, and what the actions may need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import marginalia as mg

if TYPE_CHECKING:
    from tests.conformance.case import Value
    from tests.conformance.recorder import Callbacks, Recorder
    from tests.conformance.world import World

Event: TypeAlias = mg.events.Event


class BoomError(RuntimeError):
    """What a listener of a case raises."""


@dataclass(slots=True, kw_only=True)
class Firing:
    """One call of a listener: the event as changed so far, and what the actions may need."""

    world: World
    run: mg.Run
    callbacks: Callbacks
    recorder: Recorder
    event: Event
    began: float
    final: bool = False
    over: bool = False

    def change(self, **fields: Value) -> None:
        """Answer with these fields; one that the event lacks is not read back there, so nothing happens."""
        known = {name: value for name, value in fields.items() if hasattr(self.event, name)}
        self.event = replace(self.event, **known)

    def stash_key(self, name: str) -> mg.StashKey[Any]:
        """The typed key for a property of the case's own, the same for the whole case."""
        key: mg.StashKey[Any] = self.world.made.setdefault(f"stash {name}", mg.StashKey(name))
        return key
