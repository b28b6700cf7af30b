"""What a part was before, and the trash: to look at, and to bring back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from marginalia.ui.components.telling import StorySheet
from marginalia.ui.telling import revision_rows, trash_rows
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.workbench import Paper, Workbench


class RevisionsView(View):
    """Opens what the workbench lays beside the story."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._sheet = StorySheet()
        self._sheet.hear(closed=self._closed, bring_back=self._bring_back, restore=self._restore)
        self.follow("paper", then=self._open, of=bench)

    def __panel__(self) -> StorySheet:
        return self._sheet

    async def _open(self, *_: object) -> None:
        paper: Paper | None = self._bench.paper
        if paper is None:
            self._sheet.tell("close")
        elif paper.name == "trash":
            await self.desk.attempt(self._show_trash())
        elif paper.part is not None:
            await self.desk.attempt(self._show_revisions(paper.part))

    async def _show_trash(self) -> None:
        if self.desk.book is not None:
            parts = await aside(self.desk.studio.story.trash, self.desk.book.id)
            self._sheet.tell("trash", rows=trash_rows(parts))

    async def _show_revisions(self, part: PartId) -> None:
        number = self.desk.shape.number(part) if self.desk.shape is not None else 0

        def read() -> list[dict[str, Any]]:
            # Comparing long texts takes a while, so that is done aside too.
            return revision_rows(self.desk.studio.story.revisions(part), datetime.now(UTC))

        rows = await aside(read)
        self._sheet.tell(
            "revisions", title=f"Revisions of part {number}" if number else "Revisions", rows=rows
        )

    def _closed(self, _: Said) -> None:
        self._bench.paper = None

    async def _bring_back(self, said: Said) -> None:
        if self._bench.paper is not None and self._bench.paper.part is not None:
            await self._bench.bring_back(self._bench.paper.part, int(said["id"]))

    async def _restore(self, said: Said) -> None:
        await self._bench.restore(PartId(int(said["id"])))
