"""The first visit: three sentences, and an instruction for who has none in mind. They go with the first part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from marginalia.ui.components.places import Welcome
from marginalia.ui.preferences import welcome_no_more, welcomed
from marginalia.ui.view import View
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

LINES = (
    "This book has just begun: read it, and say under *Instructions* what shall happen next.",
    "*Generate* has a model write that part; the one chosen here is small, works offline and sends nothing anywhere.",
    "*Budget* and *Prompt* show what it will be sent, before you send it; *B* makes a book of your own.",
)
OFFER = "Elias says what is in the boat. Mara does not believe him, and goes to look."


class WelcomeView(View):
    """Shown until somebody closes it or a part was generated; *fill* puts an instruction into the turn."""

    def __init__(self, desk: Desk, *, fill: Callable[[str], None]) -> None:
        super().__init__(desk)
        self._fill = fill
        self._note = Welcome(sizing_mode="stretch_width")
        self._note.hear(close=self._close, offer=self._offer)
        self.follow("shape", then=self._look)
        self.follow("running", then=self._wrote)
        self._seen = False

    def __panel__(self) -> Welcome:
        return self._note

    async def _look(self, *_: object) -> None:
        if self._seen or self.desk.shape is None:
            return
        self._seen = True
        if not await aside(welcomed, self.desk.studio):
            self._note.param.update(lines=list(LINES), offer=bool(self.desk.shape.branch))

    def _offer(self, _: Said) -> None:
        self._note.offer = False
        self._fill(OFFER)

    async def _wrote(self, *_: object) -> None:
        if self._note.lines and not self.desk.running:
            await self._end()

    async def _close(self, _: Said) -> None:
        await self._end()

    async def _end(self) -> None:
        self._note.lines = []
        await self.desk.attempt(aside(welcome_no_more, self.desk.studio))
