"""The lists of models and protocols."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from marginalia import Studio
from marginalia.ui.records import delete_record, duplicate_record, record_rows, record_trash, restore_record


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:", extensions=()) as studio:
        yield studio


def test_a_list_says_what_each_is_and_which_books_use_it(studio: Studio) -> None:
    far = studio.providers.create(name="far", base_url="http://127.0.0.1:9/v1", model="m", max_context=4096)
    studio.providers.create(name="Bundled", kind="bundled")
    for number in range(5):
        studio.books.create(name=f"Book {number}", provider=far)
    book = studio.books.all()[0]
    bundled, other = record_rows(studio, "models", book)
    assert (bundled["name"], bundled["fixed"], bundled["users"]) == ("Bundled", True, "No book uses it.")
    assert other["used"]
    assert other["users"] == "Used by Book 0, Book 1, Book 2 and 2 other books."
    assert ["Context", "4,096 tokens"] in other["figures"]


def test_a_protocol_says_what_is_sent(studio: Studio) -> None:
    studio.protocols.create(name="A", temperature=0.8, top_p=0.95)
    studio.protocols.create(name="B")
    first, second = record_rows(studio, "protocols", None)
    assert first["facts"] == "temperature 0.8 · top p 0.95"
    assert second["facts"] == "the server's own defaults"


@pytest.mark.parametrize("kind", ["models", "protocols"])
def test_one_can_be_copied_deleted_and_taken_back(studio: Studio, kind: str) -> None:
    if kind == "models":
        first = int(
            studio.providers.create(name="One", base_url="http://x/v1", model="m", max_context=512).id
        )
    else:
        first = int(studio.protocols.create(name="One", temperature=0.3, max_tokens=512).id)
    shelf = "models" if kind == "models" else "protocols"
    copy = duplicate_record(studio, shelf, first)
    one, two = record_rows(studio, shelf, None)
    assert (one["name"], two["name"]) == ("One", "One (copy)")
    assert one["figures"] == two["figures"]
    delete_record(studio, shelf, copy)
    assert record_trash(studio, shelf) == [[copy, "One (copy)"]]
    assert restore_record(studio, shelf, copy) == copy
    assert len(record_rows(studio, shelf, None)) == 2
