"""Variables: reading, setting, adding and counting, the same for those of the branch and those of the book.

Adding adds when both sides are numbers, where nothing counts as 0, and puts texts together otherwise; counting
something that is no number starts from 0 (specification: semantics B1 25).
"""

from __future__ import annotations

from collections.abc import MutableMapping
from decimal import Decimal
from typing import TypeAlias

from marginalia.errors import TemplateError
from marginalia.prompt.macros.numbers import add, number

Store: TypeAlias = MutableMapping[str, str]

MAX_VALUE = 200_000
"""How many characters a variable may hold."""

_ZERO = Decimal(0)


def put(store: Store, name: str, value: str) -> None:
    """Set a variable.

    Raises:
        TemplateError: the value is too long to keep.
    """
    if len(value) > MAX_VALUE:
        raise TemplateError(
            f"The variable {name!r} would have {len(value):,} characters; {MAX_VALUE:,} are possible. Keep it shorter."
        )
    store[name] = value


def increase(store: Store, name: str, value: str) -> None:
    """Add *value* to a variable: numbers are added, texts are put together."""
    before = store.get(name)
    left = number(before) if before else _ZERO
    right = number(value)
    put(store, name, (before or "") + value if left is None or right is None else add(left, right))


def decrease(store: Store, name: str, value: str) -> None:
    """Take *value* off a variable; does nothing when one of the two is no number."""
    before = store.get(name)
    left = number(before) if before else _ZERO
    right = number(value)
    if left is not None and right is not None:
        put(store, name, add(left, -right))


def count(store: Store, name: str, step: int) -> str:
    """Count a variable up or down by *step*; answers the new value."""
    store[name] = add(number(store.get(name)) or _ZERO, Decimal(step))
    return store[name]
