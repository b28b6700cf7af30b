"""Extensions as their page shows them: switches, what went wrong, panels, and forms made from their dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec

from marginalia.extensions.api import Table
from marginalia.extensions.faults import sentence_of
from marginalia.ui.safe import safe

if TYPE_CHECKING:
    from marginalia.extensions.api import BookData
    from marginalia.studio import Studio

_MOST_ROWS = 500
_LONG = {"text", "private", "note", "notes", "content", "description"}


def extension_rows(studio: Studio) -> list[dict[str, Any]]:
    """Every extension with its switch, and what went wrong in it last."""
    failed = {each.owner: sentence_of(each) for each in studio.extensions.problems}
    return [
        {
            "name": each.name,
            "title": each.title,
            "description": each.description,
            "on": each.on,
            "problem": each.problem or failed.get(each.name, ""),
            "known": bool(each.on or each.description or not each.problem),
        }
        for each in studio.extensions.all()
    ]


def shown_row(found: str | Table) -> dict[str, Any]:
    """What a panel gave: Markdown as clean HTML, or a table of plain texts."""
    if not isinstance(found, Table):
        return {"html": safe(str(found)), "columns": [], "rows": [], "more": 0}
    rows = [[_cell(cell) for cell in row] for row in found.rows[:_MOST_ROWS]]
    return {
        "html": safe(found.note) if found.note else "",
        "columns": [str(each) for each in found.columns],
        "rows": rows,
        "more": max(0, len(found.rows) - _MOST_ROWS),
    }


def form_fields(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - the dataclass of an extension
    """The fields of a dataclass as the browser's form takes them; what no form can edit is left out."""
    hints = _hints(value)
    rows: list[dict[str, Any]] = []
    for each in fields(value):
        field = _field(each.name, hints[each.name], getattr(value, each.name))
        if field is not None:
            rows.append(field)
    return rows


def filled(value: Any, typed: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:  # noqa: ANN401 - the same
    """*value* with what was typed, and the fields that cannot be used, each with what would be accepted."""
    hints, errors, taken = _hints(value), dict[str, str](), dict[str, Any]()
    for field in form_fields(value):
        name = field["name"]
        if name not in typed:
            continue
        given = _number(typed[name]) if field["kind"] == "number" else typed[name]
        try:
            taken[name] = msgspec.convert(given, hints[name], strict=field["kind"] != "number")
        except msgspec.ValidationError:
            errors[name] = "A number, please." if field["kind"] == "number" else "This value cannot be used."
    return (value if errors else replace(value, **taken)), errors


def store_form(data: BookData[Any], studio: Studio, book: int, typed: Mapping[str, Any]) -> dict[str, str]:
    """Keep what was typed with the book as it is now; the fields that cannot be used."""
    record = studio.books.get(book)
    value, errors = filled(data.of(record), typed)
    if not errors:
        data.store(record, value)
    return errors


def _hints(value: Any) -> dict[str, Any]:  # noqa: ANN401 - the dataclass of an extension
    return get_type_hints(cast("type[object]", type(value)))


def _field(name: str, hint: Any, value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - any field of a dataclass
    kind = _kind(name, hint)
    if kind is None:
        return None
    field = {
        "name": name, "label": name.replace("_", " ").capitalize(), "doc": "", "kind": kind,
        "value": list(value) if kind == "tags" else value, "wide": kind == "area",
    }  # fmt: skip
    if kind == "choice":
        field["options"] = [[each, str(each)] for each in get_args(_plain(hint))]
    return field


def _kind(name: str, hint: Any) -> str | None:  # noqa: ANN401 - the same
    hint = _plain(hint)
    if get_origin(hint) is Literal:
        return "choice"
    if hint is bool:
        return "boolean"
    if hint in {int, float}:
        return "number"
    if hint is str:
        return "area" if name in _LONG else "text"
    if hint in (tuple[str, ...], list[str]):
        return "tags"
    return None


def _plain(hint: Any) -> Any:  # noqa: ANN401 - the same
    """*hint* without ``None`` beside one other type."""
    if isinstance(hint, UnionType):
        others = [each for each in get_args(hint) if each is not type(None)]
        return others[0] if len(others) == 1 else hint
    return hint


def _number(typed: Any) -> Any:  # noqa: ANN401 - whatever the browser sent
    text = str(typed if typed is not None else "").strip().replace(",", ".")
    return text or None


def _cell(cell: object) -> str:
    match cell:
        case bool():
            return "yes" if cell else "no"
        case int() | float():
            return f"{cell:,}"
        case _:
            return str(cell)
