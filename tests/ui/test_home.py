"""The books page's reading and writing, and the forms that extensions' data become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from marginalia import Studio
from marginalia.errors import FormatError, InvalidInput, MarginaliaError
from marginalia.extensions.api import Extension, Host, Panel, Table
from marginalia.extensions.authors_note import Note
from marginalia.extensions.data import typed
from marginalia.pipeline.events import BeforePrepareGeneration
from marginalia.studio.lorebooks import Upload
from marginalia.ui.bookcase import (
    backed_up,
    book_rows,
    duplicate,
    exported,
    formats,
    inside,
    new_book,
    next_book,
    note_opened,
    rename,
    take_in,
    trash_rows,
)
from marginalia.ui.extending import extension_rows, fields_of, filled, form_fields, shown_row, store_form
from marginalia.ui.preferences import save_preferences
from marginalia.ui.reading import read_library
from marginalia.values import Book

NOW = datetime(2030, 1, 1, tzinfo=UTC)
CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        "name": "Ada",
        "description": "Ada rows.",
        "first_mes": "Ada waited.",
        "character_book": {"entries": [{"keys": ["quay"], "content": "Old.", "enabled": True}]},
    },
}


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:") as studio:
        yield studio


@pytest.fixture
def book(studio: Studio) -> Book:
    provider = studio.providers.create(name="M", base_url="http://127.0.0.1:9/v1", model="m")
    book = studio.books.create(
        name="The Ferry", provider=provider, protocol=studio.protocols.create(name="P"), tags=("sea",)
    )
    studio.story.append(book, "Ada waits here.")
    return studio.books.get(book)


# The books.


def test_the_book_opened_last_comes_first_with_its_words(studio: Studio, book: Book) -> None:
    other = studio.books.create(name="Newer")
    note_opened(studio, other.id, NOW - timedelta(hours=2))
    note_opened(studio, book.id, NOW - timedelta(minutes=5))
    first, second = book_rows(studio, NOW)
    assert (first["name"], first["words"], first["tags"], first["when"], first["verb"]) == (
        "The Ferry", 3, ["sea"], "5 min ago", "opened",
    )  # fmt: skip
    assert second["when"] == "2 h ago"
    assert next_book(studio, book.id) == other.id


def test_what_is_kept_of_openings_may_be_anything(studio: Studio, book: Book) -> None:
    for kept in (None, 3, [1], {book.uid: 7}, {book.uid: "soon"}, {book.uid: "2029-01-01T00:00:00"}):
        studio.settings.set("books.opened", kept)
        assert [row["name"] for row in book_rows(studio, NOW)] == ["The Ferry"]


def test_a_new_book_is_written_as_the_open_one_is(studio: Studio, book: Book) -> None:
    studio.providers.create(name="Another", base_url="http://127.0.0.1:9/v1", model="m")
    made = new_book(studio, "Next", book, read_library(studio))
    assert (made.provider_id, made.protocol_id) == (book.provider_id, book.protocol_id)
    gone = replace(book, provider_id=None, protocol_id=None)
    assert new_book(studio, "First", gone, read_library(studio)).provider_id == book.provider_id
    with pytest.raises(InvalidInput):
        new_book(studio, " ", book, read_library(studio))


def test_a_new_book_is_written_by_what_was_set_for_new_books_while_that_exists(
    studio: Studio, book: Book
) -> None:
    other = studio.providers.create(name="Another", base_url="http://127.0.0.1:9/v1", model="m")
    save_preferences(studio, {"provider_id": other.id, "protocol_id": 999})
    made = new_book(studio, "Next", book, read_library(studio))
    assert (made.provider_id, made.protocol_id) == (other.id, book.protocol_id)
    studio.providers.delete(other)
    assert new_book(studio, "After", book, read_library(studio)).provider_id == book.provider_id


def test_a_copy_has_the_story_and_a_name_of_its_own(studio: Studio, book: Book) -> None:
    copy = duplicate(studio, book.id)
    assert copy.name == "The Ferry (copy)"
    assert [part.text for part in studio.story.branch(copy)] == ["Ada waits here."]
    assert rename(studio, copy.id, " Second ").name == "Second"


def test_the_trash_lists_the_newest_first(studio: Studio, book: Book) -> None:
    other = studio.books.create(name="Other")
    studio.books.delete(book)
    studio.books.delete(other)
    assert trash_rows(studio) == [[other.id, "Other"], [book.id, "The Ferry"]]


def test_every_format_that_is_offered_can_be_written(studio: Studio, book: Book) -> None:
    for form, _ in formats(studio):
        file = exported(studio, book.id, form)
        assert file.data
        assert file.name.startswith("The-Ferry.")
    with pytest.raises(InvalidInput):
        exported(studio, book.id, "../../etc/passwd")


def test_a_file_is_never_called_what_a_hostile_name_says(studio: Studio) -> None:
    evil = studio.books.create(name='../<img src=x onerror="1">/..\\x')
    assert set(exported(studio, evil.id, "txt").name) & set('<>/\\":') == set()


def test_a_backup_comes_back_as_a_book_and_says_before_what_it_holds(studio: Studio, book: Book) -> None:
    file = backed_up(studio, book.id)
    upload = Upload(file.name, file.data)
    assert "'The Ferry'" in inside(studio, upload)[0]
    assert "1 part, 3 words" in inside(studio, upload)[0]
    found = take_in(studio, upload, book, read_library(studio))
    assert found.book is not None
    assert studio.story.branch(found.book)[0].text == "Ada waits here."
    with pytest.raises(FormatError):
        inside(studio, Upload("a.txt", b"no"))


def test_a_card_becomes_a_book_with_its_lore_and_its_greeting(studio: Studio, book: Book) -> None:
    upload = Upload("ada.json", json.dumps(CARD).encode())
    found = take_in(studio, upload, book, read_library(studio))
    assert found.book is not None
    made = studio.books.get(found.book)
    assert (made.name, made.description, made.provider_id) == ("Ada", "Ada rows.", book.provider_id)
    assert made.lorebook_id is not None
    assert studio.story.branch(made)[0].text == "Ada waited."


def test_a_card_without_a_greeting_is_an_empty_book(studio: Studio, book: Book) -> None:
    silent = CARD | {"data": CARD["data"] | {"first_mes": ""}}
    found = take_in(studio, Upload("ada.json", json.dumps(silent).encode()), book, read_library(studio))
    assert found.book is not None
    made = studio.books.get(found.book)
    assert made.name == "Ada"
    assert made.lorebook_id is not None
    assert studio.story.branch(made) == ()


def test_what_is_no_book_leaves_nothing_behind(studio: Studio, book: Book) -> None:
    before = len(studio.books.all()), len(studio.lorebooks.all())
    for data in (b"", b"\x00\xff", b'{"entries": {}}', b"PK\x03\x04"):
        with pytest.raises(FormatError):
            take_in(studio, Upload("x.json", data), book, read_library(studio))
    assert (len(studio.books.all()), len(studio.lorebooks.all())) == before


# Extensions.


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    title: str = field(default="", metadata={"label": "Heading", "help": "What stands on top."})
    share: float = 0.5
    most: int | None = None
    tags: tuple[str, ...] = ()
    mood: Literal["calm", "wild"] = "calm"
    on: bool = False
    deep: dict[str, int] | None = None


def test_every_field_of_a_dataclass_is_a_field_of_the_form_or_left_alone() -> None:
    kinds = {each["name"]: each["kind"] for each in form_fields(Kept())}
    assert kinds == {
        "title": "text", "share": "number", "most": "number", "tags": "tags", "mood": "choice", "on": "boolean",
    }  # fmt: skip
    typed = {"title": "T", "share": "0,25", "most": "", "tags": ["a"], "mood": "wild", "on": True, "deep": 3}
    value, errors = filled(Kept(deep={"a": 1}), typed)
    assert errors == {}
    assert value == Kept(title="T", share=0.25, tags=("a",), mood="wild", on=True, deep={"a": 1})


def test_what_cannot_be_used_is_named_and_changes_nothing() -> None:
    value, errors = filled(Kept(), {"share": "much", "mood": "evil", "on": "yes", "title": 4})
    assert set(errors) == {"share", "mood", "on", "title"}
    assert value == Kept()


def test_the_authors_note_is_kept_with_the_book(studio: Studio, book: Book) -> None:
    note = next(each for each in studio.extensions.panels if each.owner == "authors-note")
    errors = store_form(note.panel, studio, book.id, {"text": "Rain.", "depth": "2", "role": "user"})
    assert errors == {}
    kept = {each["name"]: each["value"] for each in fields_of(note.panel, studio, book.id)}
    assert kept == {"text": "Rain.", "private": "", "depth": 2, "role": "user", "on": True}
    assert typed(Note, studio.books.get(book).settings["authors_note"]) == Note(
        text="Rain.", depth=2, role="user"
    )


def test_data_of_the_user_is_filled_in_too(studio: Studio, book: Book) -> None:
    class Mine(Extension):
        name = "mine"

        def install(self, host: Host) -> None:
            host.panel(Panel(title="Mine", show=self.show, form=host.user_data(Kept)))

        def show(self, _studio: object, _book: object, _prompt: object) -> str:
            return ""

    studio.extensions.install([Mine()])
    (mine,) = [each.panel for each in studio.extensions.panels if each.owner == "mine"]
    assert store_form(mine, studio, book.id, {"title": "T"}) == {}
    assert studio.settings.get("extension.mine")["title"] == "T"
    (title,) = [each for each in fields_of(mine, studio, book.id) if each["name"] == "title"]
    assert (title["value"], title["label"], title["doc"]) == ("T", "Heading", "What stands on top.")


def test_a_snippet_is_added_and_taken_away_through_its_form(studio: Studio, book: Book) -> None:
    studio.extensions.enable("snippets")
    (snippets,) = [each.panel for each in studio.extensions.panels if each.owner == "snippets"]
    assert store_form(snippets, studio, book.id, {"name": " ", "text": "x"}) == {
        "": "A snippet needs a name."
    }
    assert store_form(snippets, studio, book.id, {"name": "winter", "text": "Cold."}) == {}
    assert studio.settings.get("extension.snippets") == {"texts": {"winter": "Cold."}}
    assert store_form(snippets, studio, book.id, {"name": "winter", "text": ""}) == {}
    assert studio.settings.get("extension.snippets") == {"texts": {}}


def test_what_a_panel_shows_runs_nothing_and_is_not_endless() -> None:
    hostile = "<script>x</script> *y* [z](javascript:alert(1))"
    assert "<script" not in shown_row(hostile)["html"]
    assert 'href="javascript' not in shown_row(hostile)["html"]
    table = shown_row(Table(columns=("A",), rows=tuple((each,) for each in range(1200)), note="**n**"))
    assert (len(table["rows"]), table["more"], table["rows"][1]) == (500, 700, ["1"])


def test_an_extension_that_is_off_is_listed(studio: Studio) -> None:
    studio.extensions.disable("lore-lint")
    rows = {row["name"]: row for row in extension_rows(studio)}
    assert rows["authors-note"]["on"]
    assert not rows["lore-lint"]["on"]
    assert rows["lore-lint"]["known"]


async def test_an_extension_that_fails_is_listed_with_what_went_wrong_and_where(
    studio: Studio, book: Book
) -> None:
    class Wrong(Extension):
        name = "wrong"

        def install(self, host: Host) -> None:
            host.on(BeforePrepareGeneration, self.fail)

        def fail(self, _run: object, _event: object) -> None:
            raise ValueError("the moon is missing")

    studio.extensions.install([Wrong()])
    with suppress(MarginaliaError):  # the context of the fixture's model is too small for a prompt
        await studio.preview(book)
    (row,) = [row for row in extension_rows(studio) if row["name"] == "wrong"]
    assert row["on"]
    assert row["problem"].startswith(
        "Failed in BeforePrepareGeneration: the moon is missing (ValueError in ui/"
    )


def test_an_export_has_the_parts_the_page_and_the_author_that_were_asked_for(
    studio: Studio, book: Book
) -> None:
    studio.story.append(book, "The bell rang.")
    whole = exported(studio, book.id, "md", {"first": "", "last": " ", "author": "Ada Rower"}).data.decode()
    assert "Ada Rower" in whole
    assert "Ada waits here." in whole
    second = exported(studio, book.id, "md", {"first": "2", "last": "2", "title_page": False}).data.decode()
    assert "The bell rang." in second
    assert "Ada waits here." not in second
    assert "The Ferry" not in second
    for wrong in ({"first": "two"}, {"first": "2", "last": "1"}, {"last": "-1"}):
        with pytest.raises(InvalidInput):
            exported(studio, book.id, "md", wrong)
