"""The left side: outline, tree and summaries under tabs, and below them what the book amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.ui.components.telling import Sides
from marginalia.ui.view import View
from marginalia.ui.words import count
from marginalia.ui.work import aside
from marginalia.ui.workbench import Paper

if TYPE_CHECKING:
    from marginalia.story.outline import Count
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape
    from marginalia.ui.workbench import Workbench


class SidesView(View):
    """Shows the pages that it is given; counts again after every change."""

    def __init__(self, desk: Desk, bench: Workbench, **pages: Any) -> None:  # noqa: ANN401 - views
        super().__init__(desk)
        self._bench = bench
        self._sides = Sides(**pages, sizing_mode="stretch_both")
        self._sides.hear(undo=self._undo, redo=self._redo, search=self._search, trash=self._trash)
        self.follow("active", then=self._turned, of=self._sides)
        self.follow("side", then=self._turn, of=bench)
        self.follow("shape", then=self._count)

    def __panel__(self) -> Sides:
        return self._sides

    def _turned(self, *_: object) -> None:
        self._bench.side = self._sides.active

    def _turn(self, *_: object) -> None:
        self._sides.active = self._bench.side

    async def _count(self, *_: object) -> None:
        shape: Shape | None = self.desk.shape
        if shape is None or self.desk.book is None:
            self._sides.param.update(facts="", more="")
            return
        found: list[tuple[Count, Count]] = []

        async def look() -> None:
            if self.desk.book is not None:
                found.append(await aside(self.desk.studio.story.statistics, self.desk.book.id))

        await self.desk.attempt(look())
        if found and shape is self.desk.shape:
            branch, book = found[0]
            self._sides.param.update(
                facts=count(branch.words, "word"),
                more=f"This branch: {_said(branch)}.\nThe whole book: {_said(book)}.",
            )

    async def _undo(self, _: Said) -> None:
        await self._bench.undo()

    async def _redo(self, _: Said) -> None:
        await self._bench.redo()

    def _search(self, _: Said) -> None:
        self._bench.open_search()

    def _trash(self, _: Said) -> None:
        self._bench.paper = Paper(name="trash")


def _said(amount: Count) -> str:
    parts, words, tokens = (
        count(number, unit)
        for number, unit in ((amount.parts, "part"), (amount.words, "word"), (amount.tokens, "token"))
    )
    return f"{parts}, {words}, {tokens}"
