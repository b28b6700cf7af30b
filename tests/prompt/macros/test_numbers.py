from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.macros.numbers import add, number, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", "5"),
        (" -2.50 ", "-2.50"),
        (".5", "0.5"),
        ("1.", "1"),
        ("+3", "3"),
        ("1e3", "1000"),
        ("007", "7"),
    ],
)
def test_a_number_is_read(text: str, value: str) -> None:
    assert number(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "abc",
        "1,5",
        "1 2",
        "0x10",
        "NaN",
        "Infinity",
        "1e60",
        "1e-60",
        "1e999999999",
        "9" * 31,
        "٣",
        "1_000",
    ],
)
def test_what_is_no_number_stays_text(text: str | None) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("1.500", "1.5"), ("100", "100"), ("1E+3", "1000"), ("-0.0", "0"), ("1E-7", "0.0000001"), ("-2", "-2")],
)
def test_a_number_is_written_without_exponent_and_idle_zeros(value: str, text: str) -> None:
    assert written(Decimal(value)) == text


@given(st.decimals(-10, 10, places=4), st.decimals(-(10**20), 10**20, places=4))
def test_sums_are_exact(left: Decimal, right: Decimal) -> None:
    assert Decimal(add(left, right)) == Decimal(add(right, left)) == left + right


def test_the_longest_numbers_still_add_exactly() -> None:
    large, small = number("9" * 30 + "e29"), number("1e-59")
    assert large is not None
    assert small is not None
    assert add(large, small) == "9" * 30 + "0" * 29 + "." + "0" * 58 + "1"
