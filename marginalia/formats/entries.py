"""An entry's own fields as JSON and back: what Marginalia's format keeps beside what its older version can say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

from marginalia.formats.coerce import Json, Object, flag, is_list, number, obj, rows, text, whole
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    Insertion,
    LoreSettings,
    Match,
    Pattern,
    Scope,
    When,
    Where,
)

T = TypeVar("T", bound="Any")

_GROUPS: Mapping[str, type] = {
    "match": Match,
    "scope": Scope,
    "when": When,
    "where": Where,
    "budget": EntryBudget,
}


def extras(entry: Entry) -> Object:
    """What an entry has beyond the older format; only what is not as it always is."""
    found: Object = {}
    for name in _GROUPS:
        value = getattr(entry, name)
        if value != type(value)():
            found[name] = plain(value)
    if entry.insertion not in {Insertion.LORE_BLOCK, Insertion.BEFORE_USER_PROMPT}:
        found["insertion"] = str(entry.insertion)
    if entry.syntax != "macros":
        found["syntax"] = entry.syntax
    return found


def with_extras(entry: Entry, found: Object) -> Entry:
    """The entry with what :func:`extras` wrote; what is of a wrong type is left as it always is."""
    groups: Object = {
        name: built(kind, obj(found.get(name))) for name, kind in _GROUPS.items() if name in found
    }
    insertion = text(found.get("insertion"))
    if insertion in {str(each) for each in Insertion}:
        groups["insertion"] = Insertion(insertion)
    if text(found.get("syntax")) in {"macros", "jinja"}:
        groups["syntax"] = found["syntax"]
    return dataclasses.replace(entry, **groups)


def settings_of(settings: LoreSettings) -> Object:
    """A lorebook's settings; empty when they are as they always are."""
    return plain(settings) if settings != LoreSettings() else {}


def plain(value: Json) -> Object:
    """One of our values as a JSON object, without the fields that are as they always are."""
    return {
        field.name: _plain(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.name == "text" or getattr(value, field.name) != field.default
    }


def _plain(value: Json) -> Json:
    if isinstance(value, tuple):
        return [_plain(each) for each in rows(list(value))]  # pyright: ignore[reportUnknownArgumentType] - of ours
    return plain(value) if dataclasses.is_dataclass(value) else value


def built(kind: type[T], found: Object) -> T:
    """A *kind* from what :func:`plain` gave; fields of a wrong type are left as they always are."""
    hints = get_type_hints(kind)
    fields = {name: _built(hints[name], value) for name, value in found.items() if name in hints}
    made: T = kind(**{name: value for name, value in fields.items() if value is not None})
    return made


_SCALARS: Mapping[object, Callable[[Json], Json]] = {
    bool: flag,
    int: lambda value: whole(value, 0),
    float: lambda value: float(number(value, 0)),
    str: text,
    Pattern: lambda value: built(Pattern, {"text": "", **obj(value)}),
}


def _built(hint: Json, value: Json) -> Json:
    if hint in _SCALARS:
        return _SCALARS[hint](value)
    inside: tuple[Json, ...] = get_args(hint)
    if ... in inside:
        return tuple(_built(inside[0], each) for each in rows(value)) if is_list(value) else None
    return value if value in inside else None
