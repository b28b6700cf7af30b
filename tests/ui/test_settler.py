"""An answer that grows is rendered block by block, and ends as if it had been rendered at once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from marginalia.ui.safe import safe
from marginalia.ui.settler import Settler

PIECES = st.sampled_from(
    ["word ", "Other. ", "\n\n", "\n", "*em* ", "- item\n", "```\n", "1. one\n", "> said\n", "  more\n"]
)


def test_a_blank_line_settles_what_stands_before_it() -> None:
    settler = Settler()
    assert settler.feed("One") == ("", "<p>One</p>\n")
    assert settler.feed("One.\n\nTwo") == ("<p>One.</p>\n", "<p>Two</p>\n")
    assert settler.feed("One.\n\nTwo.") == ("", "<p>Two.</p>\n")


def test_a_fence_with_a_blank_line_inside_stays_whole() -> None:
    settler = Settler()
    settled, tail = settler.feed("```\na\n\nb")
    assert (settled, tail) == ("", safe("```\na\n\nb"))


def test_a_list_with_blank_lines_stays_whole() -> None:
    settler = Settler()
    assert settler.feed("- a\n\n- b")[0] == ""


def test_a_very_long_unfinished_block_stays_cheap_and_whole() -> None:
    long = "<b>word </b>" * 2000
    assert Settler().feed(long)[1].count("word") == 2000


@given(st.lists(PIECES, max_size=30))
def test_every_character_is_shown_once_however_it_arrives(pieces: list[str]) -> None:
    settler, done, text, tail = Settler(), "", "", ""
    for piece in pieces:
        text += piece
        settled, tail = settler.feed(text)
        done += settled
    shown = re.sub(r"<[^>]*>", " ", done + tail)
    for word in ("word", "Other.", "item", "said", "more"):
        assert shown.count(word) == text.count(word)
    assert settler.settled <= len(text)
