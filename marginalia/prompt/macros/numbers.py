"""Numbers in variables: exact decimals, written without exponent and without zeros at the end."""

from __future__ import annotations

import re
from decimal import Context, Decimal

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_MOST_DIGITS = 30
_LARGEST_EXPONENT = 60
_LONGEST = 64

# Two numbers of 30 digits whose exponents are 60 apart from 0 in either direction still add exactly.
_EXACT = Context(prec=200)


def number(text: str | None) -> Decimal | None:
    """The number that *text* is, or None.

    More than 30 digits, or an exponent of 60 or more, is text: a short text like ``1e999999999`` must not become a
    number that takes gigabytes to write down.
    """
    if text is None or len(text) > _LONGEST:
        return None
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    if len(value.as_tuple().digits) > _MOST_DIGITS or abs(value.adjusted()) >= _LARGEST_EXPONENT:
        return None
    return value


def add(left: Decimal, right: Decimal) -> str:
    """The exact sum, written out."""
    return written(_EXACT.add(left, right))


def written(value: Decimal) -> str:
    """*value* in digits: no exponent, no zeros after the last decimal place, no sign on zero."""
    if not value:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
