"""Changing an exported lorebook as somebody's hand or another program would, before it is imported again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.world import NotBuiltYetError

if TYPE_CHECKING:
    from tests.conformance.case import Json


def edited(raw: str | bytes, edit: Json) -> str | bytes:
    """The export with *edit* in it; needs to know the fields of the product's own format."""
    del raw
    message = f"a documented file format of lorebooks, to edit an export ({', '.join(edit)})"
    raise NotBuiltYetError(message)
