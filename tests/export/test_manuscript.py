"""What is chosen for a file, and what may stand in one."""

from __future__ import annotations

import pytest

from marginalia.errors import InvalidInput
from marginalia.export import FORMATS, chosen, export, format_named
from tests.export.helpers import manuscript


def test_blank_parts_do_not_count() -> None:
    assert chosen(["one", "  ", "two", "", "three"], 2, 3) == ("two", "three")


def test_an_end_that_is_left_out_or_too_far_is_the_end() -> None:
    assert chosen(["one", "two"], 2) == ("two",)
    assert chosen(["one", "two"], None, 1) == ("one",)
    assert chosen(["one", "two"], 2, 99) == ("two",)
    assert chosen([]) == ()


@pytest.mark.parametrize(("first", "last"), [(0, 1), (2, 1), (3, 4), (-1, None)])
def test_a_range_with_nothing_in_it_is_refused(first: int, last: int | None) -> None:
    with pytest.raises(InvalidInput, match="2 parts"):
        chosen(["one", "two"], first, last)


@pytest.mark.parametrize("language", ["", "english please", "en_US", 'en" onload="x'])
def test_a_language_is_a_tag(language: str) -> None:
    with pytest.raises(InvalidInput):
        manuscript(language=language)


def test_a_format_has_many_names() -> None:
    assert format_named(".EPUB") is format_named("epub")
    assert format_named("markdown").key == "md"
    with pytest.raises(InvalidInput, match="epub"):
        format_named("rtf")


def test_a_blank_title_has_a_name() -> None:
    assert manuscript(title=" \n\t ").title == "Untitled"


@pytest.mark.parametrize("key", FORMATS)
def test_every_format_makes_a_file_of_an_empty_story(key: str) -> None:
    empty = manuscript(title_page=False, contents=False)
    assert export(type(empty)(title="T", texts=(), made=empty.made, title_page=False), key)


@pytest.mark.parametrize("key", [each for each in FORMATS if each != "docx"])
def test_the_same_story_is_the_same_file(key: str) -> None:
    assert export(manuscript(), key) == export(manuscript(), key)
