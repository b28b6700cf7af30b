"""The page of the lorebooks: each once, below what holds it; no circles; what a file lost is said."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace

import pytest

from marginalia import InvalidInput, Studio
from marginalia.lore.book import Lorebook
from marginalia.studio.lorebooks import Upload
from marginalia.ui.shelving import (
    LorebookModel,
    exported,
    lorebook_page,
    nest,
    report_row,
    shelf_rows,
    unnest,
)


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:", extensions=()) as studio:
        yield studio


def made(studio: Studio, *names: str) -> list[Lorebook]:
    return [studio.lorebooks.create(name=name) for name in names]


def test_every_lorebook_stands_once_below_what_holds_it(studio: Studio) -> None:
    a, b, c = made(studio, "A", "B", "C")
    nest(studio, c.id, a.id)
    nest(studio, b.id, a.id)
    rows = [(row["name"], row["depth"]) for row in shelf_rows(studio, None)]
    assert rows == [("B", 0), ("A", 1), ("C", 0)]
    unnest(studio, b.id, a.id)
    assert [row["name"] for row in shelf_rows(studio, None)] == ["B", "C", "A"]


def test_a_circle_is_refused_with_both_names_and_one_that_is_there_is_shown(studio: Studio) -> None:
    a, b = made(studio, "A", "B")
    nest(studio, a.id, b.id)
    with pytest.raises(InvalidInput, match="'A' cannot go below 'B'"):
        nest(studio, b.id, a.id)
    studio.lorebooks.save(replace(studio.lorebooks.get(b), subbooks=(a.id,)))
    assert {row["name"] for row in shelf_rows(studio, None)} == {"A", "B"}


def test_a_lorebook_survives_its_form(studio: Studio) -> None:
    book = replace(studio.lorebooks.create(name="A", tags=("x",)), description="d", enabled=False)
    model = LorebookModel()
    model.take(book)
    assert model.freeze(book) == book
    page = lorebook_page(studio, book.id, None)
    assert {each["name"] for each in page["fields"]} >= {"name", "enabled", "tags", "settings_recursive"}


def test_a_refused_file_says_why_and_an_imported_one_what_became_of_its_entries(studio: Studio) -> None:
    world = {
        "entries": {
            "0": {"uid": 0, "key": ["quay"], "content": "Old.", "comment": "Quay", "vectorized": True}
        }
    }
    good, bad = studio.lorebooks.import_files(
        [Upload("harbour.json", json.dumps(world).encode()), Upload("broken.json", b'{"entries": ')]
    )
    assert report_row(bad)["refused"]
    row = report_row(good)
    assert (row["refused"], row["lorebook"]) == (False, good.lorebooks[0].id)
    assert sum(number for _, number in row["counts"]) == 1
    assert lorebook_page(studio, good.lorebooks[0].id, None)["report"]["counts"] == row["counts"]


def test_a_chat_that_is_no_lorebook_is_offered_as_a_story(studio: Studio) -> None:
    chat = [{"mes": "Hello", "is_user": True, "name": "A"}]
    (report,) = studio.lorebooks.import_files([Upload("chat.json", json.dumps(chat).encode())])
    assert report_row(report)["story"]


def test_an_export_says_what_the_format_cannot(studio: Studio) -> None:
    (book,) = made(studio, "A")
    studio.lorebooks.add_entry(book, name="Quay", payload="Old.", negative_tags=("land",))
    own, foreign = exported(studio, book.id, "marginalia"), exported(studio, book.id, "sillytavern")
    assert own["text"] == "Nothing is lost."
    assert b"Quay" in b64decode(own["data"])
    assert foreign["notes"]
