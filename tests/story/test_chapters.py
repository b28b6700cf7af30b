"""Headings for a table of contents."""

from __future__ import annotations

import pytest

from marginalia.story.chapters import Heading, headings


def found(*texts: str) -> list[tuple[int, int, str]]:
    return [(each.number, each.level, each.words) for each in headings(texts)]


def test_markdown_headings_stand_with_their_level_and_part() -> None:
    assert found("# One\n\nText.", "Text.\n\n## Two ##\n\nMore.", "Nothing.") == [
        (1, 1, "One"),
        (2, 2, "Two"),
    ]
    assert headings(["# A"]) == (Heading(number=1, level=1, words="A"),)


def test_a_short_line_of_its_own_at_the_beginning_is_a_chapter() -> None:
    assert found("The Ferry\n\nAda waits.", "Ada waits.\n\nShort\n\nShe goes.") == [(1, 1, "The Ferry")]
    assert found("The Ferry\n\nAda waits.\n\n## At night\n\nDark.") == [
        (1, 1, "The Ferry"),
        (1, 2, "At night"),
    ]


@pytest.mark.parametrize("text", ["", "#hashtag is none", "```\n# code\n```", "####### seven", "#", "# "])
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert found(text) == []
