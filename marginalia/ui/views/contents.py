"""The table of contents: chapters by the headings of the branch that is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.story.chapters import Heading, headings
from marginalia.ui.components.places import ContentsSheet
from marginalia.ui.view import View
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

_MOST = 2000


class ContentsView(View):
    """Opens over the page; the texts are read then, on a thread."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._sheet = ContentsSheet()
        self._sheet.hear(show=self._show)

    def __panel__(self) -> ContentsSheet:
        return self._sheet

    async def open(self) -> None:
        """Look for headings and show them."""
        self._sheet.tell("looking")
        if not await self.desk.attempt(self._tell()):
            self._sheet.tell("close")

    async def _tell(self) -> None:
        found = await aside(self._read)
        rows = [{"number": each.number, "level": each.level, "words": each.words} for each in found[:_MOST]]
        self._sheet.tell("contents", rows=rows)

    def _read(self) -> tuple[Heading, ...]:
        book = self.desk.book
        return () if book is None else headings(part.text for part in self.desk.studio.story.branch(book.id))

    def _show(self, said: Said) -> None:
        self.desk.show = max(0, int(said["number"]))
