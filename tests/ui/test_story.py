"""The writer's tools on a story: what the workbench does to it, and what views are told of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from marginalia import Studio
from marginalia.story.drawing import draw
from marginalia.story.tree import Node, StoryTree
from marginalia.testing import Pause, ScriptedServer, Stream
from marginalia.ui.desk import Desk
from marginalia.ui.telling import revision_rows, summaries_headline, summary_row, trash_rows
from marginalia.ui.treecards import moving_of
from marginalia.ui.treepicture import (
    folded_of,
    lines_of,
    map_of,
    mark_at,
    marks_of,
    neighbour,
    words_beside,
)
from marginalia.ui.views.tree import TreeView
from marginalia.ui.workbench import Workbench
from marginalia.values import Book, PartId


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
    for text in ("Ada rowed out.", "The bell rang.", "The fog came."):
        studio.story.append(book, text)
    return book


@pytest.fixture
async def desk(studio: Studio, book: Book) -> AsyncIterator[Desk]:
    desk = Desk(studio)
    await desk.open(book.id)
    yield desk
    desk.close()
    await asyncio.sleep(0)


@pytest.fixture
def bench(desk: Desk) -> Workbench:
    return Workbench(desk)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


async def test_a_hit_on_another_branch_is_found_marked_and_gone_to(
    bench: Workbench, desk: Desk, studio: Studio
) -> None:
    second = desk.shape.branch[1]
    other = studio.story.fork(second)
    studio.story.edit(other, "The gong sounded.")
    await bench.search("GONG")
    assert [(row.part, row.number, row.excerpt) for row in bench.found.rows] == [
        (other.id, 0, "The gong sounded.")
    ]
    assert bench.found.words == ("gong",)
    await bench.read(other.id)
    assert desk.shape.leaf == other.id
    assert desk.show == 2


async def test_words_are_marked_only_where_something_was_found(bench: Workbench) -> None:
    await bench.search("bell dragon")
    assert bench.found.total == 0
    assert bench.found.words == ()


async def test_of_two_searches_the_one_asked_for_last_is_shown(bench: Workbench) -> None:
    await asyncio.gather(bench.search("bell"), bench.search("fog"))
    assert bench.found.query == "fog"


async def test_steps_go_back_and_forth_and_say_what_they_were(bench: Workbench, desk: Desk) -> None:
    await bench.merge(desk.shape.branch[2])
    assert len(desk.shape.branch) == 2
    await bench.undo()
    assert len(desk.shape.branch) == 3
    assert desk.trouble.text == "Undone: merging two parts."
    await bench.redo()
    assert len(desk.shape.branch) == 2
    await bench.redo()
    assert desk.trouble.text == "There is nothing to redo."


async def test_a_part_is_split_with_what_was_typed_in_it_before(
    bench: Workbench, desk: Desk, studio: Studio
) -> None:
    await bench.split(desk.shape.branch[1], "The bell rang twice. Then no more.", 20)
    texts = [studio.story.part(part).text for part in desk.shape.branch]
    assert texts[1:3] == ["The bell rang twice.", "Then no more."]


async def test_to_continue_from_an_inner_part_makes_it_the_end(bench: Workbench, desk: Desk) -> None:
    first = desk.shape.branch[0]
    await bench.continue_from(first)
    assert desk.shape.branch == (first,)


async def test_a_summary_streams_and_can_be_stopped_without_a_trace(
    bench: Workbench, desk: Desk, server: ScriptedServer, studio: Studio
) -> None:
    server.script(Stream("They ", "rowed ", Pause(30), "away."))
    bench.summaries.create(desk.shape.leaf)
    await until(lambda: bench.summaries.now is not None and "They" in bench.summaries.now.written)
    bench.summaries.stop()
    await until(lambda: bench.summaries.now is None)
    assert studio.summaries.overview(desk.book.id) == ()
    assert desk.trouble.text == ""


async def test_another_window_sees_a_summary_being_written_and_can_stop_it(
    desk: Desk, server: ScriptedServer, studio: Studio
) -> None:
    windows: list[tuple[Desk, Workbench]] = []
    for _ in range(2):
        one = Desk(studio)
        windows.append((one, Workbench(one)))
        await one.open(desk.book.id)
    (first, bench), (second, other) = windows
    server.script(Stream("They ", "rowed ", Pause(30), "away."))
    bench.summaries.create(desk.shape.leaf)
    await until(lambda: other.summaries.now is not None and "rowed" in other.summaries.now.written)
    assert other.summaries.now.text == "Summarising up to #3"
    other.summaries.create(desk.shape.leaf)
    assert "already" in second.trouble.text
    first.close()
    await asyncio.sleep(0)
    job = studio.summaries.running(desk.book.id)
    assert job is not None
    other.summaries.stop()
    await until(lambda: other.summaries.now is None)
    assert (job.stopped, studio.summaries.running(desk.book.id)) == (True, None)
    second.close()


async def test_a_book_that_is_deleted_in_another_window_makes_room_for_another_one(
    desk: Desk, studio: Studio
) -> None:
    gone, other = desk.book, studio.books.create(name="Other")
    studio.books.delete(gone)
    await until(lambda: desk.book is not None and desk.book.id == other.id)
    await until(lambda: desk.shape is not None and not desk.shape.branch)
    studio.story.append(other, "The desk keeps up with it.")  # as it does only while it watches
    await until(lambda: len(desk.shape.branch) == 1)
    studio.books.delete(other)
    await until(lambda: desk.book is None)
    assert desk.wished is not None


async def test_what_was_done_is_told_calmly_and_what_went_wrong_is_not(bench: Workbench, desk: Desk) -> None:
    await bench.merge(desk.shape.branch[2])
    await bench.undo()
    assert (desk.trouble.text, desk.trouble.calm) == ("Undone: merging two parts.", True)
    await desk.delete(desk.shape.branch[2])
    assert desk.trouble.shown()["calm"]
    await bench.merge(desk.shape.branch[0])
    assert (bool(desk.trouble.text), desk.trouble.calm) == (True, False)


async def test_summaries_are_told_with_what_they_save_and_why_they_are_stale(
    bench: Workbench, desk: Desk, server: ScriptedServer, studio: Studio
) -> None:
    server.script(Stream("Ada rows."), Stream("Fog."), Stream("All of it."))
    for part in (desk.shape.branch[1], desk.shape.branch[2]):
        bench.summaries.create(part)
        await until(lambda: bench.summaries.now is None)
    studio.story.edit(desk.shape.branch[0], "Ada swam out.")
    nodes = studio.summaries.overview(desk.book.id)
    rows = [summary_row(node, desk.shape.branch) for node in nodes]
    assert [row["where"] for row in rows] == ["#1\u2013#2", "#3"]
    assert "Part 1" in rows[0]["stale"]
    assert rows[1]["stale"] == ""
    assert summaries_headline(nodes).startswith("2 summaries")
    bench.summaries.merge(desk.shape.branch[2], desk.shape.branch[1])
    await until(lambda: bench.summaries.now is None)
    (merged,) = studio.summaries.overview(desk.book.id)
    assert len(summary_row(merged, desk.shape.branch)["children"]) == 2


async def test_what_was_cut_off_is_kept_or_continued_without_what_is_typed(
    bench: Workbench, desk: Desk, server: ScriptedServer, studio: Studio
) -> None:
    server.script(Stream("The boat ", Pause(30), "sank."), Stream("drifted on."))
    await desk.generate()
    await until(lambda: desk.running and "boat" in desk.run.text)
    desk.stop()
    await until(lambda: not desk.running)
    part = desk.shape.leaf
    assert studio.story.part(part).partial
    desk.typed({"instructions": "Something else."})
    await bench.go_on(part)
    await until(lambda: len(desk.shape.branch) == 5 and not desk.running)
    assert not studio.story.part(part).partial
    asked = studio.story.part(desk.shape.leaf).turn.instructions
    assert asked is not None
    assert "breaks off" in asked
    assert desk.turn.instructions == "Something else."


async def test_revisions_and_trash_lead_back(bench: Workbench, desk: Desk, studio: Studio) -> None:
    part = desk.shape.branch[1]
    studio.story.edit(part, "The bell fell silent.")
    newest, oldest = revision_rows(studio.story.revisions(part), datetime.now(UTC))
    assert newest["current"]
    assert ["removed", " rang"] in oldest["pieces"]
    await bench.bring_back(part, oldest["id"])
    assert studio.story.part(part).text == "The bell rang."
    await desk.delete(part)
    (gone,) = trash_rows(studio.story.trash(desk.book.id))
    assert gone["words"] == "The bell rang."
    await bench.restore(PartId(gone["id"]))
    assert part in desk.shape.branch


async def test_another_book_has_nothing_found_yet(bench: Workbench, desk: Desk, studio: Studio) -> None:
    await bench.search("bell")
    await desk.open_book(studio.books.create(name="Other").id)
    assert bench.found.total == 0


def forked() -> StoryTree:
    parents = {1: None, 2: 1, 3: 2, 4: 1, 5: 4}
    return StoryTree(
        Node(id=PartId(part), parent_id=PartId(parent) if parent else None, text_id=part)
        for part, parent in parents.items()
    )


def test_the_picture_has_a_mark_for_every_part_and_a_line_to_what_it_follows() -> None:
    drawing = draw(forked(), active=PartId(3))
    marks, lines = marks_of(drawing, {PartId(5)}), lines_of(drawing)
    assert len(marks["x"]) == 5
    assert {len(column) for column in lines.values()} == {6}  # one of the four is bent
    assert {len(column) for column in marks.values()} == {5}
    assert sum(halo != 0 for halo in marks["halo"]) == 1


def test_what_is_folded_is_drawn_with_its_number_and_says_which_mark_it_is() -> None:
    above = {1: 0} | {part: part - 1 for part in range(2, 12)} | {20: 11, 21: 11, 22: 11}
    tree = StoryTree(
        Node(id=PartId(part), parent_id=PartId(up) if up else None, label="Here" if part == 9 else "")
        for part, up in above.items()
    )
    drawing = draw(tree, active=PartId(11))
    folded = folded_of(drawing)
    assert [drawing.marks[int(at)].kind for at in folded["at"]] == ["run", "stack"]
    assert (folded["form"], folded["inside"]) == (["hex", "square"], ["8", "2"])
    assert words_beside(drawing)["words"] == ["Here"]
    shown = {
        mark.kind for mark, size in zip(drawing.marks, marks_of(drawing, ())["size"], strict=True) if size
    }
    assert shown == {"part"}


def test_thousands_of_marks_are_sent_as_arrays() -> None:
    tree = StoryTree(
        Node(id=PartId(part), parent_id=PartId(part - 1) if part > 1 else None) for part in range(1, 5_001)
    )
    drawing = draw(tree, fold_from=10_000)
    columns = [*marks_of(drawing, ()).values(), *lines_of(drawing).values(), *map_of(drawing).values()]
    assert all(isinstance(column, np.ndarray) for column in columns)
    assert all(len(column) == 0 for column in (*folded_of(drawing).values(), *words_beside(drawing).values()))


def test_a_place_in_the_picture_is_the_mark_that_stands_there() -> None:
    drawing = draw(forked(), active=PartId(3))
    for at, mark in enumerate(drawing.marks):
        assert mark_at(drawing, mark.lane + 0.2, mark.row - 0.2) == at
    assert mark_at(drawing, 0.5, 0.5) is None


def test_arrow_keys_walk_through_the_tree() -> None:
    drawing = draw(forked(), active=PartId(3))
    place = {mark.parts[0]: at for at, mark in enumerate(drawing.marks)}
    assert neighbour(drawing, place[PartId(1)], "down") == place[PartId(2)]
    assert neighbour(drawing, place[PartId(2)], "right") == place[PartId(4)]
    assert neighbour(drawing, place[PartId(4)], "left") == place[PartId(2)]
    assert neighbour(drawing, place[PartId(4)], "up") == place[PartId(1)]
    assert neighbour(drawing, place[PartId(1)], "up") == place[PartId(1)]
    assert neighbour(drawing, place[PartId(3)], "down") == place[PartId(3)]


async def test_a_branch_is_attached_elsewhere_in_one_step(
    bench: Workbench, desk: Desk, studio: Studio
) -> None:
    first, second, third = desk.shape.branch
    other = studio.story.append(desk.book, "Another shore.", parent=first)
    await desk.refresh()
    assert await bench.attach(second, other.id)
    assert desk.shape.tree.branch(third) == (first, other.id, second, third)
    assert (desk.trouble.text, desk.trouble.calm) == ("What was #2 now follows #2.", True)
    assert not await bench.attach(other.id, third)
    assert "cannot stand below itself" in desk.trouble.text
    await bench.undo()
    assert desk.trouble.text == "Undone: moving a part."
    assert desk.shape.tree.branch(third) == (first, second, third)
    assert await bench.attach(second, None)
    assert desk.shape.tree.branch(third) == (second, third)


async def test_a_part_is_written_by_hand_after_any_other(
    bench: Workbench, desk: Desk, studio: Studio
) -> None:
    first, *_ = desk.shape.branch
    begun = await bench.write_on(first)
    assert begun is not None
    assert desk.shape.branch == (first, begun)
    assert (studio.story.part(begun).text, studio.story.part(begun).model) == ("", "")
    await bench.undo()
    assert len(desk.shape.branch) == 3


async def test_places_that_cannot_be_attached_to_are_refused_with_a_sentence(
    desk: Desk, studio: Studio
) -> None:
    first, second, third = desk.shape.branch
    stack = [studio.story.append(desk.book, text, parent=first).id for text in ("A", "B")]
    await desk.refresh()
    drawing = draw(desk.shape.tree, active=third)
    said = {
        part: moving_of(desk.shape, second, mark)["refused"]
        for part in (first, second, third, stack[0])
        if (mark := drawing.find(part)) is not None
    }
    assert said[first] == "#2 stands below #1 already."
    assert said[second].startswith("This is #2 itself.")
    assert said[third] == "#3 follows #2 itself: a part cannot stand below what follows it."
    assert said[stack[0]] == "These are 2 versions: unfold them to choose one."
    loose = drawing.find(first)
    assert loose is not None
    assert moving_of(desk.shape, third, loose) == {
        "what": "#3",
        "below": "#1",
        "refused": "",
        "rooted": False,
    }


async def test_the_place_is_looked_for_with_the_keys_and_can_be_left(
    bench: Workbench, desk: Desk, studio: Studio
) -> None:
    first, second, third = desk.shape.branch
    view = TreeView(desk, bench)
    bench.side = 1
    await until(lambda: bool(view._plot.drawing.marks))

    async def say(what: str, **more: str) -> None:
        answer = view._card._heard[what](more)
        assert answer is not None
        await answer

    await say("walk", way="up")
    await say("move")
    assert view._card.card["moving"]["refused"].startswith("This is #3 itself.")
    await say("walk", way="up")
    await say("walk", way="up")
    assert view._card.card["moving"]["below"] == "#1"
    await say("cancel")
    assert view._card.card["moving"] is None
    assert desk.shape.branch == (first, second, third)


def test_the_map_has_one_stroke_per_line_however_long_it_is() -> None:
    above = {i: i - 1 for i in range(1, 2_001)} | {3_000 + i: 2_999 + i if i else 1_000 for i in range(500)}
    tree = StoryTree(
        Node(id=PartId(part), parent_id=PartId(up) if up else None) for part, up in above.items()
    )
    drawing = draw(tree, active=PartId(2_000), fold_from=10_000)
    strokes = map_of(drawing)
    drawn = sorted(zip(strokes["x0"], strokes["y0"], strokes["x1"], strokes["y1"], strict=True))
    assert drawn == [(0, 0, 0, 1_999), (0, 999, 1, 1_000), (1, 1_000, 1, 1_499)]
    assert len(map_of(draw(StoryTree()))["x0"]) == 0
