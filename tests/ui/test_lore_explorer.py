"""The explorer decides as the preview does, follows a draft, marks what it found, and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from marginalia import Match, Pattern, Studio, TextFilter, Turn, When
from marginalia.lore.book import Scope
from marginalia.studio.lore_map import Cell, story_map, with_row_again
from marginalia.studio.lore_story import Source
from marginalia.ui.desk import Desk
from marginalia.ui.explorer import Explorer, Findings
from marginalia.ui.marks import scanned
from marginalia.values import Book, EntryId


@pytest.fixture
async def studio() -> AsyncIterator[Studio]:
    async with Studio(":memory:", extensions=(), seed=7) as studio:
        yield studio


@pytest.fixture
def book(studio: Studio) -> Book:
    provider = studio.providers.create(
        name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=4096, max_response=200
    )
    world = studio.lorebooks.create(name="World", tags=("sea",))
    studio.lorebooks.add_entry(world, name="Varro", payload="He rows.", filter=TextFilter("varro"))
    studio.lorebooks.add_entry(
        world, name="Bell", payload="It rings.", match=Match(any=(Pattern(text="bell"),)), when=When(sticky=1)
    )
    protocol = studio.protocols.create(name="P")
    book = studio.books.create(name="B", provider=provider, protocol=protocol, lorebook=world, tags=("sea",))
    for instructions in ("Ada waits.", "A bell, far off.", "Nothing."):
        studio.story.append(book, f"{instructions} So it was.", turn=Turn(instructions=instructions))
    return book


@pytest.fixture
async def explorer(studio: Studio, book: Book) -> AsyncIterator[Explorer]:
    desk = Desk(studio)
    await desk.open(book.id)
    explorer = Explorer(desk)
    explorer.begin()
    await until(lambda: explorer.findings is not None)
    yield explorer
    desk.close()
    await asyncio.sleep(0)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


def states(explorer: Explorer) -> dict[str, str]:
    findings: Findings | None = explorer.findings
    return {row["name"]: row["state"] for row in findings.rows} if findings is not None else {}


async def test_it_says_what_the_preview_says(explorer: Explorer) -> None:
    explorer.desk.typed({"instructions": "Varro comes."})
    await until(lambda: states(explorer).get("Varro") == "in")
    findings: Findings = explorer.findings
    assert findings.verdicts == tuple(explorer.desk.prompt.lore)


async def test_a_draft_is_decided_without_being_stored(explorer: Explorer, studio: Studio) -> None:
    bell = next(each for each in entries(studio) if each.name == "Bell")
    explorer.desk.typed({"instructions": "A gong."})
    await until(lambda: states(explorer).get("Varro") == "out")
    explorer.try_out(replace(bell, match=Match(any=(Pattern(text="gong"),))))
    await until(lambda: states(explorer).get("Bell") == "in")
    assert entries(studio)[1] == bell
    explorer.open(None)
    await until(lambda: states(explorer).get("Bell") != "in")


async def test_an_entry_is_edited_with_its_own_tags_only(explorer: Explorer) -> None:
    findings: Findings = explorer.findings
    varro = findings.verdicts[0].entry
    assert varro.tags == ("sea",)
    stored = explorer.stored(varro.id)
    assert stored is not None
    assert stored.tags == ()


@pytest.mark.parametrize(
    ("source", "state"),
    [
        (Source(kind="pasted", text="The BELL!"), "in"),
        (Source(kind="part", number=2), "in"),
        (Source(kind="asked", number=2), "in"),
        (Source(kind="part", number=1), "out"),
        (Source(kind="end"), "in"),
        (Source(kind="part", number=99), "nearly"),
    ],
)
async def test_any_text_can_be_looked_at(explorer: Explorer, source: Source, state: str) -> None:
    before = explorer.findings
    explorer.look(source)
    await until(lambda: explorer.findings is not before)
    assert states(explorer)["Bell"] == state


async def test_the_words_that_call_an_entry_are_marked(explorer: Explorer) -> None:
    explorer.look(Source(kind="pasted", text="Bell, Varro, bell"))
    await until(lambda: states(explorer).get("Varro") == "in")
    findings: Findings = explorer.findings
    texts = scanned(findings.scan, findings.verdicts, None)
    assert "".join(text for text, _, _ in texts[0]["pieces"]) == "Bell, Varro, bell"
    assert [(text, names) for text, names, _ in texts[0]["pieces"] if names] == [
        ("Bell", "Bell"), ("Varro", "Varro"), ("bell", "Bell"),
    ]  # fmt: skip


async def test_the_map_runs_timed_effects_through_the_story(explorer: Explorer, studio: Studio) -> None:
    made = story_map(**pieces(explorer), shown=[each.id for each in entries(studio)], most=2, ended=Event())
    assert made is not None
    varro, bell = (each.id for each in entries(studio))
    assert (made.fired, made.last) == ({varro: 0, bell: 2}, {bell: 3})
    assert (made.first, made.parts) == (2, 3)
    assert [(cell.part, cell.active) for cell in made.cells if cell.row == 1] == [(2, True), (3, True)]


async def test_a_map_that_is_not_wanted_any_more_ends(explorer: Explorer) -> None:
    ended = Event()
    ended.set()
    assert story_map(**pieces(explorer), shown=[EntryId(1)], most=9, ended=ended) is None


async def test_the_row_of_a_draft_is_made_anew_at_once_where_no_other_entry_has_a_say(
    explorer: Explorer, studio: Studio
) -> None:
    shown = [each.id for each in entries(studio)]
    around = pieces(explorer) | {"ended": Event()}
    before = story_map(**around, shown=shown, most=9)
    assert before is not None
    bell = entries(studio)[1]
    for draft in (
        replace(bell, match=Match(any=(Pattern(text="waits"),))),
        replace(bell, match=Match(any=(Pattern(text="nowhere"),)), name="Gong"),
    ):
        around["draft"] = draft
        whole, quick = story_map(**around, shown=shown, most=9), with_row_again(before, **around)
        assert whole is not None
        assert quick is not None
        assert (quick.fired, quick.last) == (whole.fired, whole.last)
        assert sorted(quick.cells, key=place) == sorted(whole.cells, key=place)
    grouped = replace(bell, when=When(groups=("g",)))
    recursive = replace(bell, scope=Scope(recursive=True))
    for draft in (grouped, recursive, replace(bell, id=EntryId(99))):
        assert with_row_again(before, **(around | {"draft": draft})) is None
    limited = replace(around["moment"].book, settings={"lore_tokens": 5})
    around["moment"] = replace(around["moment"], book=limited)
    assert with_row_again(before, **around) is None


def place(cell: Cell) -> tuple[int, int]:
    return cell.row, cell.part


async def test_another_lorebook_than_the_books_is_looked_at_with_its_request_and_story(
    explorer: Explorer, studio: Studio, book: Book
) -> None:
    other = studio.lorebooks.create(name="Other")
    gong = studio.lorebooks.add_entry(other, name="Gong", match=Match(any=(Pattern(text="gong"),)))
    version = studio.version(book)
    explorer.desk.typed({"instructions": "A gong."})
    explorer.explore(other.id)
    await until(lambda: states(explorer) == {"Gong": "in"})
    explorer.desk.typed({"instructions": "Nothing."})
    await until(lambda: states(explorer) == {"Gong": "out"})
    explorer.replaying.unfold(on=True)
    explorer.try_out(replace(gong, match=Match(any=(Pattern(text="bell"),))))
    await until(lambda: explorer.replaying.map is not None and explorer.replaying.map.last == {gong.id: 2})
    explorer.explore(None)
    await until(lambda: set(states(explorer)) == {"Varro", "Bell"})
    assert studio.version(book) == version


async def test_lore_is_explained_in_a_book_that_has_no_model(studio: Studio, book: Book) -> None:
    bare = studio.books.save(replace(book, provider_id=None, protocol_id=None))
    desk = Desk(studio)
    await desk.open(bare.id)
    explorer = Explorer(desk)
    explorer.begin()
    desk.typed({"instructions": "Varro!"})
    await until(lambda: states(explorer).get("Varro") == "in")
    desk.typed({"instructions": "A bell."})
    await until(lambda: states(explorer).get("Bell") == "in" and states(explorer).get("Varro") == "out")
    desk.close()
    await asyncio.sleep(0)


async def test_the_map_follows_a_draft(explorer: Explorer, studio: Studio) -> None:
    explorer.replaying.unfold(on=True)
    await until(lambda: explorer.replaying.map is not None)
    bell = entries(studio)[1]
    explorer.try_out(replace(bell, match=Match(any=(Pattern(text="waits"),)), when=When()))
    await until(lambda: explorer.replaying.map.last.get(bell.id) == 1)
    assert explorer.replaying.map.rows[0] == (bell.id, "Bell")


async def test_exploring_stores_nothing(explorer: Explorer, studio: Studio, book: Book) -> None:
    before = studio.version(book)
    explorer.replaying.unfold(on=True)
    explorer.look(Source(kind="end"))
    await until(lambda: explorer.replaying.map is not None)
    assert studio.version(book) == before


def entries(studio: Studio) -> tuple[Any, ...]:
    return studio.lorebooks.entries(studio.lorebooks.all()[0])


def pieces(explorer: Explorer) -> dict[str, Any]:
    assert explorer._looked is not None
    moment, history = explorer._looked
    return {"moment": moment, "history": history, "draft": None}
