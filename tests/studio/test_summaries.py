from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import anyio
import pytest

import marginalia as mg
from marginalia.errors import Busy, Refused
from marginalia.story.parts import Part
from marginalia.testing import Pause, ScriptedServer, Stream, WordTokenizer


class World(NamedTuple):
    studio: mg.Studio
    book: mg.Book
    parts: list[Part]
    server: ScriptedServer


@pytest.fixture
async def world() -> AsyncIterator[World]:
    with ScriptedServer() as server:
        studio = mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=())
        provider = studio.providers.create(name="P", base_url=server.base_url, model="m", max_context=4000)
        book = studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
        parts = [studio.story.append(book, f"Text {number}.") for number in range(3)]
        yield World(studio, book, parts, server)
        await studio.aclose()


async def test_a_summary_is_heard_while_it_is_written() -> None:
    with ScriptedServer([Stream("Cold ", "start.")]) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            provider = studio.providers.create(
                name="P", base_url=server.base_url, model="m", max_context=4000
            )
            book = studio.books.create(
                name="B", provider=provider, protocol=studio.protocols.create(name="P")
            )
            part = studio.story.append(book, "Snow fell.")
            heard: list[str] = []
            summary = await studio.summaries.create(book, part, listen=heard.append)
            assert heard == ["Cold ", "start."]
            assert summary.text == "Cold start."


async def test_a_summary_goes_on_when_nobody_watches_and_is_seen_and_stopped_from_elsewhere(
    world: World,
) -> None:
    studio, book, parts, _ = world
    world.server.script(Stream("Cold ", Pause(30), "start."), Stream("Cold again."))
    job = studio.summaries.start(book, parts[0])
    assert studio.summaries.running(book) is job
    with pytest.raises(Busy, match="is being written already"):
        await studio.summaries.create(book, parts[1])
    seen = 0
    while job.text != "Cold ":
        seen = await job.changed(seen)
    job.stop()
    with pytest.raises(Refused, match="was stopped"):
        await job.settled()
    assert (studio.summaries.running(book), studio.summaries.of(parts[0])) == (None, None)
    again = studio.summaries.start(book, parts[0])
    assert [each.text for each in await again.settled()] == ["Cold again."]


async def test_a_book_says_when_a_summary_begins_and_ends(world: World) -> None:
    studio, book, parts, _ = world
    world.server.script(Stream("Cold."))
    before = studio.version(book)
    job = studio.summaries.start(book, parts[0])
    assert await studio.changed(book, before) > before
    await job.settled()
    assert await studio.changed(book, before + 1) > before + 1


async def test_writing_anew_is_heard_summary_by_summary(world: World) -> None:
    studio, book, parts, _ = world
    world.server.script(Stream("one"), Stream("two"), Stream("new ", "one"), Stream("new two"))
    for part in parts[:2]:
        await studio.summaries.create(book, part)
    for part in parts[:2]:
        studio.story.edit(part, "Something else.")
    heard: list[str] = []
    made = await studio.summaries.remake(book, listen=heard.append)
    assert heard == ["new ", "one", "new two"]
    assert [each.text for each in made] == ["new one", "new two"]


async def test_stopping_in_the_middle_of_writing_anew_leaves_every_summary_there_was(world: World) -> None:
    studio, book, parts, _ = world
    world.server.script(
        Stream("one"), Stream("two"), Stream("both"), Stream("new one"), Stream("n", Pause(30), "w")
    )
    for part in parts[:2]:
        await studio.summaries.create(book, part)
    await studio.summaries.merge(book, parts[1], parts[0])
    for part in parts[:2]:
        studio.story.edit(part, "Something else.")
    job = studio.summaries.start_remake(book)
    seen = 0
    while not job.made or job.text != "n":
        seen = await job.changed(seen)
    job.stop()
    with pytest.raises(Refused):
        await job.settled()
    (meta,) = studio.summaries.overview(book)
    assert meta.summary.text == "both"
    assert [child.summary.text for child in meta.children] == ["new one", "two"]


async def test_what_is_being_written_ends_with_the_studio(world: World) -> None:
    world.server.script(Stream("Cold ", Pause(30), "start."))
    job = world.studio.summaries.start(world.book, world.parts[0])
    await job.changed(0)
    await world.studio.aclose()
    assert (job.ended, job.stopped, job.made) == (True, True, ())


async def test_who_waits_and_is_cancelled_stops_the_summary(world: World) -> None:
    world.server.script(Stream("Cold ", Pause(30), "start."))
    with anyio.move_on_after(0.3):
        await world.studio.summaries.create(world.book, world.parts[0])
    assert world.studio.summaries.running(world.book) is None
    assert world.studio.summaries.of(world.parts[0]) is None
