"""Changing an exported lorebook as somebody's hand or another program would, before it is imported again.

The fields are those of ``marginalia/formats/marginalia.py``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.conformance.world import NotBuiltYetError

if TYPE_CHECKING:
    from tests.conformance.case import Json, Value


def edited(raw: bytes, edit: Json) -> bytes:
    """The export with *edit* in it."""
    document: dict[str, Any] = json.loads(raw)
    for what, value in edit.items():
        if what == "add_subbook_ref":
            _named(document, value[0])["subbooks"].append(_reference(document, value[1]))
        elif what == "replace_entries":
            _named(document, value[0])["entries"] = value[1]
        elif what in document:
            document[what] = value
        else:
            message = f"an edit of an exported lorebook: {what}"
            raise NotBuiltYetError(message)
    return json.dumps(document, ensure_ascii=False).encode()


def _named(document: Json, name: str) -> Value:
    return next(each for each in document["lorebooks"] if each["name"] == name)


def _reference(document: Json, name: str) -> str:
    """The identifier of the lorebook with that name; a name that nobody has stands for itself."""
    return next((each["uuid"] for each in document["lorebooks"] if each["name"] == name), name)
