from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import marginalia as mg
from marginalia.extensions.authors_note import AuthorsNote
from marginalia.testing import WordTokenizer

TURN = mg.Turn(instructions="Go on.")


def studio_with(note: dict[str, Any] | None) -> tuple[mg.Studio, mg.Book]:
    studio = mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=[AuthorsNote()])
    book = studio.books.create(
        name="Salt",
        provider=studio.providers.create(
            name="S", base_url="http://127.0.0.1:9", model="m", max_context=4000
        ),
        protocol=studio.protocols.create(name="P"),
    )
    studio.story.append(book, "Snow fell.")
    settings = {"authors_note": note} if note is not None else {}
    return studio, studio.books.save(replace(studio.books.get(book.id), settings=settings))


@pytest.mark.parametrize(("depth", "place"), [(0, -1), (1, -2), (2, -3), (99, 1)])
async def test_the_note_stands_at_its_depth_and_is_counted(depth: int, place: int) -> None:
    studio, book = studio_with({"text": "Keep it cold.", "depth": depth, "role": "user"})
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.messages[place] == mg.Message(role="user", content="Keep it cold.")
        assert prompt.budget.reserved == 3 + 100
        note = next(each for each in prompt.segments if each.kind == "insert")
        assert note.source == "author's note"


@pytest.mark.parametrize(
    "note", [None, {}, {"text": "  "}, {"text": "x", "on": False}, {"private": "mine alone"}]
)
async def test_without_a_note_nothing_is_sent_or_counted(note: dict[str, Any] | None) -> None:
    studio, book = studio_with(note)
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.budget.reserved == 0
        assert "mine alone" not in prompt.text


async def test_odd_settings_do_not_break_a_turn() -> None:
    studio, book = studio_with({"text": "Keep it cold.", "depth": None, "role": "narrator"})
    with studio:
        prompt = await studio.preview(book, TURN)
        assert mg.Message(role="system", content="Keep it cold.") in prompt.messages


def test_it_is_found_by_its_entry_point() -> None:
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        assert "authors-note" in studio.extensions.names
        assert studio.extensions.failures == ()


def test_a_broken_extension_stops_no_other_and_leaves_nothing() -> None:
    heard: list[str] = []

    class Broken:
        name = "broken"

        def install(self, host: Any) -> None:
            host.on(mg.events.BeforePrepareGeneration, lambda _run, _event: heard.append("broken"))
            raise RuntimeError("no")

    with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=[Broken(), AuthorsNote()]) as studio:
        assert studio.extensions.names == ("authors-note",)
        assert [failure.name for failure in studio.extensions.failures] == ["broken"]
        assert not studio.pipeline.hooks.heard(mg.events.BeforePrepareGeneration)
