from __future__ import annotations

from random import Random

import pytest

from marginalia.prompt.macros.chance import drawn, picked, rolled


@pytest.mark.parametrize(
    ("notation", "low", "high"),
    [("d6", 1, 6), ("2d6+3", 5, 15), ("20", 1, 20), (" 3 D 4 - 2 ", 1, 10), ("1000d1", 1000, 1000)],
)
def test_dice_stay_in_their_range(notation: str, low: int, high: int) -> None:
    random = Random(5)
    throws = [int(rolled(notation, random)) for _ in range(40)]
    assert low <= min(throws) <= max(throws) <= high


@pytest.mark.parametrize(
    "notation",
    [
        "",
        "six",
        "0d6",
        "1001d6",
        "1d0",
        "1d1000001",
        "2x6",
        "1d6!",
        "1d6+",
        "-1d6",
        "1d6+1d6",
        "1d6" + " " * 100,
    ],
)
def test_impossible_dice_are_nothing(notation: str) -> None:
    assert rolled(notation, Random(5)) == ""


def test_a_draw_takes_every_option_in_time() -> None:
    random = Random(5)
    assert {drawn(("a", "b", "c"), random) for _ in range(60)} == {"a", "b", "c"}
    assert drawn((), random) == ""


def test_a_pick_is_the_same_for_the_same_place_and_differs_between_places() -> None:
    assert picked(("a", "b"), "book", "place", 1) == picked(("a", "b"), "book", "place", 1)
    assert len({picked(("a", "b", "c"), "book", "place", site) for site in range(20)}) == 3
    assert picked((), "book") == ""
    assert picked(("\ud800",), "book") == "\ud800"


def test_a_pick_survives_a_restart() -> None:
    options = ("oar", "net", "rod", "pot")
    assert [picked(options, "book-1", "lore", site) for site in range(4)] == ["rod", "pot", "rod", "net"]
