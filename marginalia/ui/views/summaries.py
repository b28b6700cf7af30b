"""The summaries of the branch: which stand in the prompt, what they save, and which are stale."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from marginalia.ui.components.telling import SummaryList
from marginalia.ui.telling import summaries_headline, summary_row
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.ui.workbench import SUMMARIES
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.story.overview import SummaryNode
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape
    from marginalia.ui.summarising import Summarising
    from marginalia.ui.workbench import Workbench


class SummariesView(View):
    """Reads the overview after every change of the story, as long as its tab is open."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._list = SummaryList(sizing_mode="stretch_both")
        self._list.hear(
            create=self._create, merge=self._merge, remake=self._remake, remove=self._remove, edit=self._edit,
            stop=self._stop, read=self._read,
        )  # fmt: skip
        self.follow("shape", then=self._update)
        self.follow("side", then=self._update, of=bench)
        self.follow("now", then=self._busy, of=bench.summaries)

    def __panel__(self) -> SummaryList:
        return self._list

    async def _update(self, *_: object) -> None:
        desk = self.desk
        shape: Shape | None = desk.shape
        if self._bench.side != SUMMARIES or shape is None or desk.book is None:
            return
        book, found = desk.book.id, list[tuple["SummaryNode", ...]]()

        async def look() -> None:
            found.append(await aside(desk.studio.summaries.overview, book))

        if await desk.attempt(look()) and shape is desk.shape:
            nodes = found[0]
            self._list.param.update(
                rows=[summary_row(node, shape.branch) for node in nodes],
                headline=summaries_headline(nodes),
                stale=any(node.stale is not None for node in nodes),
            )

    def _busy(self, *_: object) -> None:
        now: Summarising | None = self._bench.summaries.now
        self._list.busy = (
            {}
            if now is None
            else {"text": now.text, "age": time.monotonic() - now.since, "written": now.written}
        )

    def _create(self, _: Said) -> None:
        shape: Shape | None = self.desk.shape
        if shape is not None and shape.leaf is not None:
            self._bench.summaries.create(shape.leaf)

    def _merge(self, said: Said) -> None:
        shape: Shape | None = self.desk.shape
        if shape is None:
            return
        places = sorted(shape.number(PartId(int(part))) for part in said.get("parts") or ())
        places = [place for place in places if place]
        if len(places) > 1:
            self._bench.summaries.merge(shape.branch[places[-1] - 1], shape.branch[places[0] - 1])

    def _remake(self, _: Said) -> None:
        self._bench.summaries.remake()

    async def _remove(self, said: Said) -> None:
        await self._bench.summaries.remove(PartId(int(said["part"])), unwind=bool(said.get("unwind")))

    async def _edit(self, said: Said) -> None:
        await self._bench.summaries.edit(PartId(int(said["part"])), str(said["text"]))

    def _stop(self, _: Said) -> None:
        self._bench.summaries.stop()

    async def _read(self, said: Said) -> None:
        await self._bench.read(PartId(int(said["part"])))
