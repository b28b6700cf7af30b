"""The outline at the left: the parts of the branch by number and first words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.ui.components import OutlineList
from marginalia.ui.view import View
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape

_WORDS = 90
_MOST_ROWS = 200


class OutlineView(View):
    """Tells the browser how many parts there are, and the rows it asks for."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._list = OutlineList(sizing_mode="stretch_both")
        self._list.hear(ready=self._ready, rows=self._rows, show=self._show)
        self.follow("shape", then=self._reshape)

    def __panel__(self) -> OutlineList:
        return self._list

    def _ready(self, _: Said) -> None:
        shape: Shape | None = self.desk.shape
        if shape is not None:
            self._list.tell("outline", first=True, total=len(shape.branch))

    def _reshape(self, *_: object) -> None:
        shape: Shape | None = self.desk.shape
        self._list.tell("outline", total=len(shape.branch) if shape is not None else 0)

    async def _rows(self, said: Said) -> None:
        shape: Shape | None = self.desk.shape
        if shape is None:
            return
        start = max(0, int(said["from"]))
        rows = await aside(self._read, shape, start, min(int(said["to"]), start + _MOST_ROWS))
        if shape is self.desk.shape:
            self._list.tell("rows", rows=rows, start=start)

    def _read(self, shape: Shape, start: int, stop: int) -> list[dict[str, Any]]:
        return [self._row(shape, at) for at in range(start, min(stop, len(shape.branch)))]

    def _row(self, shape: Shape, index: int) -> dict[str, Any]:
        part = shape.branch[index]
        at, of = shape.versions(part)
        words = " ".join(self.desk.studio.story.part(part).text[: _WORDS * 2].split())[:_WORDS]
        return {"words": words or "(no text)", "at": at, "of": of, "partial": shape.tree[part].partial}

    def _show(self, said: Said) -> None:
        self.desk.show = max(0, int(said["number"]))
