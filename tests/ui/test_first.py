"""The end of the story as it stands in the page before any script has run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from marginalia import Studio
from marginalia.models import Preferences
from marginalia.ui.first import first_text, is_own_name
from marginalia.ui.preferences import Panes
from marginalia.values import BookId


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:", extensions=()) as studio:
        yield studio


def shown(
    studio: Studio, book: BookId | None = None, *, dark: bool = False, panes: Panes | None = None
) -> str:
    return str(first_text(studio, book, panes or Panes(), Preferences(), dark=dark))


def test_the_last_parts_stand_there_and_nothing_of_the_rest(studio: Studio) -> None:
    book = studio.books.create(name="Ferry")
    for text in ("One.", "*Two.*", "Three."):
        studio.story.append(book, text)
    found = shown(studio, book.id)
    assert "<em>Two.</em>" in found
    assert "Three." in found
    assert "One." not in found


def test_what_is_written_is_text_and_runs_nothing(studio: Studio) -> None:
    book = studio.books.create(name="Ferry")
    studio.story.append(
        book, "<script>window.pwned=1</script><img src=x onerror=alert(1)> </style></div>{{ 7*7 }}"
    )
    found = shown(studio, book.id)
    assert "<script" not in found
    assert "<img" not in found
    assert found.count("</style>") == 1
    assert "{{ 7*7 }}" in found


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost:5006", True), ("127.0.0.1:5006", True), ("[::1]:5006", True), ("192.168.1.9", True),
        ("far.example:5006", False), ("localhost.far.example", False), ("127.0.0.1.far.example", False), ("", False),
        ("[::1", False),
    ],
)  # fmt: skip
def test_a_name_that_another_site_may_have_is_not_told_of_the_story(host: str, own: bool) -> None:
    assert is_own_name(host) is own


def test_without_a_story_there_is_nothing(studio: Studio) -> None:
    assert shown(studio) == ""
    studio.books.create(name="Empty")
    assert shown(studio) == ""


def test_an_address_of_no_book_shows_the_newest_and_never_that_of_another_person(studio: Studio) -> None:
    book = studio.books.create(name="Ferry")
    studio.story.append(book, "Mine.")
    guest = studio.for_user("elias")
    assert "Mine." in shown(studio, BookId(999))
    assert shown(guest, book.id) == ""
    guest.close()


def test_folded_sides_take_no_room_and_dark_is_dark(studio: Studio) -> None:
    book = studio.books.create(name="Ferry")
    studio.story.append(book, "One.")
    assert 'class="side left"' in shown(studio, book.id)
    assert 'class="side left"' not in shown(studio, book.id, panes=Panes(left=False))
    assert shown(studio, book.id, dark=True) != shown(studio, book.id)
