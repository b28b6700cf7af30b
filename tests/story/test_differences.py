"""Two texts, word by word."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from marginalia.story.differences import differences


def told(older: str, newer: str) -> str:
    signs = {"same": "", "removed": "-", "added": "+"}
    return "".join(
        f"[{signs[p.kind]}{p.text}]" if signs[p.kind] else p.text for p in differences(older, newer)
    )


def test_changed_words_stand_beside_each_other() -> None:
    assert told("Snow fell all night.", "Snow fell all day.") == "Snow fell all[- night][+ day]."
    assert told("Snow fell.", "Snow fell.") == "Snow fell."
    assert told("", "Snow.") == "[+Snow.]"
    assert told("Snow.", "") == "[-Snow.]"
    assert differences("", "") == ()


def test_paragraphs_that_stayed_are_not_torn_apart() -> None:
    older = "The ferry left.\n\nOdo waited.\n\nNight came."
    newer = "The ferry left.\n\nNobody was there.\n\nOdo waited long.\n\nNight came."
    assert told(older, newer) == (
        "The ferry left.\n\n[+Nobody was there.\n\n]Odo waited[+ long].\n\nNight came."
    )


words = st.lists(st.sampled_from(["a", "b ", "c\n", "\n\n", ", ", "dé", " "]), max_size=40).map("".join)


@given(words, words)
def test_the_pieces_are_both_texts(older: str, newer: str) -> None:
    pieces = differences(older, newer)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == older
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == newer
    assert all(piece.text for piece in pieces)
    assert all(one.kind != two.kind for one, two in pairwise(pieces))


def test_long_texts_are_compared_soon() -> None:
    older = " ".join(f"word{i % 997} the" for i in range(20_000))
    began = time.process_time()
    differences(older, older.replace("word5 ", "other ").replace("word900 ", "more "))
    assert time.process_time() - began < 3.0
