"""Background work of one session: tasks that end with it, the newest wish first, blocking calls aside."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from threading import Event
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from marginalia.values import Progress

P = ParamSpec("P")
T = TypeVar("T")
_TELLING = 0.2  # seconds from one word of progress to the next
_log = logging.getLogger(__name__)


async def aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of *function*, called on a thread, so that the event loop of all sessions goes on meanwhile."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def stoppable(function: Callable[[Progress], T], told: Callable[[float], None]) -> T:
    """:func:`aside` for what tells how far it is: *told* hears it on the loop, now and then.

    Where the task that waits for it is cancelled, the work ends at the next thing that it tells.
    """
    loop, stopped = asyncio.get_running_loop(), Event()
    last = monotonic()

    def progress(share: float) -> None:
        nonlocal last
        if stopped.is_set():
            raise CancelledError
        if monotonic() - last >= _TELLING:
            last = monotonic()
            loop.call_soon_threadsafe(told, share)

    try:
        return await asyncio.to_thread(function, progress)
    except asyncio.CancelledError:
        stopped.set()
        raise


class Pulse:
    """Whether something has happened since it was last asked for."""

    def __init__(self) -> None:
        self._beaten = False

    def beat(self) -> None:
        """It happens."""
        self._beaten = True

    def felt(self) -> bool:
        """Whether it has happened since this was last called."""
        beaten, self._beaten = self._beaten, False
        return beaten


SAID = Pulse()
"""Beats whenever a browser says something to this process."""


class Errands:
    """The tasks of a session. What one of them raises is reported, never lost; ``close`` ends them all."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, errand: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run *errand* until it is done or the session ends."""
        task = asyncio.get_running_loop().create_task(self._carry_out(errand))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: errand.close())  # one that was ended before it began
        return task

    def on(self, then: Callable[..., Coroutine[Any, Any, None] | None]) -> Callable[..., None]:
        """*then*, for who calls back: what it leaves to be awaited is an errand.

        Param and Panel would take a coroutine function, and have Bokeh call it at the next tick. Bokeh's callbacks hold
        themselves: what they were given stays in memory until a garbage collection.
        """

        def call(*said: object) -> None:
            errand = then(*said)
            if errand is not None:
                self.start(errand)

        return call

    def close(self) -> None:
        """End everything that runs; may be called from outside the loop."""
        for task in tuple(self._tasks):
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def _carry_out(self, errand: Coroutine[Any, Any, None]) -> None:
        try:
            await errand
        except Exception as error:  # noqa: BLE001 - the border of a session: reported, the page goes on
            self._report(error)


class Newest:
    """Does one job again and again: never two at once, and however often it was asked for meanwhile, once more."""

    def __init__(self, job: Callable[[], Awaitable[None]]) -> None:
        self._job = job
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have the job done with what is known now; from the session's loop."""
        self._asked.set()

    async def serve(self) -> None:
        """Do what is asked for, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self._job()
