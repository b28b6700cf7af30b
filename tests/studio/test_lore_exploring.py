"""Lore tried out with any text, turn and lorebook, and over a whole branch: as the preview decides, storing nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from marginalia import Match, Pattern, Studio, TextFilter, Turn, TurnInput, When
from marginalia.errors import NotFound
from marginalia.lore.book import Entry, EntryBudget, Lorebook, Scope
from marginalia.studio.lore_map import story_map
from marginalia.studio.lore_story import Source, decide
from marginalia.values import Book


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    with Studio(
        tmp_path / "here.db", extensions=(), seed=7, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
    ) as studio:
        yield studio


@pytest.fixture
def world(studio: Studio) -> Lorebook:
    world = studio.lorebooks.create(name="World", tags=("sea",))
    add = studio.lorebooks.add_entry
    add(world, name="Varro", payload="He rows.", filter=TextFilter("varro"))
    add(world, name="Bell", payload="It rings.", match=words("bell"), when=When(sticky=1))
    add(world, name="Tide", payload="High.", when=When(chance=50))
    add(world, name="Gulls", payload="Cry.", match=words("waits"), scope=Scope(request=False, parts=9))
    add(world, name="Law", payload="Long. " * 9, budget=EntryBudget(maximum=3))
    return world


@pytest.fixture
def book(studio: Studio, world: Lorebook) -> Book:
    provider = studio.providers.create(
        name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=4096, max_response=200
    )
    protocol = studio.protocols.create(name="P")
    book = studio.books.create(
        name="B", provider=provider, protocol=protocol, lorebook=world, tags=("sea",),
        settings={"lore_tokens": 40},
    )  # fmt: skip
    for instructions in ("Ada waits.", "A bell, far off.", "Nothing."):
        studio.story.append(book, f"{instructions} So it was.", turn=Turn(instructions=instructions))
    return book


def words(*texts: str) -> Match:
    return Match(any=tuple(Pattern(text=each) for each in texts))


async def test_a_turn_is_decided_as_the_preview_of_it(studio: Studio, world: Lorebook, book: Book) -> None:
    for turn in (TurnInput(instructions="Varro comes."), Turn(scene_setting="A bell rings"), Turn()):
        prompt = await studio.preview(book, turn)
        found = studio.lorebooks.activate(world, turn, book)
        assert tuple(found) == tuple(prompt.lore)
        assert found.scan.request
    assert {each.entry.name for each in found if each.active} >= {"Gulls"}


def test_a_text_stands_for_the_request_and_a_book_lends_all_else(
    studio: Studio, world: Lorebook, book: Book
) -> None:
    alone = {each.entry.name: each for each in studio.lorebooks.activate(world, "Varro, a bell!")}
    assert alone["Varro"].reason == "The book does not have the tag *sea*."
    with_book = {each.entry.name: each for each in studio.lorebooks.activate(world.id, "Varro!", book)}
    assert with_book["Varro"].active
    assert [hit.source for hit in with_book["Varro"].hits] == ["request"]
    assert with_book["Gulls"].reason == "*waits* is in part 1."
    assert "its own maximum is 3" in with_book["Law"].reason


def test_entries_that_are_stored_nowhere_can_be_tried(studio: Studio, book: Book) -> None:
    draft = Entry(name="Gong", payload="It booms.", match=words("gong"))
    (verdict,) = studio.lorebooks.activate([draft], "A gong.")
    assert verdict.active
    assert verdict.tokens > 0
    (course,) = studio.lorebooks.replay(book, [Entry(name="Ada", match=words("Ada"))])
    assert course.fired == (1,)


def test_a_replay_goes_over_the_branch_with_timed_effects(
    studio: Studio, world: Lorebook, book: Book
) -> None:
    replay = studio.lorebooks.replay(book)
    courses = {each.entry.name: each for each in replay}
    assert replay.parts == 3
    assert courses["Bell"].fired == (2, 3)
    assert courses["Varro"].never
    assert courses["Gulls"].fired == (2, 3)
    assert courses["Bell"].seen[0].reason == "*bell* is in the request."
    assert str(replay).startswith("5 entries over 3 parts: ")
    other = studio.lorebooks.create(name="Other")
    studio.lorebooks.add_entry(other, name="Ada", payload="A girl.", match=words("ada"))
    assert studio.lorebooks.replay(book, other)[0].fired == (1,)
    assert studio.lorebooks.activate(other, "", book).replay(book)[0].fired == (1,)


def test_both_show_themselves_and_give_tables(studio: Studio, world: Lorebook, book: Book) -> None:
    found, replay = studio.lorebooks.activate(world, "A <b>bell</b>", book), studio.lorebooks.replay(book)
    assert "entries are in" in found._repr_html_()
    assert list(found.frame["entry"]) == [each.entry.name for each in found]
    shown = replay._repr_html_()
    assert shown.count("<rect") == sum(len(each.seen) for each in replay)
    assert "part 2, in: bell is in the request." in shown
    assert list(replay.frame["fired"]) == [len(each.fired) for each in replay]
    assert set(replay.reasons["part"]) <= {1, 2, 3}


def test_a_book_without_lore_has_an_empty_replay(studio: Studio) -> None:
    replay = studio.lorebooks.replay(studio.books.create(name="Bare"))
    assert (len(replay), replay.parts) == (0, 0)
    assert replay._repr_html_()
    with pytest.raises(NotFound):
        studio.lorebooks.activate(99, "text")


async def test_nothing_is_stored_byte_for_byte(studio: Studio, world: Lorebook, book: Book) -> None:
    await studio.preview(book, Turn(instructions="warm"))
    version, before = studio.version(book), contents(studio)
    studio.lorebooks.activate(world, "Varro, a bell", book)
    studio.lorebooks.activate(world, Turn(instructions="{{setvar::a::1}} Varro"), book).replay(book)
    studio.lorebooks.replay(book, world)
    exploring = studio.lorebooks.exploring
    moment = exploring.moment(book, exploring.lorebooks(world), Turn(instructions="bell"))
    history, draft = exploring.history(book), studio.lorebooks.entries(world)[1]
    for kind in ("next", "end", "asked", "part"):
        decide(moment, history, Source(kind=kind, number=2), replace(draft, payload="{{setvar::b::2}}"))
    assert story_map(moment, history, draft, shown=[draft.id], most=9, ended=Event()) is not None
    await studio.preview(book, Turn(instructions="again {{incvar::n}}"))
    assert contents(studio) == before
    assert studio.version(book) == version


def contents(studio: Studio) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(studio.path).parent.iterdir() if file.is_file()}


async def test_what_nothing_calls_is_the_same_verdict_from_prompt_to_prompt() -> None:
    # Thousands of entries that rest are neither decided nor put into words again with every letter that is typed.
    with Studio(":memory:", extensions=()) as studio:
        lore = studio.lorebooks.create(name="Lore")
        studio.lorebooks.add_entry(lore, name="Ash", payload="Grey.", match=words("ash"))
        provider = studio.providers.create(
            name="N", base_url="http://127.0.0.1:9/v1", model="m", max_context=4096, max_response=200
        )
        protocol = studio.protocols.create(name="P")
        book = studio.books.create(name="B", provider=provider, protocol=protocol, lorebook=lore)
        first = await studio.preview(book, Turn(instructions="one"))
        second = await studio.preview(book, Turn(instructions="two"))
    assert first.lore[0] is second.lore[0]
