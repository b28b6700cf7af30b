"""The schedule of database copies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

import marginalia as mg
from marginalia.errors import NotFound, StoreError
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


def test_a_book_comes_back_out_of_a_copy_beside_the_one_that_is_there(tmp_path: Path) -> None:
    with mg.Studio(tmp_path / "m.db", tokenizer=WordTokenizer(), extensions=()) as studio:
        book = studio.books.create(name="Ferry")
        part = studio.story.append(book, "Ada waits at the quay.")
        copy = studio.copies.take()
        studio.story.edit(part, "Nobody waits.")
        (found,) = studio.copies.books(copy)
        assert (found.uid, found.name, found.words, found.parts) == (book.uid, "Ferry", 5, 1)
        back = studio.books.clone(studio.copies.take_out(copy, found.uid), name="Ferry, as it was")
        assert studio.story.branch(back)[-1].text == "Ada waits at the quay."
        assert studio.story.branch(book)[-1].text == "Nobody waits."
        assert [each.path for each in studio.copies.all()] == [copy.path]
        assert [each.name for each in copy.path.parent.iterdir()] == [copy.path.name]
        with pytest.raises(NotFound, match="another one"):
            studio.copies.take_out(copy, "gone")


def test_copies_are_shown_to_the_owner_and_hold_only_the_own_books_of_whoever_looks(tmp_path: Path) -> None:
    with mg.Studio(tmp_path / "m.db", tokenizer=WordTokenizer(), extensions=()) as studio:
        studio.books.create(name="Ferry")
        guest = studio.for_user("elias")
        guest.books.create(name="Guest's")
        copy = studio.copies.take()
        assert studio.copies.owner
        assert not guest.copies.owner
        assert [each.name for each in studio.copies.books(copy)] == ["Ferry"]
        assert [each.name for each in guest.copies.books(copy)] == ["Guest's"]
        guest.close()


def test_a_copy_that_is_gone_is_told_in_a_sentence(tmp_path: Path) -> None:
    with mg.Studio(tmp_path / "m.db", tokenizer=WordTokenizer(), extensions=()) as studio:
        copy = studio.copies.take()
        copy.path.unlink()
        with pytest.raises(StoreError, match="could not be opened"):
            studio.copies.books(copy)
