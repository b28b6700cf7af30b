"""Summaries that are being written: they belong to the studio, whoever started or watches them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import anyio

from marginalia.errors import Busy, Refused
from marginalia.pipeline.beacon import Beacon
from marginalia.pipeline.summarising import Hear
from marginalia.story.parts import Summary
from marginalia.values import BookId, PartId

SummaryWork: TypeAlias = Literal["create", "merge", "remake"]

_log = logging.getLogger(__name__)


class SummaryJob:
    """Summaries of one book that are being written, one after the other.

    ``kind`` says what was asked for, ``part`` the newest part that it is about (``None``: the stale ones of the
    branch), ``started`` when (monotonic seconds). ``text`` is what has come of the summary that is written now,
    ``made`` has those that are done. Once it has ``ended`` it was ``stopped``, or there is the ``error`` that one
    could not be written for, or all is made.
    """

    def __init__(self, book_id: BookId, kind: SummaryWork, part: PartId | None, listen: Hear | None) -> None:
        self.book_id, self.kind, self.part = book_id, kind, part
        self.started = time.monotonic()
        self.made: tuple[Summary, ...] = ()
        self.error: Exception | None = None
        self.ended = self.stopped = False
        self._pieces: list[str] = []
        self._listen = listen
        self._beacon = Beacon()
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None

    @property
    def text(self) -> str:
        """What has come of the summary that is being written."""
        return "".join(self._pieces)

    def stop(self) -> None:
        """End it: of the one that is being written nothing is kept, what was there stays. From any thread."""
        task, scope = self._task, self._scope
        if task is not None and scope is not None and not self.ended:
            task.get_loop().call_soon_threadsafe(scope.cancel)

    async def changed(self, after: int = 0) -> int:
        """Wait until there is more of it than at version *after*, or it has ended."""
        return await self._beacon.after(after)

    async def settled(self) -> tuple[Summary, ...]:
        """Wait for the end; the summaries that were made.

        Raises what it failed with, ``Refused`` when it was stopped.
        """
        seen = 0
        while not self.ended:
            seen = await self.changed(seen)
        if self.error is not None:
            raise self.error
        if self.stopped:
            raise Refused("Writing the summary was stopped; nothing was changed.")
        return self.made

    async def outcome(self) -> tuple[Summary, ...]:
        """:meth:`settled` for the one whose it is: where the wait is cancelled, so is the job, and its end awaited."""
        try:
            return await self.settled()
        except asyncio.CancelledError:
            self.stop()
            with anyio.CancelScope(shield=True):
                while not self.ended:
                    await self.changed(self._beacon.version)
            raise

    def hear(self, piece: str) -> None:
        """Take what came of the summary that is being written."""
        self._pieces.append(piece)
        if self._listen is not None:
            self._listen(piece)
        self._beacon.flash()

    def done(self, summary: Summary) -> None:
        """One is written; what comes next is another's."""
        self.made = (*self.made, summary)
        self._pieces = []
        self._beacon.flash()

    def run(self, work: Callable[[SummaryJob], Awaitable[None]], ended: Callable[[], None]) -> None:
        """Do *work* in the background of the running event loop; *ended* is told when it is over."""
        # A scope, for it lets what is just being stored be stored, where cancelling the task would forget about it.
        self._scope = scope = anyio.CancelScope()
        carrying_out = self._carry_out(work, scope, ended)
        self._task = asyncio.get_running_loop().create_task(carrying_out, name=f"summary {self.book_id}")

    async def over(self) -> None:
        """Stop, and wait for the end where that is on the running event loop."""
        self.stop()
        task = self._task
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            await asyncio.gather(task, return_exceptions=True)

    async def _carry_out(
        self,
        work: Callable[[SummaryJob], Awaitable[None]],
        scope: anyio.CancelScope,
        ended: Callable[[], None],
    ) -> None:
        try:
            with scope:
                await work(self)
            self.stopped = scope.cancelled_caught
        except Exception as error:  # noqa: BLE001 - whoever waits for the job gets what it raised
            self.error = error
            _log.info("A summary of book %s was not written: %s", self.book_id, error)
        except asyncio.CancelledError:
            self.stopped = True  # also by the end of the event loop
            raise
        finally:
            self.ended = True
            ended()
            self._beacon.flash()


class SummaryJobs:
    """One at a time per book; each ends by itself, by ``stop``, or with the studio."""

    def __init__(self, changed: Callable[[BookId], None]) -> None:
        self._changed = changed
        self._going: dict[BookId, SummaryJob] = {}

    def of(self, book: BookId) -> SummaryJob | None:
        """What is being written for a book."""
        return self._going.get(book)

    def start(self, job: SummaryJob, work: Callable[[SummaryJob], Awaitable[None]]) -> SummaryJob:
        """Let *job* do *work*; raises ``Busy`` when summaries of its book are being written already."""
        if job.book_id in self._going:
            raise Busy(
                "A summary of this book is being written already. Wait until it is done, or stop it first."
            )

        def ended() -> None:
            self._going.pop(job.book_id, None)
            self._changed(job.book_id)

        job.run(work, ended)
        self._going[job.book_id] = job
        self._changed(job.book_id)
        return job

    async def aclose(self) -> None:
        """Stop all and wait until they have ended."""
        await asyncio.gather(*(job.over() for job in tuple(self._going.values())))
