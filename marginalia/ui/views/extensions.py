"""The extensions: switches, what went wrong in them, and their panels for the open book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.ui.board import Board
from marginalia.ui.components.shelves import ExtensionShelf
from marginalia.ui.extending import extension_rows
from marginalia.ui.view import View
from marginalia.ui.work import Newest, aside

if TYPE_CHECKING:
    import asyncio

    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk


class ExtensionsView(View):
    """Opens over the page; while it is open, its panels follow the book and the prompt."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._shelf = ExtensionShelf()
        self._board = Board(desk, self._shelf)
        self._shelf.hear(
            switch=self._shelf.guarded(self._switch),
            save=self._shelf.guarded(self._board.save),
            closed=self._closed,
        )
        self._looks = Newest(self._look)
        self._looking: asyncio.Task[None] | None = None
        self._open = False
        self.follow("book", "prompt", then=self._changed)

    def __panel__(self) -> ExtensionShelf:
        return self._shelf

    async def open(self) -> None:
        """Show the extensions, with the panels of those that are on."""
        self._open = True
        if self._looking is None or self._looking.done():
            self._looking = self.desk.errands.start(self._looks.serve())
        await self._shelf.guarded(self._list)({})

    def _closed(self, _: Said) -> None:
        self._open = False

    def _changed(self, *_: object) -> None:
        if self._open:
            self._looks.ask()

    async def _list(self, said: Said) -> None:
        rows = await aside(extension_rows, self.desk.studio)
        self._shelf.tell("list", rows=rows, note=str(said.get("note", "")))
        self._looks.ask()

    async def _look(self) -> None:
        await self._board.look(lambda: self._open)

    async def _switch(self, said: Said) -> None:
        extensions, name = self.desk.studio.extensions, str(said.get("name"))
        if said.get("on"):
            works = await aside(extensions.enable, name)
            note = "" if works else "It could not be switched on."
        else:
            await aside(extensions.disable, name)
            note = ""
        await self._list({"note": note})
        self.desk.ask_for_prompt()
