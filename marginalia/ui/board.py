"""The panels of the extensions, told to a component: what each shows of the open book, and its form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.errors import NotFound
from marginalia.ui.extending import fields_of, shown_row, store_form
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from marginalia.extensions.host import OwnedPanel
    from marginalia.ui.components.base import Piece, Said
    from marginalia.ui.desk import Desk
    from marginalia.values import Book


class Board:
    """Tells *piece* the panels for the book on *desk*, and what failed while they were asked."""

    def __init__(self, desk: Desk, piece: Piece) -> None:
        self._desk = desk
        self._piece = piece

    async def look(self, wanted: Callable[[], bool]) -> None:
        """Ask every panel what it shows; each has its seconds, and a slow one holds up none that stands before it.

        Ends early when it is not *wanted* any more.
        """
        book = self._desk.book
        panels = self._desk.studio.extensions.panels if book is not None else ()
        names = [[_key(each), each.owner, each.panel.title] for each in panels]
        self._piece.tell("panels", panels=names, book=book.name if book is not None else "")
        for each in panels:
            if book is not None and wanted():
                await self._piece.attempt(self._show(each, book))

    async def save(self, said: Said) -> None:
        """Keep what was typed into the form of a panel."""
        desk, key = self._desk, str(said.get("key"))
        owned = next((each for each in desk.studio.extensions.panels if _key(each) == key), None)
        if owned is None or desk.book is None:
            raise NotFound("This panel is no longer there: its extension was switched off.")
        values = dict(said.get("values") or {})
        errors = await aside(store_form, owned.panel, desk.studio, desk.book.id, values)
        self._piece.tell("saved", key=key, errors=errors)
        if not errors:
            await desk.refresh()

    async def _show(self, owned: OwnedPanel, book: Book) -> None:
        studio = self._desk.studio
        found = await studio.extensions.shown(owned, studio, book, self._desk.prompt)
        fields = await aside(fields_of, owned.panel, studio, book.id)
        self._piece.tell("panel", key=_key(owned), fields=fields, **shown_row(found))


def _key(owned: OwnedPanel) -> str:
    return f"{owned.owner}/{owned.panel.title}"
