"""Work on a thread that says how far it is, and that ends when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from threading import Event
from time import sleep

import pytest

from marginalia.ui import work
from marginalia.ui.work import stoppable
from marginalia.values import Progress


async def test_it_is_heard_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_TELLING", 0.0)
    heard: list[float] = []

    def count(progress: Progress) -> str:
        for share in (0.0, 0.5, 1.0):
            progress(share)
        return "done"

    assert await stoppable(count, heard.append) == "done"
    await asyncio.sleep(0)
    assert heard == [0.0, 0.5, 1.0]


async def test_work_that_nobody_waits_for_ends_at_the_next_thing_it_tells() -> None:
    begun, ended = Event(), Event()

    def count(progress: Progress) -> None:
        begun.set()
        try:
            while True:
                progress(0.5)
                sleep(0.001)
        finally:
            ended.set()

    task = asyncio.create_task(stoppable(count, lambda _share: None))
    assert await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)
