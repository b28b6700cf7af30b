"""From a param class to a form and back: every field's label, help, bounds and choices are those of its parameter."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias, cast

import param

from marginalia.models.connection import JsonObject
from marginalia.values import NOTHING

Choices: TypeAlias = Mapping[str, Sequence[tuple[Any, str]]]

_NOTHING: Choices = {}


def described(
    model: param.Parameterized,
    *,
    only: Sequence[str] = (),
    wide: Collection[str] = (),
    areas: Collection[str] = (),
    choices: Choices = _NOTHING,
    switched: Mapping[str, float] = NOTHING,
) -> list[dict[str, Any]]:
    """The fields of *model* as the browser's form takes them.

    ``wide`` ones take a whole line, ``areas`` are for longer texts, ``choices`` gives the pairs of value and label that
    may be chosen where the parameter itself does not know them. ``switched`` ones are numbers that may be switched off,
    each with where it starts when it is switched on.
    """
    names = only or [name for name in model.param if name != "name" or "name" in vars(type(model))]
    fields = [_field(model, name, wide, areas, choices.get(name)) for name in names]
    return [
        field | {"kind": "switched", "start": switched[field["name"]]} if field["name"] in switched else field
        for field in fields
    ]


def _field(
    model: param.Parameterized,
    name: str,
    wide: Collection[str],
    areas: Collection[str],
    options: Sequence[tuple[Any, str]] | None,
) -> dict[str, Any]:
    parameter = cast("Any", model.param[name])
    field: dict[str, Any] = {
        "name": name,
        "label": parameter.label,
        "doc": parameter.doc or "",
        "value": getattr(model, name),
        "kind": "area" if name in areas else _kind(parameter),
        "wide": name in wide or name in areas,
    }
    objects: Sequence[Any] | None = getattr(parameter, "objects", None)
    if options is None and objects is not None:
        options = [(each, str(each) or "not sent") for each in objects]
    if options is not None:
        field |= {"kind": "choice", "options": [list(pair) for pair in options]}
    return field


def _kind(parameter: Any) -> str:  # noqa: ANN401 - param leaves its own types open
    match parameter:
        case JsonObject():
            return "json"
        case param.Boolean():
            return "boolean"
        case param.Number():
            return "number"
        case param.List():
            return "tags"
        case _:
            return "text"


def fill(model: param.Parameterized, values: Mapping[str, Any]) -> dict[str, str]:
    """Put what a form sent into *model*; the fields that cannot be used, each with what would be accepted."""
    errors: dict[str, str] = {}
    for name, value in values.items():
        if name not in model.param:
            continue
        try:
            setattr(model, name, _read(model.param[name], value))
        except (ValueError, TypeError) as error:
            errors[name] = _accepted(model.param[name], error)
    return errors


def _read(parameter: Any, value: Any) -> Any:  # noqa: ANN401 - JSON in, a parameter's value out
    if not isinstance(parameter, param.Number) or isinstance(parameter, param.Boolean):
        return value
    text = str(value if value is not None else "").strip().replace(",", ".")
    if not text:
        return None
    return int(text) if isinstance(parameter, param.Integer) else float(text)


def _accepted(parameter: Any, error: Exception) -> str:  # noqa: ANN401 - the same
    if isinstance(parameter, JsonObject):
        return str(error)
    if not isinstance(parameter, param.Number):
        return "This value cannot be used."
    what = "A whole number" if isinstance(parameter, param.Integer) else "A number"
    bounds: tuple[float | None, float | None] | None = parameter.bounds
    low, high = bounds or (None, None)
    match low, high:
        case None, None:
            limits = ""
        case _, None:
            limits = f" {'from' if parameter.inclusive_bounds[0] else 'above'} {low}"
        case None, _:
            limits = f" up to {high}"
        case _:
            limits = f" from {low} to {high}"
    return f"{what}{limits}{', or nothing' if parameter.allow_None else ''}."
