"""Jinja's operators and ``range``, with the size of the result known before it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from marginalia.errors import TemplateError
from marginalia.prompt.sandbox.limits import MAX_ITEMS, allow, size

MOST_BITS = 256
"""How large a whole number may be."""


def limited_range(*bounds: int) -> range:
    """``range``, of a length that can be gone through."""
    numbers = range(*bounds)
    if len(numbers) > MAX_ITEMS:
        raise TemplateError(f"The template was stopped: a range may have {MAX_ITEMS:,} numbers.")
    return numbers


def bits(value: object) -> int:
    """How large a whole number is; 0 for anything else."""
    return value.bit_length() if isinstance(value, int) else 0


def _power(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise TemplateError("The template was stopped: only numbers can be raised to a power.")
    if isinstance(left, int) and bits(left) * abs(right) > MOST_BITS:
        raise TemplateError("The template was stopped: a number would be too large.")
    return left**right


def _product(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, int | float) and isinstance(other, int):
            allow(size(one) * max(0, other))
    return left * right


def _added(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    allow(size(left) + size(right))
    return left + right


def _remainder(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    if not isinstance(left, int | float):
        raise TemplateError("The template was stopped: % is for numbers.")
    return left % right


def _quotient(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    return left / right


def _floor(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    return left // right


def _difference(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    return left - right


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": _added,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "//": _floor,
    "%": _remainder,
    "**": _power,
}
