"""Garbage is collected in short moments, and all of it when nobody waits for a text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from marginalia.ui.tidying import tidy

ALL = "take back, collect, set aside"


@dataclass
class Collector:
    """Notes what it is told; ``small`` is what waits at each look, ``seconds`` what a collection takes."""

    small: int
    seconds: float = 0.001
    looks: int = 0
    done: list[str] = field(default_factory=list[str])

    def waiting(self) -> int:
        self.looks += 1
        return self.small

    def collect(self) -> float:
        self.done.append("collect")
        return self.seconds

    def set_aside(self) -> None:
        self.done.append("set aside")

    def take_back(self) -> None:
        self.done.append("take back")


async def told(collector: Collector, looks: int, *, busy: bool) -> str:
    """What *collector* is told in so many looks."""
    task = asyncio.create_task(tidy(lambda: busy, every=0, calm=3, at_most=5, garbage=collector))
    while collector.looks < looks:  # noqa: ASYNC110 - it is looks of a loop that are counted
        await asyncio.sleep(0)
    task.cancel()
    return ", ".join(collector.done)


async def test_what_is_new_is_collected_while_somebody_waits() -> None:
    assert await told(Collector(10), 3, busy=True) == "collect, collect, collect"


async def test_what_takes_long_to_look_through_is_not_looked_at_again() -> None:
    found = await told(Collector(10, seconds=0.03), 2, busy=True)
    assert found == "collect, set aside, collect, set aside"


async def test_everything_is_looked_at_in_a_pause() -> None:
    assert await told(Collector(10), 3, busy=False) == f"collect, collect, {ALL}"


async def test_a_pause_comes_once_and_not_at_every_look() -> None:
    collector = Collector(10)
    await told(collector, 3, busy=False)
    collector.small = 0
    assert await told(collector, 20, busy=False) == f"collect, collect, {ALL}"


async def test_everything_is_looked_at_some_time_even_if_somebody_always_waits() -> None:
    assert await told(Collector(10), 5, busy=True) == f"collect, collect, collect, collect, {ALL}"


async def test_without_enough_to_look_at_nothing_is_done() -> None:
    assert await told(Collector(9), 20, busy=False) == ""
