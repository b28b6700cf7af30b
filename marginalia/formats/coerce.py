"""Reading values of any type as the one that is wanted: files of other tools hold numbers as texts, texts as null."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any, TypeAlias, cast

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Any]

_YES = frozenset({"true", "1", "yes", "on"})
_NO = frozenset({"false", "0", "no", "off", ""})
_LARGEST = 1_000_000_000


def is_object(value: Json) -> bool:
    """Whether *value* is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Json) -> bool:
    """Whether *value* is a JSON array."""
    return isinstance(value, list)


def obj(value: Json) -> Object:
    """*value* if it is a JSON object, else an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def rows(value: Json) -> list[Json]:
    """*value* if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - of anything


def text(value: Json, default: str = "") -> str:
    """*value* as a text; what has no text of its own (null, arrays, objects) is *default*."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else default


def texts(values: Iterable[Json]) -> tuple[str, ...]:
    """The texts among *values*, blank ones left out, blanks around them kept."""
    found = (text(value) for value in values)
    return tuple(each for each in found if each.strip())


def flag(value: Json, *, default: bool = False) -> bool:
    """*value* as yes or no: booleans, numbers, and the words for them; anything else is *default*."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value != 0
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in _YES else False if word in _NO else default
    return default


def number(value: Json, default: float) -> float:
    """*value* as a number, also if it is written as a text; anything else is *default*."""
    if isinstance(value, bool):
        return default
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return default
    if not isinstance(value, int | float) or not isfinite(value):
        return default
    return max(-_LARGEST, min(_LARGEST, value))


def whole(value: Json, default: int) -> int:
    """*value* as a whole number, rounded; anything that is no number is *default*."""
    return round(number(value, default))


def pick(source: Object, *names: str) -> Json:
    """The first of *names* that *source* has, with something in it."""
    return next((source[name] for name in names if source.get(name) is not None), None)


def one_line(value: str, longest: int = 120) -> str:
    """A text made fit for a name: one line, no control characters, not too long."""
    words = "".join(each if each.isprintable() else " " for each in value).split()
    line = " ".join(words)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
