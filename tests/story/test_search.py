"""Queries, what they match, and the excerpts that show it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.story.search import Query, fold, snippet


def found(query: str, text: str) -> bool:
    return Query.parse(query).matches(fold(text))


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("wheel odo", "Odo found the mill wheel", True),
        ("wheel mara", "Odo found the mill wheel", False),
        ('"mill wheel"', "Odo found the mill\n  wheel", True),
        ('"wheel mill"', "Odo found the mill wheel", False),
        ('"mill wh', "Odo found the mill wheel", True),
        ("“mill wheel”", "Odo found the mill wheel", True),
        ("île", "ÎLE of salt", True),
        ("ile", "ÎLE of salt", False),
        ("i\u0302le", "ÎLE of salt", True),
        ("STRASSE", "Die Straße", True),
        ("fer*y", "The ferry", True),
        ("y*fer", "The ferry", False),
        ('"mi*l wheel"', "the mill wheel", True),
        ("*", "anything", True),
        ("*", "", True),
        ("7%", "Tax: 7% on salt_cake\\", True),
        ("7_", "Tax: 7% on salt_cake\\", False),
        ("cake\\", "Tax: 7% on salt_cake\\", True),
        ("a.c", "abc", False),
        ("", "anything", False),
        ('  ""  ', "anything", False),
    ],
)
def test_a_query_matches(query: str, text: str, expected: bool) -> None:
    assert found(query, text) is expected


LETTERS = st.text("abAB*% éÉ_\\", max_size=6)


@given(
    st.lists(LETTERS.map(lambda word: word.replace(" ", "")), max_size=3),
    st.text("abAB %éÉ_\\\n", max_size=30),
)
def test_a_query_agrees_with_a_naive_scan(words: list[str], text: str) -> None:
    flat = " ".join(text.split())
    patterns = [".*".join(map(re.escape, word.split("*"))) for word in words if word]
    expected = bool(patterns) and all(re.search(each, flat, re.IGNORECASE | re.DOTALL) for each in patterns)
    assert found(" ".join(words), text) is expected


@pytest.mark.parametrize(
    ("query", "radius", "text", "expected"),
    [
        ("millstone", 5, "mmm mmm mm\nold  millstone\nturns nnnnn", "…old millstone turn…"),
        ("MILL*NE", 5, "mmm mmm mm\nold  millstone\nturns nnnnn", "…old millstone turn…"),
        ("dusk", 60, "The ferry at dusk", "The ferry at dusk"),
        ("dawn", 60, "The ferry at dusk", ""),
        ("dusk ferry", 0, "The ferry at dusk", "…dusk"),
        ("weiß", 4, "Die Straße ist weiß und lang", "…ist weiß und…"),
        ("", 5, "The ferry", ""),
    ],
)
def test_an_excerpt_shows_the_first_match_of_the_first_term(
    query: str, radius: int, text: str, expected: str
) -> None:
    assert snippet(text, query, radius) == expected


def test_an_excerpt_of_a_match_that_spans_everything_stays_short() -> None:
    assert len(snippet("a " + "x " * 5_000 + "b", "a*b", 10)) < 450


@given(st.text(max_size=40), st.text(max_size=4), st.integers(0, 20))
def test_an_excerpt_is_there_exactly_when_its_term_occurs(text: str, word: str, radius: int) -> None:
    query = Query.parse(word)
    if len(query.terms) == 1 and any(query.terms[0]):
        shown = snippet(text, word, radius)
        assert bool(shown) is query.matches(fold(text))
        assert "\n" not in shown


def test_places_of_matches_are_places_in_the_text_as_it_is() -> None:
    text = "Die  Straße.\nWEISS\n strasse, i\u0302le"
    spans = Query.parse('strasse "weiss strasse" ÎLE').spans(text)
    assert [text[start:end] for start, end in spans] == ["Straße", "WEISS\n strasse", "i\u0302le"]
    assert Query.parse("*").spans(text) == ()


def test_every_kind_of_white_space_is_a_blank() -> None:
    blanks = [chr(code) for code in range(0x110000) if chr(code).isspace() and chr(code) != " "]
    for blank in blanks:
        assert fold(f"{blank}a{blank} {blank}b{blank}") == "a b"


@given(st.text(st.sampled_from("aé \n\t\u00a0\u2003\u3000"), max_size=20))
def test_white_space_is_folded_as_splitting_and_joining_would(text: str) -> None:
    assert fold(text) == " ".join(text.split())
