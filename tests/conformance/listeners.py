"""The listeners of a case, registered with their chains."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

import marginalia as mg
from marginalia.pipeline.hooks import Subscription
from tests.conformance import vocabulary
from tests.conformance.actions import perform
from tests.conformance.firing import BoomError, Event, Firing

if TYPE_CHECKING:
    from tests.conformance.case import Json, Value
    from tests.conformance.recorder import Callbacks, Recorder
    from tests.conformance.world import World


def register(world: World, op: Json, callbacks: Callbacks, recorder: Recorder) -> list[Subscription[Any]]:
    """Register the listeners of an operation in their order; kept ones stay with the world."""
    mine: list[Subscription[Any]] = []
    for spec in op.get("listeners") or ():
        for action in spec.get("actions") or ():
            if isinstance(action, Mapping) and "record" in action:
                world.records.setdefault(action["record"], [])
        listener = _listener(world, spec, callbacks, recorder)
        subscription = world.studio.on(vocabulary.EVENTS[spec["event"]], listener)
        if "id" in spec:
            world.listeners[spec["id"]] = subscription
        (world.kept if spec.get("keep") else mine).append(subscription)
    return mine


def _listener(
    world: World, spec: Json, callbacks: Callbacks, recorder: Recorder
) -> Callable[[mg.Run, Event], Awaitable[Any]]:
    fired = 0

    async def listener(run: mg.Run, event: Event) -> Event | mg.Final[Event] | None:
        nonlocal fired
        fired += 1
        if spec.get("n") not in (None, fired):
            return None
        firing = Firing(
            world=world, run=run, callbacks=callbacks, recorder=recorder, event=event, began=time.monotonic()
        )
        try:
            await _act(firing, spec)
        except (BoomError, anyio.get_cancelled_exc_class()):
            raise
        except Exception as error:
            # The hooks keep a failing listener from harming the run; a failing adapter must be seen all the same.
            world.problem(f"the adapter failed in {spec}: {type(error).__name__}: {error}")
            raise
        final = firing.final or spec.get("chain") == "terminate"
        return mg.Final(firing.event) if final else firing.event

    return listener


async def _act(firing: Firing, spec: Json) -> None:
    for action in spec.get("actions") or ():
        if not firing.over:
            await perform(firing, action)
    await _chain(spec.get("chain"))


async def _chain(chain: Value) -> None:
    if chain in {"raise", "next_in_finally"} if isinstance(chain, str) else False:
        message = "the listener of the case failed"
        raise BoomError(message)
    if isinstance(chain, Mapping) and "next_from_thread_after" in chain:
        await anyio.to_thread.run_sync(time.sleep, chain["next_from_thread_after"])
