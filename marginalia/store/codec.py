"""Our frozen values as JSON and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from marginalia.errors import InvalidInput
from marginalia.lore.book import Filter, RegexFilter, TextFilter
from marginalia.store.session import storable

T = TypeVar("T")


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """*value* as JSON's own types; raises ``InvalidInput`` for what has no place there."""
    try:
        return msgspec.to_builtins(value, enc_hook=_as_mapping)
    except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
        raise InvalidInput(
            f"This cannot be stored: {error}. Use texts, numbers, lists and mappings."
        ) from error


def to_json(value: object) -> str:
    """*value* as JSON text."""
    built = plain(value)
    try:
        return msgspec.json.encode(built).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_cleaned(built)).decode()


def from_json(text: str) -> Any:  # noqa: ANN401 - whatever JSON has
    """What a JSON text holds."""
    return msgspec.json.decode(text)


def fields_of(record: Any, *, without: frozenset[str]) -> dict[str, Any]:  # noqa: ANN401 - any of our dataclasses
    """A record's fields as JSON's types, except those that are columns and those that are as they always are."""
    return {
        field.name: plain(value)
        for field in dataclasses.fields(record)
        if field.name not in without and (value := getattr(record, field.name)) != _default(field)
    }


def rebuilt(cls: type[T], data: Mapping[str, Any], **more: object) -> T:
    """A *cls* from what ``fields_of`` gave and its other fields; names it does not know (any more) are left out."""
    hints = _hints(cast("Hashable", cls))
    known = {name: _converted(value, hints[name]) for name, value in data.items() if name in hints}
    return cls(**known, **more)


def converted(cls: type[T], data: Mapping[str, Any]) -> T:
    """A *cls* from all of its fields at once, much faster than ``rebuilt``; for classes without unions of records."""
    return msgspec.convert(data, cls)


def parsed(cls: type[T], text: str) -> T:
    """A *cls* from its JSON text; numbers that are keys there become numbers again."""
    return msgspec.json.decode(text, type=cls)


def utc(stored: datetime) -> datetime:
    """A time from the database."""
    return stored.replace(tzinfo=UTC)


def bare(time: datetime) -> datetime:
    """A time for the database, whose times are UTC."""
    return time.astimezone(UTC).replace(tzinfo=None)


def _converted(value: Any, hint: Any) -> Any:  # noqa: ANN401 - by type hints
    if hint == Filter | None:
        return _filter(cast("Mapping[str, str] | None", value))
    return msgspec.convert(value, hint, strict=False)


def _filter(value: Mapping[str, str] | None) -> Filter | None:
    if value is None:
        return None
    return RegexFilter(value["pattern"]) if "pattern" in value else TextFilter(value["text"])


@cache
def _hints(cls: Hashable) -> dict[str, Any]:
    # A module may import these for its type checker alone; the fields are what they say all the same.
    return get_type_hints(cls, localns={"Mapping": Mapping, "Any": Any, "datetime": datetime})


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _as_mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    raise TypeError(f"there is no JSON for {type(value).__name__}")


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - whatever JSON has
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {storable(key): _cleaned(each) for key, each in pairs}
    if isinstance(value, list):
        return [_cleaned(each) for each in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    return storable(value)
