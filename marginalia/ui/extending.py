"""Extensions as their page shows them: switches, what went wrong, panels, and forms made from their dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec

from marginalia.errors import InvalidInput, NotFound
from marginalia.extensions.api import Form, Table
from marginalia.extensions.data import StoredUserData
from marginalia.extensions.faults import sentence_of
from marginalia.ui.safe import safe

if TYPE_CHECKING:
    from marginalia.extensions.api import BookData, Panel
    from marginalia.studio import Studio
    from marginalia.values import BookId

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
            said = {"label": each.metadata.get("label"), "doc": each.metadata.get("help")}
            rows.append(field | {name: str(text) for name, text in said.items() if text})
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


def fields_of(panel: Panel, studio: Studio, book: BookId) -> list[dict[str, Any]]:
    """The fields of a panel's form, filled with what is kept now; none without a form."""
    form = _form(panel)
    return [] if form is None else form_fields(form.read(studio, studio.books.get(book)))


def store_form(panel: Panel, studio: Studio, book: BookId, typed: Mapping[str, Any]) -> dict[str, str]:
    """Keep what was typed, for the book as it is now; the fields that cannot be used, the form as a whole under "".

    Raises ``NotFound`` for a panel without form.
    """
    form, record = _form(panel), studio.books.get(book)
    if form is None:
        raise NotFound(f"There is nothing to fill in in the panel {panel.title}.")
    value, errors = filled(form.read(studio, record), typed)
    if errors:
        return errors
    try:
        form.write(studio, record, value)
    except InvalidInput as error:
        return {"": str(error)}
    return {}


def _form(panel: Panel) -> Form | None:
    """A panel's form; data of a book or of the user is one, too."""
    match panel.form:
        case None | Form():
            return panel.form
        case StoredUserData() as kept:
            return Form(
                read=lambda _studio, _book: kept.get(), write=lambda _studio, _book, value: kept.set(value)
            )
        case data:
            of_book = cast("BookData[Any]", data)
            return Form(
                read=lambda _studio, book: of_book.of(book),
                write=lambda _studio, book, value: of_book.store(book, value),
            )


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
