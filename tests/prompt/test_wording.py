"""Texts compared word by word: nothing is lost, and what is equal is found."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter

from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.wording import Stretch, compared

texts = st.text(alphabet="ab ,.\né", max_size=60)


@given(texts, texts)
def test_both_versions_can_be_read_out_of_the_stretches(before: str, after: str) -> None:
    found = compared(before, after)
    assert "".join(each.text for each in found if each.fate != "added") == before
    assert "".join(each.text for each in found if each.fate != "removed") == after
    assert all(each.text for each in found)
    assert all(one.fate != other.fate for one, other in pairwise(found))


def test_a_word_that_was_replaced_stands_alone() -> None:
    assert compared("The bell is quiet now.", "The bell is loud now.") == (
        Stretch("same", "The bell is "),
        Stretch("removed", "quiet "),
        Stretch("added", "loud "),
        Stretch("same", "now."),
    )


def test_long_texts_that_have_nothing_in_common_are_compared_at_once() -> None:
    began = perf_counter()
    found = compared("a b " * 20_000, "c d " * 20_000)
    assert [each.fate for each in found] == ["removed", "added"]
    assert perf_counter() - began < 2
