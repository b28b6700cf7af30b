"""The filters that Jinja templates may use: none reaches an attribute, and each checks sizes before it works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, TypeAlias, cast

from jinja2 import filters as stock
from jinja2.runtime import Undefined

from marginalia.errors import TemplateError

MAX_VALUE = 100_000
"""How large one value may be: characters, or items of a list with all that is in them."""

MAX_ITEMS = 10_000
"""How many items a range or a list may have."""

_WIDEST = 6  # characters that one item of a list takes at most when it is printed, beside its own

Filter: TypeAlias = Callable[..., Any]


def size(value: object) -> int:
    """How large *value* is; stops counting beyond :data:`MAX_VALUE`, so that shared lists cannot make it slow."""
    total, waiting = 0, [value]
    while waiting and total <= MAX_VALUE:
        item = waiting.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, int):
            total += 1 + item.bit_length() // 3
        elif isinstance(item, Mapping):
            total += len(cast("Mapping[object, object]", item))
            waiting.extend(islice(cast("Mapping[object, object]", item).items(), MAX_ITEMS))
        elif isinstance(item, Sequence):
            total += 1 + len(cast("Sequence[object]", item))
            waiting.extend(islice(cast("Sequence[object]", item), MAX_ITEMS))
        else:
            total += 16
    return total


def allow(amount: int) -> None:
    """Refuse a value of that size before it is made.

    Raises:
        TemplateError: it is too large.
    """
    if amount > MAX_VALUE:
        raise TemplateError(
            f"The template was stopped: a value would be larger than {MAX_VALUE:,} characters."
        )


def text_of(value: object) -> str:
    """*value* as Jinja prints it: texts, numbers, and lists of them; nothing for None.

    Raises:
        TemplateError: it is too large, or something inside Jinja that nobody should see.
    """
    if value is None:
        return ""
    amount = size(value)
    allow(amount if isinstance(value, str) else amount * _WIDEST)
    if not isinstance(value, str | int | float | Undefined) and not _is_plain(value):
        raise TemplateError("The template was stopped: it prints something that is no text, number or list.")
    return str.__str__(value) if isinstance(value, str) else str(value)


def _is_plain(value: object) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(chain.from_iterable(cast("Mapping[object, object]", item).items()))
        elif isinstance(item, list | tuple):
            waiting.extend(cast("Sequence[object]", item))
        elif not isinstance(item, str | int | float | range | Undefined | None):
            return False
    return True


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
    if not all(isinstance(item, int | float) for item in items):
        raise TemplateError("The template was stopped: only numbers have a sum.")
    return sum(items)


def _rounded(value: float, precision: int = 0) -> float:
    return round(value, max(-20, min(precision, 20)))


def _reverse(value: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    return value[::-1] if isinstance(value, str) else _listed(value)[::-1]


_OWN: Mapping[str, Filter] = {
    "upper": lambda value: text_of(value).upper(),
    "lower": lambda value: text_of(value).lower(),
    "title": lambda value: stock.do_title(text_of(value)),
    "capitalize": lambda value: text_of(value).capitalize(),
    "trim": lambda value: text_of(value).strip(),
    "wordcount": lambda value: len(text_of(value).split()),
    "string": text_of,
    "length": len,
    "count": len,
    "default": stock.do_default,
    "d": stock.do_default,
    "int": lambda value, default=0: stock.do_int(value, default) if size(value) <= 300 else default,  # noqa: PLR2004
    "float": lambda value, default=0.0: stock.do_float(value, default) if size(value) <= 300 else default,  # noqa: PLR2004
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
FILTERS: Mapping[str, Filter] = {**_OWN, **{name: stock.FILTERS[name] for name in _STOCK}}
"""The filters a template may use, not yet metered."""
