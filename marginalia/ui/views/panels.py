"""The page of the inspector that belongs to the extensions: their panels for the open book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.ui.board import Board
from marginalia.ui.components.shelves import PanelPage
from marginalia.ui.view import View
from marginalia.ui.work import Newest

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

PANELS_TAB = 4


class PanelsView(View):
    """Follows the book and the prompt; only while the tab is open. *extensions* opens the dialog with the switches."""

    def __init__(self, desk: Desk, *, extensions: Callable[[], Awaitable[None]]) -> None:
        super().__init__(desk)
        self._page = PanelPage(sizing_mode="stretch_both")
        self._board = Board(desk, self._page)
        self._extensions = extensions
        self._page.hear(ready=self._update, save=self._save, extensions=self._open)
        self._looks = Newest(self._look)
        self._looking: asyncio.Task[None] | None = None
        self.follow("book", "prompt", "tab", then=self._update, always=True)

    def __panel__(self) -> PanelPage:
        return self._page

    @property
    def _shown(self) -> bool:
        return self.desk.tab == PANELS_TAB

    def _update(self, *_: object) -> None:
        if not self._shown:
            return
        if self._looking is None or self._looking.done():
            self._looking = self.desk.errands.start(self._looks.serve())
        self._looks.ask()

    async def _look(self) -> None:
        await self._board.look(lambda: self._shown)

    async def _save(self, said: Said) -> None:
        self._page.tell("trouble", text="")
        await self._page.attempt(self._board.save(said))
        self._looks.ask()

    async def _open(self, _: Said) -> None:
        await self._extensions()
