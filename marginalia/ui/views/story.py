"""The story in the middle of the page: the parts near the screen, and what is being written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from marginalia.ui.components import StoryPaper
from marginalia.ui.settler import Settler
from marginalia.ui.telling import part_row
from marginalia.ui.view import View
from marginalia.ui.words import doing
from marginalia.ui.work import aside
from marginalia.ui.workbench import SUMMARIES, Paper
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run
    from marginalia.story.parts import Part
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape
    from marginalia.ui.workbench import Workbench

_PAGE = 24
_MOST = 240


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the browser was told of a part: anything else here, and it is told again."""

    node: object
    number: int
    versions: tuple[int, int]
    last: bool


class StoryView(View):
    """Keeps a window of the branch in the browser: its end at first, more on scrolling, around a part on demand."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._paper = StoryPaper(sizing_mode="stretch_both")
        self._paper.hear(
            ready=self._ready, more=self._more, end=self._to_end, edit=self._edit, save=self._save, refresh=self._again,
            step=self._step, regenerate=self._regenerate, swipe=self._swipe, branch=self._branch, delete=self._delete,
            prompt=self._prompt, rerun=self._rerun, revisions=self._revisions, summary=self._summary, split=self._split,
            merge=self._merge, write=self._write_on, bookmark=self._bookmark, keep=self._keep, continue_=self._continue,
        )  # fmt: skip
        self._first: int = 0
        self._stop: int = 0
        self._length: int = 0
        self._sending = 0
        self._end, self._goal = False, cast("PartId | None", None)
        self._begun: PartId | None = None  # a part whose editor opens as soon as it stands there
        self._seen: dict[PartId, _Seen] = {}
        self._book: int | None = None
        self._live: PartId | None = None
        self._settler: Settler | None = None
        self.follow("shape", then=self._reshape)
        self.follow("show", then=self._go_to)
        self.follow("beat", then=self._write)
        self.follow("running", then=self._running)
        self.follow("found", then=self._mark, of=bench)

    def __panel__(self) -> StoryPaper:
        return self._paper

    def command(self, name: str) -> None:
        """Do what a key stands for: ``edit``, ``next`` or ``previous``."""
        self._paper.tell("command", name=name)

    # The window.

    async def _ready(self, _: Said) -> None:
        self._seen.clear()
        self._paper.tell("reset", first=True)
        self._mark()
        await self._send(end=True)
        if self.desk.running:
            self._settler = None
            self._write()

    async def _reshape(self, *_: object) -> None:
        desk = self.desk
        shape: Shape | None = desk.shape
        if shape is None or desk.book is None:
            return
        total, at_end = len(shape.branch), self._stop >= self._length
        if desk.book.id != self._book:
            self._book, at_end = desk.book.id, True
            self._first = self._stop = 0
            self._seen.clear()
            self._paper.tell("reset", first=True)
        if at_end or self._stop > total:
            self._stop = total
            wanted = self._first or total - _PAGE
            self._first = max(0, min(wanted, total - _PAGE))
        self._length = total
        await self._send()

    async def _more(self, said: Said) -> None:
        if said.get("up"):
            self._first = max(0, self._first - _PAGE)
            self._stop = min(self._stop, self._first + _MOST)
        else:
            self._stop = min(self._length, self._stop + _PAGE)
            self._first = max(self._first, self._stop - _MOST)
        await self._send()

    async def _to_end(self, _: Said) -> None:
        self._first, self._stop = max(0, self._length - _PAGE), self._length
        await self._send(end=True)

    async def _go_to(self, *_: object) -> None:
        shape: Shape | None = self.desk.shape
        number = self.desk.show
        if shape is None or not 1 <= number <= len(shape.branch):
            return
        self.desk.show = 0
        if not self._first < number <= self._stop:
            self._first = max(0, number - 1 - _PAGE // 3)
            self._stop = min(self._length, self._first + _PAGE)
        await self._send(show=shape.branch[number - 1])

    async def _send(self, *, end: bool = False, show: PartId | None = None) -> None:
        shape: Shape | None = self.desk.shape
        if shape is None:
            self._paper.tell(
                "window", start=1, total=0, order=[], parts=[], running=None, end=True, show=None
            )
            return
        self._sending += 1
        sending, self._end, self._goal = self._sending, self._end or end, show or self._goal
        start, order = self._first + 1, shape.branch[self._first : self._stop]
        wanted = {part: self._look(shape, part, number) for number, part in enumerate(order, start)}
        fresh = [part for part, seen in wanted.items() if self._seen.get(part) != seen]
        rows = await aside(self._rows, fresh, wanted)
        if shape is not self.desk.shape or sending != self._sending:
            return  # what is sent next has everything that this had
        self._seen = wanted
        self._paper.tell(
            "window", start=start, total=len(shape.branch), order=list(order), parts=rows, running=self._live,
            end=self._end, show=self._goal,
        )  # fmt: skip
        self._end, self._goal = False, None
        if self._begun in order:
            self._paper.tell("edit", id=self._begun, text="")
            self._begun = None

    @staticmethod
    def _look(shape: Shape, part: PartId, number: int) -> _Seen:
        return _Seen(shape.tree[part], number, shape.versions(part), part == shape.leaf)

    def _rows(self, parts: Sequence[PartId], wanted: dict[PartId, _Seen]) -> list[dict[str, Any]]:
        now = datetime.now(UTC)
        story = self.desk.studio.story
        return [
            part_row(story.part(part), number=seen.number, versions=seen.versions, last=seen.last, now=now)
            for part, seen in ((part, wanted[part]) for part in parts)
        ]

    def _mark(self, *_: object) -> None:
        """Mark what was searched for, or nothing."""
        self._paper.tell("marks", words=list(self._bench.found.words))

    # What is being written.

    def _write(self, *_: object) -> None:
        run: Run | None = self.desk.run
        if run is None:
            return
        part = run.part.id if run.part is not None else None
        whole = self._settler is None or part != self._live
        if whole or self._settler is None:
            self._settler, self._live = Settler(), part
        append, tail = self._settler.feed(run.text)
        text, ticks = doing(run)
        self._paper.tell(
            "writing", id=part, whole=whole, append=append, tail=tail, reasoning=run.reasoning,
            status=text, age=time.monotonic() - run.started, ticks=ticks,
        )  # fmt: skip

    async def _running(self, *_: object) -> None:
        if self.desk.running:
            return
        if self._live is not None:
            self._seen.pop(self._live, None)  # it stands there as it streamed in; now as it was stored
        self._settler = self._live = None
        self._paper.tell("idle")
        await self._send()

    # What people do with a part.

    async def _edit(self, said: Said) -> None:
        part = await self._part(said)
        if part is not None and not (self.desk.running and self._live == part.id):
            self._paper.tell("edit", id=part.id, text=part.text)

    async def _save(self, said: Said) -> None:
        story = self.desk.studio.story
        await self.desk.attempt(aside(story.edit, _id(said), str(said["text"])))

    async def _again(self, said: Said) -> None:
        self._seen.pop(_id(said), None)
        await self._send()

    async def _step(self, said: Said) -> None:
        await self.desk.step(_id(said), 1 if int(said["by"]) > 0 else -1)

    async def _regenerate(self, said: Said) -> None:
        await self.desk.regenerate(_id(said))

    async def _swipe(self, said: Said) -> None:
        await self.desk.swipe(_id(said))

    async def _branch(self, said: Said) -> None:
        await self.desk.branch(_id(said))

    async def _delete(self, said: Said) -> None:
        await self.desk.delete(_id(said))

    def _prompt(self, said: Said) -> None:
        self.desk.wish("prompt", _id(said))

    def _rerun(self, said: Said) -> None:
        self.desk.wish("again", _id(said))

    def _revisions(self, said: Said) -> None:
        self._bench.paper = Paper(name="revisions", part=_id(said))

    def _summary(self, said: Said) -> None:
        self._bench.side = SUMMARIES
        shape: Shape | None = self.desk.shape
        if shape is not None and shape.tree[_id(said)].summary_id is None:
            self._bench.summaries.create(_id(said))

    async def _split(self, said: Said) -> None:
        await self._bench.split(_id(said), str(said["text"]), int(said["at"]))

    async def _merge(self, said: Said) -> None:
        await self._bench.merge(_id(said))

    async def _write_on(self, said: Said) -> None:
        self._begun = await self._bench.write_on(_id(said))
        await self._send()

    async def _bookmark(self, said: Said) -> None:
        await self._bench.bookmark(_id(said))

    async def _keep(self, said: Said) -> None:
        await self._bench.keep(_id(said))

    async def _continue(self, said: Said) -> None:
        await self._bench.go_on(_id(said))

    async def _part(self, said: Said) -> Part | None:
        found: list[Part] = []

        async def look() -> None:
            found.append(await aside(self.desk.studio.story.part, _id(said)))

        await self.desk.attempt(look())
        return found[0] if found else None


def _id(said: Said) -> PartId:
    return PartId(int(said["id"]))
