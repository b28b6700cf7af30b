"""What servers were found to want differently, kept with the user's settings: a refusal teaches once, for good."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, cast

from marginalia.errors import MarginaliaError
from marginalia.inference.dialect import Dialect
from marginalia.store import Store

LEARNED = "models.learned"
"""The key in a user's settings: a list of address, model, and what is different from the usual."""

_USUAL = Dialect()


def learned(store: Store) -> dict[tuple[str, str], Dialect]:
    """What was kept, by address and model; what cannot be read is passed over."""
    known: dict[tuple[str, str], Dialect] = {}
    for row in _rows(store.settings.get(LEARNED)):
        match row:
            case [str(address), str(model), dict()]:
                known[address, model] = _USUAL.with_settings(_object(cast("list[object]", row)[-1]))
            case _:
                continue
    return known


def keep(store: Store, known: Mapping[tuple[str, str], Dialect]) -> None:
    """Keep what is known."""
    rows = [[address, model, _different(dialect)] for (address, model), dialect in known.items()]
    with suppress(MarginaliaError):  # it would be learned once more, that is all
        store.settings.set(LEARNED, rows)


def _different(dialect: Dialect) -> dict[str, Any]:
    found = {each.name: getattr(dialect, each.name) for each in fields(dialect)}
    return {name: value for name, value in found.items() if value != getattr(_USUAL, name)}


def _rows(told: object) -> list[object]:
    return cast("list[object]", told) if isinstance(told, list) else []


def _object(told: object) -> dict[str, Any]:
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}
