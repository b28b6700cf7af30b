"""The filters that Jinja templates may use: none reaches an attribute, and each checks sizes before it works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

from jinja2 import filters as stock

from marginalia.errors import TemplateError
from marginalia.prompt.sandbox.limits import MAX_ITEMS, allow, size, text_of

Filter: TypeAlias = Callable[..., Any]

_LONGEST_NUMBER = 300


def _listed(value: Iterable[Any]) -> list[Any]:
    items = list(islice(value, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise TemplateError(f"The template was stopped: a list would have more than {MAX_ITEMS:,} items.")
    return items


def _join(value: Iterable[Any], d: str = "") -> str:
    items = _listed(value)
    texts, between = [text_of(item) for item in items], text_of(d)
    allow(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _replace(value: object, old: str, new: str, count: int | None = None) -> str:
    text, old, new = text_of(value), text_of(old), text_of(new)
    times = text.count(old) if count is None else min(count, text.count(old))
    allow(len(text) + max(0, times) * max(0, len(new) - len(old)))
    return text.replace(old, new, -1 if count is None else count)


def _sum(value: Iterable[Any]) -> int | float:
    items = _listed(value)
    numbers = [item for item in items if isinstance(item, int | float)]
    if len(numbers) < len(items):
        raise TemplateError("The template was stopped: only numbers have a sum.")
    return sum(numbers)


def _rounded(value: float, precision: int = 0) -> float:
    return round(value, max(-20, min(precision, 20)))


def _reverse(value: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    return value[::-1] if isinstance(value, str) else _listed(value)[::-1]


def _title(value: object) -> str:
    return stock.do_title(text_of(value))


def _words(value: object) -> int:
    return len(text_of(value).split())


def _int(value: object, default: int = 0) -> int:
    return stock.do_int(value, default) if size(value) <= _LONGEST_NUMBER else default


def _float(value: object, default: float = 0.0) -> float:
    return stock.do_float(value, default) if size(value) <= _LONGEST_NUMBER else default


def _changed(change: Callable[[str], str]) -> Filter:
    def changed(value: object) -> str:
        return change(text_of(value))

    return changed


_OWN: Mapping[str, Filter] = {
    "upper": _changed(str.upper),
    "lower": _changed(str.lower),
    "title": _title,
    "capitalize": _changed(str.capitalize),
    "trim": _changed(str.strip),
    "wordcount": _words,
    "string": text_of,
    "length": len,
    "count": len,
    "default": stock.do_default,
    "d": stock.do_default,
    "int": _int,
    "float": _float,
    "round": _rounded,
    "abs": abs,
    "sum": _sum,
    "join": _join,
    "list": _listed,
    "reverse": _reverse,
    "replace": _replace,
}
_STOCK = (
    "first",
    "last",
    "unique",
    "sort",
    "min",
    "max",
    "truncate",
    "map",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
)
_ALL: Mapping[str, Filter] = cast("Mapping[str, Filter]", stock.FILTERS)  # their own types are of no use here

FILTERS: Mapping[str, Filter] = {**_OWN, **{name: _ALL[name] for name in _STOCK}}
"""The filters a template may use, not yet metered."""
