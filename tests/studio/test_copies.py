"""The schedule of database copies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

import marginalia as mg
from marginalia.errors import StoreError
from marginalia.testing import WordTokenizer

START = datetime(2027, 1, 1, 10, 0, tzinfo=UTC)
SOON = timedelta(seconds=0.05)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


async def test_the_schedule_takes_copies_one_after_the_other(tmp_path: Path) -> None:
    with mg.Studio(tmp_path / "m.db", tokenizer=WordTokenizer(), clock=Clock(), extensions=()) as studio:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(studio.copies.keep_taking, every=SOON))
            with anyio.fail_after(60):
                while len(studio.copies.all()) < 2:  # noqa: ASYNC110 - files tell no event
                    await anyio.sleep(0.02)
            group.cancel_scope.cancel()
        assert all(copy.taken > START for copy in studio.copies.all())


async def test_a_copy_that_fails_does_not_end_the_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with mg.Studio(tmp_path / "m.db", tokenizer=WordTokenizer(), extensions=()) as studio:
        take = studio.copies.take
        tries: list[int] = []

        def first_fails() -> object:
            tries.append(1)
            if len(tries) == 1:
                raise StoreError("no")
            return take()

        monkeypatch.setattr(studio.copies, "take", first_fails)
        async with anyio.create_task_group() as group:
            group.start_soon(partial(studio.copies.keep_taking, every=SOON))
            with anyio.fail_after(60):
                while not studio.copies.all():  # noqa: ASYNC110 - files tell no event
                    await anyio.sleep(0.02)
            group.cancel_scope.cancel()
    assert "could not be taken" in caplog.text
