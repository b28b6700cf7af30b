"""Summaries as people use them: write one, merge several, take one away, see which are in use."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from anyio.to_thread import run_sync as aside

from marginalia.pipeline.summarising import Draft, Hear, Summariser
from marginalia.store import SummaryShelf
from marginalia.story.overview import SummaryNode
from marginalia.story.parts import Part, Summary
from marginalia.story.summaries import Block
from marginalia.studio.limits import Turnstile
from marginalia.studio.summary_jobs import SummaryJob, SummaryJobs
from marginalia.values import Book, BookId, PartId, SummaryId

BookLike: TypeAlias = Book | BookId
PartLike: TypeAlias = Part | PartId


class Summaries:
    """``studio.summaries``.

    Summaries are written in the background, by the studio: ``start``, ``start_merge`` and ``start_remake`` return at
    once, :meth:`running` finds what is going on, whoever started it. ``create``, ``merge`` and ``remake`` are the same
    and wait for it: cancel them to stop, and nothing is kept. Of each book one is written at a time.
    """

    def __init__(
        self,
        summariser: Summariser,
        shelf: SummaryShelf,
        *,
        most: int = 0,
        changed: Callable[[BookId], None] = lambda _book: None,
    ) -> None:
        self._summariser = summariser
        self._shelf = shelf
        self._turnstile = Turnstile(most)
        self._jobs = SummaryJobs(changed)

    async def create(self, book: BookLike, part: PartLike, *, listen: Hear | None = None) -> Summary:
        """Summarise *part* and everything before it, down to the next summary; *listen* hears it as it is written.

        Raises ``InvalidInput`` when the part has one already, ``ValidationProblem`` without model or
        protocol, ``ContextOverflow`` when the text is too long, ``ModelError`` when the provider fails, ``Busy``
        when one of the book is being written, or as many as the server allows, ``Refused`` when somebody stopped it.
        """
        (made,) = await self.start(book, part, listen=listen).outcome()
        return made

    async def merge(
        self, book: BookLike, newest: PartLike, oldest: PartLike, *, listen: Hear | None = None
    ) -> Summary:
        """Merge the summaries from *newest* back to *oldest* into one that hangs on *newest*.

        ``remove`` gives them back. Raises what :meth:`create` does.
        """
        (made,) = await self.start_merge(book, newest, oldest, listen=listen).outcome()
        return made

    async def remake(
        self, book: BookLike, leaf: PartLike | None = None, *, listen: Hear | None = None
    ) -> tuple[Summary, ...]:
        """Write the stale summaries of a branch anew, the oldest first, and no others; returns the new ones.

        A stale meta summary is unwound and merged again. One that cannot be written is put back, and what was
        raised goes on: the same as for :meth:`create`.
        """
        return await self.start_remake(book, leaf, listen=listen).outcome()

    def start(self, book: BookLike, part: PartLike, *, listen: Hear | None = None) -> SummaryJob:
        """:meth:`create` in the background of the running event loop."""
        number, newest = _book(book), _part(part)

        async def work(job: SummaryJob) -> None:
            await self._create(number, newest, job)

        return self._jobs.start(SummaryJob(number, "create", newest, listen), work)

    def start_merge(
        self, book: BookLike, newest: PartLike, oldest: PartLike, *, listen: Hear | None = None
    ) -> SummaryJob:
        """:meth:`merge` in the background of the running event loop."""
        number, first, last = _book(book), _part(newest), _part(oldest)

        async def work(job: SummaryJob) -> None:
            await self._merge(number, first, last, job)

        return self._jobs.start(SummaryJob(number, "merge", first, listen), work)

    def start_remake(
        self, book: BookLike, leaf: PartLike | None = None, *, listen: Hear | None = None
    ) -> SummaryJob:
        """:meth:`remake` in the background of the running event loop."""
        number = _book(book)

        async def work(job: SummaryJob) -> None:
            await self._remake(number, None if leaf is None else _part(leaf), job)

        return self._jobs.start(SummaryJob(number, "remake", None, listen), work)

    def running(self, book: BookLike) -> SummaryJob | None:
        """What is being written for a book now, in whatever window it was started."""
        return self._jobs.of(_book(book))

    async def aclose(self) -> None:
        """Stop what is being written; what was there stays."""
        await self._jobs.aclose()

    def of(self, part: PartLike) -> Summary | None:
        """The summary on a part."""
        return self._shelf.summary_for(_part(part))

    def remove(self, part: PartLike, *, unwind: bool = True) -> None:
        """Take the summary off a part; with *unwind* a meta summary gives back the one that it replaced."""
        self._shelf.remove(_part(part), unwind=unwind)

    def edit(self, part: PartLike, text: str) -> Summary:
        """Put another text in the summary on a part; it stays valid, and its tokens are counted again."""
        return self._shelf.replace_text(_part(part), text)

    def blocks(self, book: BookLike, leaf: PartLike | None = None) -> tuple[tuple[Block, bool], ...]:
        """The summaries in use on a branch, newest first, each with whether the story under it is unchanged."""
        return self._summariser.blocks(_book(book), None if leaf is None else _part(leaf))

    def overview(self, book: BookLike, leaf: PartLike | None = None) -> tuple[SummaryNode, ...]:
        """The summaries in use on a branch, oldest first, each with what it merged, what it saves, and why it is stale.

        An edit makes one stale at once; nothing is dropped before a generation would need it.
        """
        return self._shelf.overview(_book(book), self.blocks(book, leaf), leaf)

    def draft(self, book: BookLike, part: PartLike) -> Draft:
        """What :meth:`create` would send, without sending it."""
        return self._summariser.draft(_book(book), _part(part))

    def merge_draft(self, book: BookLike, newest: PartLike, oldest: PartLike) -> Draft:
        """What :meth:`merge` would send, without sending it."""
        return self._summariser.merge_draft(_book(book), _part(newest), _part(oldest))

    async def _create(self, book: BookId, part: PartId, job: SummaryJob) -> Summary:
        return await self._write(book, partial(self._summariser.draft, book, part), job)

    async def _merge(self, book: BookId, newest: PartId, oldest: PartId, job: SummaryJob) -> Summary:
        return await self._write(book, partial(self._summariser.merge_draft, book, newest, oldest), job)

    async def _remake(self, book: BookId, leaf: PartId | None, job: SummaryJob) -> None:
        unwound: list[Summary] = []
        tried: set[SummaryId] = set()
        try:
            while stale := await aside(self._oldest_stale, book, leaf, tried):
                if stale.meta:
                    await aside(self._shelf.remove, stale.part_id)
                    unwound.append(stale)
                else:
                    tried.add((await self._replace(book, stale, job)).id)
            while unwound:
                meta = unwound[-1]
                await self._merge(book, meta.part_id, meta.oldest_id or meta.part_id, job)
                unwound.pop()
        except BaseException:  # stopped or failed: a stale one is better than none
            for meta in reversed(unwound):
                self._wind(meta)
            raise

    def _oldest_stale(
        self, book: BookId, leaf: PartId | None, tried: Collection[SummaryId]
    ) -> Summary | None:
        blocks = reversed(self.blocks(book, leaf))
        return next((b.summary for b, valid in blocks if not valid and b.summary.id not in tried), None)

    async def _replace(self, book: BookId, stale: Summary, job: SummaryJob) -> Summary:
        await aside(self._shelf.remove, stale.part_id)
        try:
            return await self._create(book, stale.part_id, job)
        except BaseException:  # stopped or failed: the stale one is better than none
            self._shelf.attach(stale)
            raise

    def _wind(self, meta: Summary) -> None:
        """Put a meta summary that was unwound over what hangs on its part now."""
        below = self._shelf.summary_for(meta.part_id)
        if below is not None:
            self._shelf.attach(replace(meta, id=below.id, replaced=below))

    async def _write(self, book: BookId, make: partial[Draft], job: SummaryJob) -> Summary:
        with self._turnstile.summary():
            draft = await aside(make)
            made = await self._summariser.write(book, draft, job.hear)
        job.done(made)
        return made


def _book(book: BookLike) -> BookId:
    return book.id if isinstance(book, Book) else book


def _part(part: PartLike) -> PartId:
    return part.id if isinstance(part, Part) else part
