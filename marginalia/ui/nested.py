"""Forms over records whose fields stand in groups: ``scope_parts`` of the form is ``record.scope.parts``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import param

from marginalia.models.base import cleaned

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from marginalia.models.base import Model

T = TypeVar("T", bound="Any")


def names_of(model: Model) -> list[str]:
    """The fields of a form, without the name that param gives to everything."""
    return [name for name in model.param if name != "name" or model.named]


def show(model: Model, record: object, groups: Collection[str]) -> None:
    """Fill a form from *record*."""
    values: dict[str, Any] = {}
    for name in names_of(model):
        group, _, rest = name.partition("_")
        value = getattr(getattr(record, group), rest) if group in groups else getattr(record, name)
        values[name] = list(value) if isinstance(model.param[name], param.List) else value
    model.param.update(**values)


def read(model: Model, record: T, groups: Collection[str]) -> T:
    """*record* with what stands in a form."""
    own: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, value in _values(model).items():
        group, _, rest = name.partition("_")
        if group in groups:
            inside[group][rest] = value
        else:
            own[name] = value
    nested = {group: replace(getattr(record, group), **values) for group, values in inside.items()}
    made: T = replace(record, **own, **nested)
    return made


def _values(model: Model) -> Mapping[str, Any]:
    found: dict[str, Any] = {name: getattr(model, name) for name in names_of(model)}
    return {
        name: cleaned(value) if isinstance(model.param[name], param.List) else value
        for name, value in found.items()
    }
