"""The desk follows the book whoever changes it, builds one prompt at a time, and never loses what was typed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from marginalia import Studio
from marginalia.testing import Pause, ScriptedServer, Status, Stream
from marginalia.ui.desk import Desk
from marginalia.ui.work import Newest
from marginalia.values import Book


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as server:
        yield server


@pytest.fixture
async def studio() -> AsyncIterator[Studio]:
    async with Studio(":memory:", extensions=()) as studio:
        yield studio


@pytest.fixture
def book(studio: Studio, server: ScriptedServer) -> Book:
    provider = studio.providers.create(
        name="Scripted", base_url=server.base_url, model="m", max_context=4096, max_response=200
    )
    book = studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
    studio.story.append(book, "Once.")
    return book


@pytest.fixture
async def desk(studio: Studio, book: Book) -> AsyncIterator[Desk]:
    desk = Desk(studio)
    await desk.open()
    yield desk
    desk.close()
    await asyncio.sleep(0)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


async def test_it_opens_the_book_and_measures_its_prompt(desk: Desk) -> None:
    await until(lambda: desk.prompt is not None)
    assert desk.book is not None
    assert desk.book.name == "B"
    assert len(desk.shape.branch) == 1
    assert desk.budget.fits


async def test_a_change_in_another_window_is_seen(desk: Desk, studio: Studio, book: Book) -> None:
    studio.story.append(book, "Twice.")
    await until(lambda: len(desk.shape.branch) == 2)


async def test_an_error_is_said_and_the_typed_text_stays(desk: Desk, server: ScriptedServer) -> None:
    server.script(Status(401, {"error": {"message": "no"}}))
    desk.typed({"instructions": "Go on."})
    await desk.generate()
    await until(lambda: bool(desk.trouble.text))
    assert desk.trouble.action == "model"
    assert desk.turn.instructions == "Go on."
    assert len(desk.shape.branch) == 1


async def test_a_second_desk_follows_the_same_run_and_may_stop_it(
    desk: Desk, studio: Studio, server: ScriptedServer
) -> None:
    server.script(Stream("One ", "two ", Pause(30), "three"))
    other = Desk(studio)
    await other.open()
    await desk.generate()
    await until(lambda: other.running and "two" in other.run.text)
    other.stop()
    await until(lambda: not desk.running and not other.running)
    assert studio.story.part(desk.shape.leaf).text.strip() == "One two"
    other.close()
    await asyncio.sleep(0)


async def test_what_is_deleted_is_offered_back(desk: Desk) -> None:
    part = desk.shape.leaf
    await desk.delete(part)
    assert desk.shape.branch == ()
    assert desk.trouble.action == "undo"
    await desk.act("undo")
    assert desk.shape.branch == (part,)


async def test_a_book_that_does_not_exist_opens_another_one(desk: Desk) -> None:
    await desk.open_book(987_654)
    assert desk.book is not None
    assert desk.book.name == "B"


async def test_jobs_never_overlap_and_the_newest_wish_is_met() -> None:
    running, most, done, wish = 0, 0, list[int](), 0

    async def job() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        mine = wish
        await asyncio.sleep(0.01)
        done.append(mine)
        running -= 1

    newest = Newest(job)
    task = asyncio.create_task(newest.serve())
    for wish in range(1, 40):  # noqa: B007 - the job reads it
        newest.ask()
        await asyncio.sleep(0.001)
    await until(lambda: bool(done) and done[-1] == 39)
    task.cancel()
    assert most == 1
    assert len(done) < 39


async def test_what_cannot_be_taken_back_is_said(desk: Desk, studio: Studio) -> None:
    part = desk.shape.leaf
    await desk.delete(part)
    studio.story.undelete(part)
    await desk.act("undo")
    assert desk.trouble.text
    assert desk.trouble.action != "undo"
