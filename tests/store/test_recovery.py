"""What a crash leaves behind: nothing that was acknowledged is lost, and what was streaming becomes a partial part."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from marginalia.pipeline.ports import Opened
from marginalia.store import Store
from marginalia.story.parts import Part
from marginalia.values import Book, Regenerate, Swipe
from tests.store.helpers import open_store, opening, receipt

ROOT = Path(__file__).parents[2]
KILLS = 5


def acknowledged(lines: Iterator[str], count: int) -> dict[int, str]:
    """The last text that was acknowledged for each part, over that many lines."""
    texts: dict[int, str] = {}
    for _, line in zip(range(count), lines, strict=False):
        _, number, text = line.rstrip("\n").split(" ", 2)
        texts[int(number)] = text
    return texts


def run_and_kill(file: Path, lines: int) -> dict[int, str]:
    command = [sys.executable, "-m", "tests.store.crash_worker", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        texts = acknowledged(worker.stdout, lines)
        worker.send_signal(signal.SIGKILL)
        texts |= acknowledged(worker.stdout, 10_000)
    return texts


def test_nothing_that_was_acknowledged_is_lost_over_kills(file: Path) -> None:
    random = Random(7)
    told: dict[int, str] = {}
    for _ in range(KILLS):
        told |= run_and_kill(file, random.randrange(1, 12))
        store = open_store(file)
        try:
            book = store.books.all()[0]
            stored = {part.id: part for part in store.story.parts(book)}
            for number, text in told.items():
                assert text.split()[:2] == stored[number].text.split()[:2]
                assert len(stored[number].text) >= len(text)
            assert not store._desk.database.read(lambda session: session.rows("SELECT * FROM draft"))
            assert all(part.text for part in stored.values())
            assert store.books.get(book).active_leaf in stored
        finally:
            store.close()


@pytest.fixture
def begun(file: Path) -> Iterator[tuple[Store, Book, Part]]:
    store = open_store(file)
    book = store.books.set_variables(store.books.create(name="B"), {"laps": "4"})
    part = store.story.append(book, "Snow fell.", receipt=receipt("order"))
    yield store, book, part
    store.close()


async def reopened(store: Store, file: Path, opened: Opened, text: str) -> Store:
    """As after a crash: the draft is there, nobody closed the part."""
    if text:
        await store.archive.checkpoint(replace(opened.part, text=text, reasoning="thought it over"))
    store.close()
    return open_store(file)


async def test_streamed_text_becomes_a_partial_part(begun: tuple[Store, Book, Part], file: Path) -> None:
    store, book, part = begun
    opened = await store.archive.open_part(opening(book, parent=part.id))
    again = await reopened(store, file, opened, "So far and")
    kept = again.story.part(opened.part.id)
    assert (kept.text, kept.partial, kept.tokens, kept.words) == ("So far and", True, 3, 3)
    assert (kept.reasoning, kept.reasoning_tokens) == ("thought it over", 3)
    assert (kept.turn, kept.background_lore) == (opened.part.turn, "The ford is deep.")
    assert again.story.receipt(kept) == receipt("Write well.", "Go on.")
    assert again.books.get(book).active_leaf == kept.id
    assert again.books.get(book).global_variables == {"laps": "5"}
    again.close()


async def test_a_new_part_without_text_is_taken_back(begun: tuple[Store, Book, Part], file: Path) -> None:
    store, book, part = begun
    opened = await store.archive.open_part(opening(book, parent=part.id))
    again = await reopened(store, file, opened, "")
    assert again.story.parts(book) == (part,)
    assert again.books.get(book).active_leaf == part.id
    assert again.books.get(book).global_variables == {"laps": "4"}
    again.close()


async def test_a_swipe_without_text_goes_back_to_where_one_was(
    begun: tuple[Store, Book, Part], file: Path
) -> None:
    store, book, part = begun
    opened = await store.archive.open_part(opening(book, Swipe(part)))
    again = await reopened(store, file, opened, "")
    assert again.story.parts(book) == (part,)
    assert again.books.get(book).active_leaf == part.id
    again.close()


async def test_a_regenerate_without_text_gives_the_old_part_back(
    begun: tuple[Store, Book, Part], file: Path
) -> None:
    store, book, part = begun
    opened = await store.archive.open_part(opening(book, Regenerate(part)))
    again = await reopened(store, file, opened, " ")
    assert again.story.part(part) == part
    assert again.story.receipt(part) == receipt("order")
    again.close()


async def test_a_regenerate_with_text_keeps_the_old_one_as_a_revision(
    begun: tuple[Store, Book, Part], file: Path
) -> None:
    store, book, part = begun
    opened = await store.archive.open_part(opening(book, Regenerate(part)))
    again = await reopened(store, file, opened, "So far")
    assert [each.text for each in again.story.revisions(part)] == ["Snow fell.", "So far"]
    again.close()
