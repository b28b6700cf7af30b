"""The outline at the left: the parts of the branch by number and first words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.ui.components import OutlineList
from marginalia.ui.telling import outline_row
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.story.outline import Row
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape

_MOST_ROWS = 200


class OutlineView(View):
    """Tells the browser how many parts there are, and the rows it asks for."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._list = OutlineList(sizing_mode="stretch_both")
        self._list.hear(ready=self._ready, rows=self._rows, show=self._show, step=self._step)
        self.follow("shape", then=self._reshape)

    def __panel__(self) -> OutlineList:
        return self._list

    def _ready(self, _: Said) -> None:
        self._reshape(first=True)

    def _reshape(self, *_: object, first: bool = False) -> None:
        shape: Shape | None = self.desk.shape
        self._list.tell("outline", first=first, total=len(shape.branch) if shape is not None else 0)

    async def _rows(self, said: Said) -> None:
        shape: Shape | None = self.desk.shape
        if shape is None:
            return
        start = max(0, int(said["from"]))
        stop = min(int(said["to"]), start + _MOST_ROWS)
        rows = await aside(self._read, shape, start, stop)
        if shape is self.desk.shape:
            self._list.tell("rows", rows=[outline_row(row) for row in rows], start=start)

    def _read(self, shape: Shape, start: int, stop: int) -> tuple[Row, ...]:
        book = self.desk.book
        return () if book is None else self.desk.studio.story.outline(book, start, stop, leaf=shape.leaf)

    def _show(self, said: Said) -> None:
        self.desk.show = max(0, int(said["number"]))

    async def _step(self, said: Said) -> None:
        await self.desk.step(PartId(int(said["id"])), 1 if int(said["by"]) > 0 else -1)
