"""A number that only grows, and waiting for it to grow.

How views follow a run without a task or a queue per chunk.
"""

from __future__ import annotations

import asyncio
from threading import Lock


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread, if there is one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Beacon:
    """Counts changes; waiters are woken once however many changes came meanwhile.

    ``flash`` may be called from any thread, and waiters may live on different event loops (a notebook's
    kernel and the server in its thread).
    """

    __slots__ = ("_lock", "_version", "_waiters")

    def __init__(self) -> None:
        self._version = 0
        self._lock = Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def version(self) -> int:
        """How many changes there were so far."""
        return self._version

    def flash(self) -> None:
        """Tell everybody who waits that something changed."""
        with self._lock:
            self._version += 1
            if not self._waiters:
                return
            waiters, self._waiters = self._waiters, []
        for loop, future in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, future)

    async def after(self, seen: int) -> int:
        """The version, as soon as it is greater than *seen*."""
        while True:
            with self._lock:
                if self._version > seen:
                    return self._version
                loop = asyncio.get_running_loop()
                future: asyncio.Future[None] = loop.create_future()
                self._waiters.append((loop, future))
            try:
                await future
            finally:
                self._forget(future)

    def _forget(self, future: asyncio.Future[None]) -> None:
        with self._lock:
            self._waiters = [waiter for waiter in self._waiters if waiter[1] is not future]


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
