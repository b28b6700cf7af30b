"""Garbage is collected when nobody waits for a text, and not never."""

from __future__ import annotations

import asyncio

from marginalia.ui.tidying import tidy


async def looks(number: int, *, busy: bool, small: int) -> int:
    """How many full collections *number* looks end in."""
    done: list[int] = []
    asked = 0

    def collected() -> int:
        nonlocal asked
        asked += 1
        return small

    def collect() -> None:
        done.append(asked)

    task = asyncio.create_task(
        tidy(lambda: busy, every=0, calm=2, at_most=5, collected=collected, collect=collect)
    )
    while asked < number:  # noqa: ASYNC110 - it is looks of a loop that are counted
        await asyncio.sleep(0)
    task.cancel()
    return len(done)


async def test_nothing_is_collected_while_somebody_waits() -> None:
    assert await looks(4, busy=True, small=100) == 0


async def test_it_is_done_all_the_same_when_somebody_always_waits() -> None:
    assert await looks(10, busy=True, small=100) == 2


async def test_when_nobody_waited_for_a_while_it_is_done() -> None:
    assert await looks(8, busy=False, small=100) == 4


async def test_without_enough_to_look_at_nothing_is_done() -> None:
    assert await looks(20, busy=False, small=9) == 0
