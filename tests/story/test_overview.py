"""The overview of summaries: what they merged, why they are stale, and making those anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest

import marginalia as mg
from marginalia.story.overview import Stale, SummaryNode
from marginalia.testing import Pause, ScriptedServer, Status, Stream
from tests.worlds import scripted, studio_in_memory


@dataclass
class World:
    studio: mg.Studio
    server: ScriptedServer
    book: mg.Book
    parts: list[mg.Part]

    async def summarise(self, *numbers: int) -> None:
        for number in numbers:
            self.server.script(Stream(f"s{number}"))
            await self.studio.summaries.create(self.book, self.parts[number - 1])

    async def merge(self, newest: int, oldest: int, text: str) -> None:
        self.server.script(Stream(text))
        await self.studio.summaries.merge(self.book, self.parts[newest - 1], self.parts[oldest - 1])

    def shown(self) -> list[Any]:
        return [shape(node) for node in self.studio.summaries.overview(self.book)]

    def stale(self) -> dict[str, Stale]:
        nodes = self.studio.summaries.overview(self.book)
        return {node.summary.text: node.stale for node in nodes if node.stale is not None}


def shape(node: SummaryNode) -> tuple[Any, ...]:
    name = f"{node.summary.text}{' replaced' if node.replaced else ''}"
    return (node.number, name, *(shape(child) for child in node.children))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with ScriptedServer([Stream("Done.")]) as server:
        studio = studio_in_memory()
        book = studio.books.create(
            name="B", provider=scripted(studio, server), protocol=studio.protocols.create(name="Plain")
        )
        parts = [studio.story.append(book, f"Text {number}.") for number in range(1, 9)]
        yield World(studio, server, book, parts)
        await studio.aclose()


async def test_merged_summaries_are_children_and_every_summary_is_shown_once(world: World) -> None:
    await world.summarise(2, 4, 6, 8)
    assert world.shown() == [(2, "s2"), (4, "s4"), (6, "s6"), (8, "s8")]
    await world.merge(4, 2, "A")
    await world.merge(8, 6, "B")
    a = (4, "A", (2, "s2"), (4, "s4 replaced"))
    assert world.shown() == [a, (8, "B", (6, "s6"), (8, "s8 replaced"))]
    await world.merge(8, 4, "C")
    assert world.shown() == [(8, "C", a, (8, "B replaced", (6, "s6"), (8, "s8 replaced")))]


async def test_what_a_summary_saves_is_told(world: World) -> None:
    await world.summarise(4)
    (node,) = world.studio.summaries.overview(world.book)
    assert (node.story_tokens, node.summary.tokens) == (8, 1)
    assert node.parts == tuple(part.id for part in reversed(world.parts[:4]))


async def test_an_edit_makes_a_summary_stale_at_once_and_its_undoing_fresh_again(world: World) -> None:
    await world.summarise(4, 8)
    assert world.stale() == {}
    world.studio.story.edit(world.parts[1], "Other.")
    assert world.stale() == {"s4": Stale(parts=(world.parts[1].id,), numbers=(2,))}
    assert str(world.stale()["s4"]) == "Part 2 is not what it was made from."
    world.studio.story.undo(world.book)
    assert world.stale() == {}


async def test_deleted_and_inserted_texts_are_told_apart(world: World) -> None:
    await world.summarise(4)
    world.studio.story.delete(world.parts[1])
    assert world.stale() == {"s4": Stale(missing=1)}
    assert str(world.stale()["s4"]) == "1 of the texts that it was made from is gone."
    world.studio.story.undo(world.book)
    world.studio.story.split(world.parts[2], 4)
    assert [each.numbers for each in world.stale().values()] == [(3, 4)]
    assert str(world.stale()["s4"]) == "Parts 3, 4 are not what it was made from."


async def test_a_summary_of_another_origin_is_stale_without_a_reason(world: World) -> None:
    await world.summarise(4)
    summary = world.studio.summaries.of(world.parts[3])
    assert summary is not None
    world.studio._store.summaries.attach(replace(summary, extra={}, source_hash="elsewhere"))
    assert world.stale() == {"s4": Stale()}
    assert "was changed" in str(world.stale()["s4"])


async def test_an_edited_summary_inside_a_meta_summary_makes_that_stale(world: World) -> None:
    await world.summarise(2, 4)
    await world.merge(4, 2, "A")
    world.studio.summaries.edit(world.parts[1], "other")
    assert world.stale() == {"A": Stale(parts=(world.parts[1].id,), numbers=(2,))}


async def test_only_the_stale_ones_are_made_anew(world: World) -> None:
    await world.summarise(2, 4, 6, 8)
    await world.merge(4, 2, "A")
    fresh = world.studio.summaries.of(world.parts[7])
    world.studio.story.edit(world.parts[0], "Other.")
    world.server.script(Stream("new s2"), Stream("new A"))
    made = await world.studio.summaries.remake(world.book)
    assert [each.text for each in made] == ["new s2", "new A"]
    assert world.stale() == {}
    assert world.shown() == [(4, "new A", (2, "new s2"), (4, "s4 replaced")), (6, "s6"), (8, "s8")]
    assert world.studio.summaries.of(world.parts[7]) == fresh
    assert await world.studio.summaries.remake(world.book) == ()


async def test_a_summary_that_cannot_be_made_anew_is_put_back(world: World) -> None:
    await world.summarise(4)
    world.studio.story.edit(world.parts[0], "Other.")
    world.server.script(Status(400, {"error": {"message": "no"}}))
    with pytest.raises(mg.ModelError):
        await world.studio.summaries.remake(world.book)
    assert list(world.stale()) == ["s4"]


async def test_stopping_puts_the_stale_one_back(world: World) -> None:
    await world.summarise(4)
    world.studio.story.edit(world.parts[0], "Other.")
    world.server.script(Stream("a", Pause(30), "b"))
    with anyio.move_on_after(0.5):
        await world.studio.summaries.remake(world.book)
    assert list(world.stale()) == ["s4"]


async def test_a_blank_answer_is_a_failure_and_leaves_no_summary(world: World) -> None:
    world.server.script(Stream("  \n"))
    with pytest.raises(mg.ModelError, match="empty summary"):
        await world.studio.summaries.create(world.book, world.parts[3])
    assert world.studio.summaries.overview(world.book) == ()
