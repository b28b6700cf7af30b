"""Summaries in the window of one session: asked for here, written by the studio, seen by every window of the book."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import param

from marginalia.ui.desk import UPDATES_PER_SECOND
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from marginalia.studio.summary_jobs import SummaryJob
    from marginalia.ui.desk import Desk
    from marginalia.values import BookId, PartId


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarising:
    """A summary that is being written: what to say of it, since when (monotonic seconds), and what came of it."""

    text: str
    since: float
    written: str = ""


class SummaryBench(param.Parameterized):
    """What a session does with summaries. What it starts goes on without it."""

    now = param.ClassSelector(
        class_=Summarising, default=None, allow_None=True, doc="The summary that is being written."
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._desk = desk
        self._summaries = desk.studio.summaries
        self._job: SummaryJob | None = None
        self._book: BookId | None = None
        self._watching: asyncio.Task[None] | None = None
        desk.param.watch(self._turn_to, ["book"])  # pyright: ignore[reportUnknownMemberType]

    def create(self, part: PartId) -> None:
        """Have a part and what stands before it summarised, down to the next summary."""
        self._begin(partial(self._summaries.start, part=part))

    def merge(self, newest: PartId, oldest: PartId) -> None:
        """Have one summary made of several."""
        self._begin(partial(self._summaries.start_merge, newest=newest, oldest=oldest))

    def remake(self) -> None:
        """Have the stale summaries of the branch written again."""
        self._begin(self._summaries.start_remake)

    def stop(self) -> None:
        """End what is being written, in whatever window it was asked for; what was there stays."""
        job = self._job or (None if self._book is None else self._summaries.running(self._book))
        if job is not None:
            job.stop()

    async def remove(self, part: PartId, *, unwind: bool) -> None:
        """Take a summary off its part, or a merged one apart."""
        await self._change(partial(self._summaries.remove, part, unwind=unwind))

    async def edit(self, part: PartId, text: str) -> None:
        """Put another text in a summary."""
        await self._change(partial(self._summaries.edit, part, text))

    async def _change(self, change: Callable[[], Any]) -> None:
        if await self._desk.attempt(aside(change)):
            await self._desk.refresh()

    def _begin(self, start: Callable[[BookId], SummaryJob]) -> None:
        book = self._desk.book
        if book is None:
            return
        try:
            job = start(book.id)
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self._desk.report(error)
        else:
            self._attend(job)

    # Keeping up with what any window has started.

    def _turn_to(self, *_: object) -> None:
        book = self._desk.book.id if self._desk.book is not None else None
        if book != self._book:
            self._book, self._job, self.now = book, None, None
            if self._watching is not None:
                self._watching.cancel()
            self._watching = None if book is None else self._desk.errands.start(self._watch(book))

    async def _watch(self, book: BookId) -> None:
        version = 0
        while True:
            job = self._summaries.running(book)
            if job is not None:
                self._attend(job)
            version = await self._desk.studio.changed(book, version)

    def _attend(self, job: SummaryJob) -> None:
        if job is not self._job:
            self._job = job
            self.now = self._said(job)
            self._desk.errands.start(self._follow(job))

    async def _follow(self, job: SummaryJob) -> None:
        seen = 0
        while not job.ended:
            seen = await job.changed(seen)
            if job is not self._job:
                return  # another book is open here
            self.now = self._said(job)
            await asyncio.sleep(1 / UPDATES_PER_SECOND)
        if job is self._job:
            self.now = self._job = None
            if job.error is not None:
                self._desk.report(job.error)
            await self._desk.refresh()

    def _said(self, job: SummaryJob) -> Summarising:
        shape = self._desk.shape
        number = shape.number(job.part) if shape is not None and job.part is not None else 0
        text = "Summarising" + (f" up to #{number}" if number else "")
        if job.kind != "create":
            text = "Merging" if job.kind == "merge" else "Writing the stale ones again"
        return Summarising(text=text, since=job.started, written=job.text)
