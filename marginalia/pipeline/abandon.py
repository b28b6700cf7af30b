"""Running functions that may never come back, in threads that nobody has to wait for.

A thread of a pool would be waited for: one call that hangs would keep the whole program from ending. These are not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Job: TypeAlias = Callable[[], None]


async def in_a_thread_of_its_own(function: Callable[..., T], *arguments: object) -> T:
    """What *function* gives or raises; when this is cancelled, the function is left alone."""
    answer, job = _job(function, arguments)
    Thread(target=job, name="marginalia extension", daemon=True).start()
    return await answer


class Workers:
    """Threads for many short calls: each is used again, unless its call was given up. As many as calls at once."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """What *function* gives or raises; when this is cancelled, the function is left alone with its thread."""
        answer, job = _job(function, arguments)
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker()
        worker.jobs.put(job)
        try:
            return await answer
        finally:
            if answer.cancelled():
                worker.jobs.put(None)  # it ends, should it ever come back
            else:
                self._idle.append(worker)

    def close(self) -> None:
        """End the threads that have nothing to do."""
        while self._idle:
            self._idle.pop().jobs.put(None)


class _Worker:
    """A thread that does one job after the other until it gets ``None``."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        Thread(target=self._work, name="marginalia extension", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()


def _job(function: Callable[..., T], arguments: tuple[object, ...]) -> tuple[asyncio.Future[T], Job]:
    """A future on this loop, and what settles it from another thread."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - without an error there is a value
        elif isinstance(error, StopIteration):
            answer.set_exception(RuntimeError("it raised StopIteration"))
        else:
            answer.set_exception(error)

    def work() -> None:
        value, failure = None, None
        try:
            value = context.run(function, *arguments)
        except BaseException as error:  # noqa: BLE001 - whatever it raises belongs to the one who waits
            failure = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, value, failure)

    return answer, work
