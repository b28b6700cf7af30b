"""Reading cases: one JSON array, every case self-contained."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Json: TypeAlias = Mapping[str, Any]
"""A JSON object."""

Value: TypeAlias = Any
"""Any JSON value, or whatever was observed in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One black-box case: the world, what is done, and what must come out."""

    id: str
    area: str
    title: str
    level: str
    given: Json
    when: Sequence[Json]
    then: Json


def load(path: Path, *, areas: Collection[str] = (), ids: Collection[str] = ()) -> list[Case]:
    """The cases of a file, or those of the wanted areas and ids."""
    found = [_case(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    return [case for case in found if (not areas or case.area in areas) and (not ids or case.id in ids)]


def _case(raw: Json) -> Case:
    return Case(
        id=raw["id"],
        area=raw["area"],
        title=raw.get("title", ""),
        level=raw.get("level", "must"),
        given=built(raw["given"]),
        when=built(raw["when"]),
        then=raw["then"],
    )


def built(value: Value) -> Value:
    """*value* with every ``{"$repeat": [text, n]}`` in it built."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {name: built(each) for name, each in value.items()}
    return [built(each) for each in value] if isinstance(value, list) else value
