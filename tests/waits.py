"""How long an event loop had to wait, and how long anything at all had to wait on this machine meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

TICK = 0.005
_NEIGHBOUR = f"""
import select, sys, time
longest = 0.0
while True:
    start = time.perf_counter()
    if select.select([sys.stdin], [], [], {TICK})[0]:
        break
    longest = max(longest, time.perf_counter() - start - {TICK})
print(longest)
"""


@dataclass(slots=True)
class Waits:
    """The waits of this loop, and the longest of a process that had nothing else to do; in seconds."""

    ours: list[float] = field(default_factory=list[float])
    machine: float = 0.0

    @property
    def longest(self) -> float:
        """The longest wait of this loop."""
        return max(self.ours, default=0.0)


def _neighbour() -> subprocess.Popen[str]:
    command = [sys.executable, "-S", "-c", _NEIGHBOUR]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@asynccontextmanager
async def heartbeat() -> AsyncIterator[Waits]:
    """Measures until the block ends."""
    waits, done = Waits(), anyio.Event()
    neighbour = await anyio.to_thread.run_sync(_neighbour)

    async def beat() -> None:
        while not done.is_set():
            start = time.perf_counter()
            await anyio.sleep(TICK)
            waits.ours.append(time.perf_counter() - start - TICK)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        try:
            yield waits
        finally:
            done.set()
            told, _ = await anyio.to_thread.run_sync(neighbour.communicate)
            waits.machine = float(told)


async def wait_beside(work: Callable[[], Awaitable[object]], *, enough: float = 0.1, tries: int = 3) -> float:
    """The longest wait of this loop while *work* goes on, without what the machine made everybody wait; in seconds.

    A loop that is held up is so every time, a busy machine is not: what is too long is measured again.
    """
    longest = float("inf")
    for _ in range(tries):
        async with heartbeat() as waits:
            await work()
        longest = min(longest, waits.longest - 2 * waits.machine)
        if longest < enough:
            break
    return longest
