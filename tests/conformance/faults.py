"""Faults of a case: errors in a named place of a run, put there through steps, ports and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import marginalia as mg
from tests.conformance.world import NotBuiltYetError, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from marginalia.pipeline.hooks import Subscription
    from marginalia.prompt.tokens import Tokenizer
    from tests.conformance.case import Json, Value
    from tests.conformance.recorder import Callbacks

_ARCHIVE_PLACES = {
    "delete_part": "withdraw",
    "restore_part": "withdraw",
    "withdraw": "withdraw",
    "create_part": "open_part",
    "save_new_part": "open_part",
    "save_part": "close_part",
    "store_part": "close_part",
    "checkpoint": "checkpoint",
    "remove_summary": "drop_summaries",
}

_STEPS = (
    "PREPARE_GENERATION",
    "PREPARE_CONSTANTS",
    "PROCESS_LOREBOOK",
    "PREPARE_CONTENT",
    "PREPARE_PAYLOAD",
    "GENERATE_NEW_MESSAGE",
    "INFERENCE",
    "CLEANUP",
)


class FaultError(RuntimeError):
    """What a place that the case broke raises."""


class Fault:
    """An error that is raised so many times, from the n-th chance on."""

    def __init__(self, spec: Json) -> None:
        times = spec.get("times", 1)
        self._left = float("inf") if times == "always" else times
        self._wait = spec.get("n", 1)
        self._text = spec["raise"]

    def chance(self) -> None:
        """Raise, if it is time."""
        self._wait -= 1
        if self._wait < 1 and self._left > 0:
            self._left -= 1
            raise FaultError(self._text)


class FaultyArchive:
    """The real archive, except that some of its calls fail."""

    def __init__(self, archive: Value, faults: Mapping[str, Fault]) -> None:
        self._archive = archive
        self._faults = faults

    def __getattr__(self, name: str) -> Value:
        method = getattr(self._archive, name)
        if name not in self._faults:
            return method
        fault = self._faults[name]

        async def failing(*args: Value, **kwargs: Value) -> Value:
            fault.chance()
            return await method(*args, **kwargs)

        return failing


class FaultyTokenizer:
    """The real tokenizer, except that a count fails while a chunk is taken in."""

    def __init__(self, inner: Tokenizer, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault
        self.taking_in_a_chunk = False

    @property
    def name(self) -> str:
        """The name of the real one."""
        return self._inner.name

    def count(self, text: str) -> int:
        """The number of tokens, or the fault."""
        if self.taking_in_a_chunk:
            self.taking_in_a_chunk = False
            self._fault.chance()
        return self._inner.count(text)


def plant(world: World, faults: Sequence[Json], callbacks: Callbacks) -> list[Callable[[], None]]:
    """Put the faults in their places; what is returned takes them out again."""
    found: list[Callable[[], None]] = []
    for spec in faults:
        fault, (head, _, place) = Fault(spec), spec["at"].rpartition(".")
        if place in callbacks.faults_at:
            callbacks.faults_at[place] = fault.chance
        elif place in _ARCHIVE_PLACES:
            found.append(_break_archive(world, _ARCHIVE_PLACES[place], fault))
        elif "chunk" in spec["at"].lower():
            found += _break_chunks(world, fault)
        else:
            found.append(_break_step(world, (head or place).partition(".")[0], fault))
    return found


def _break_archive(world: World, method: str, fault: Fault) -> Callable[[], None]:
    def listener(run: mg.Run, _: mg.events.Event) -> None:
        archive: Any = FaultyArchive(run.ports.archive, {method: fault})
        run.ports = replace(run.ports, archive=archive)

    return world.studio.on(mg.events.BeforePrepareGeneration, listener).close


def _break_chunks(world: World, fault: Fault) -> list[Callable[[], None]]:
    def prepare(run: mg.Run, _: mg.events.Event) -> None:
        run.ports = replace(run.ports, tokenizer=FaultyTokenizer(run.ports.tokenizer, fault))

    def arm(run: mg.Run, _: mg.events.Event) -> None:
        if isinstance(run.ports.tokenizer, FaultyTokenizer):
            run.ports.tokenizer.taking_in_a_chunk = True

    on = world.studio.on
    subscriptions: list[Subscription[Any]] = [
        on(mg.events.BeforePrepareGeneration, prepare),
        on(mg.events.ChunkReceived, arm),
        on(mg.events.ReasoningChunkReceived, arm),
    ]
    return [each.close for each in subscriptions]


def _break_step(world: World, name: str, fault: Fault) -> Callable[[], None]:
    if name.upper() not in _STEPS:
        message = f"no seam for a fault at {name}"
        raise NotBuiltYetError(message)

    def wrapper(step: Value) -> Value:
        async def failing(run: mg.Run, event: mg.events.Event) -> Value:
            fault.chance()
            return await step(run, event)

        return failing

    undo: Callable[[], None] = world.studio.wrap_step(getattr(mg.steps, name.upper()), wrapper)
    return undo
