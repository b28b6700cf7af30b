"""The writing side of the pipeline: every call is one transaction in the writer's thread, waited for off the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import anyio

from marginalia.pipeline.ports import Opened
from marginalia.store.drafts import begin, finish, fresh_part, keep, take_back
from marginalia.store.journal import moment_of, record
from marginalia.store.pages import Before, Draft, pages_key
from marginalia.store.rows import home_of, pages_of
from marginalia.store.session import Change
from marginalia.store.summary_rows import unwind
from marginalia.store.tables import BOOKS
from marginalia.values import NewPart, Swipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from marginalia.pipeline.ports import Opening
    from marginalia.prompt.receipt import Receipt
    from marginalia.store.desk import Desk
    from marginalia.store.session import Transaction
    from marginalia.story.parts import Part
    from marginalia.values import BookId, PartId, SummaryId

T = TypeVar("T")


class StoredArchive:
    """``pipeline.ports.Archive`` over the database.

    A call that was made is finished even if its task is cancelled meanwhile: nobody would know of a part that was
    opened for a run that is gone.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def open_part(self, opening: Opening) -> Opened:
        """Create the part (or clear the one that is regenerated), make it the active leaf, store the variables."""
        fresh = fresh_part(opening, self._desk.new_uid(), self._desk.clock())

        def work(transaction: Transaction) -> Opened:
            book = BOOKS.mine(transaction, opening.book, self._desk.user)
            part, original = begin(transaction, book, opening, fresh)
            return Opened(
                part=part,
                request=opening.request,
                original=original,
                previous_leaf=book.active_leaf,
                previous_shared=book.global_variables,
            )

        return await self._done(work)

    async def store_receipt(self, part: PartId, receipt: Receipt) -> None:
        """Replace the receipt of a part that waits for its answer; one that does not keeps what it has."""

        def work(transaction: Transaction) -> None:
            book = BOOKS.mine(transaction, home_of(transaction, part), self._desk.user)
            draft = pages_of(transaction, book.id).drafts.get(part)
            if draft is not None:
                keep(transaction, draft.part, receipt)

        await self._done(work)

    async def checkpoint(self, part: Part) -> None:
        """Keep the partial text, in a table so small that it costs nothing."""
        await self._done(lambda transaction: keep(transaction, part))

    async def close_part(self, part: Part, receipt: Receipt | None) -> Part:
        """Store the part as it is now; the draft is gone afterwards."""
        now = self._desk.clock()
        return await self._done(lambda transaction: finish(transaction, part, receipt, now))

    async def withdraw(self, opened: Opened) -> None:
        """Take back what ``open_part`` did: the new part is really deleted, a regenerated one is as it was."""
        now = self._desk.clock()
        swiped = opened.request.part if isinstance(opened.request, Swipe) else None

        def work(transaction: Transaction) -> None:
            draft = pages_of(transaction, opened.part.book_id).drafts.get(opened.part.id)
            take_back(transaction, draft or _draft_of(opened), swiped, now)

        await self._done(work)

    async def drop_summaries(self, book: BookId, summaries: Iterable[SummaryId]) -> None:
        """Remove outdated summaries; a meta summary gives back the one it replaced."""
        numbers, now = tuple(summaries), self._desk.clock()

        def work(transaction: Transaction) -> None:
            before = moment_of(BOOKS.mine(transaction, book, self._desk.user), pages_of(transaction, book))
            pages = before.pages
            for number in numbers:
                pages = unwind(transaction, pages, book, number, now)
            transaction.put(pages_key(book), pages)
            record(transaction, book, before, "summary", part=None, now=now)
            transaction.notify(self._desk.user, Change(kind="summary", book_id=book))

        await self._done(work)

    async def _done(self, work: Callable[[Transaction], T]) -> T:
        future = asyncio.wrap_future(self._desk.database.submit(work))
        with anyio.CancelScope(shield=True):
            await asyncio.wait([future])
        return future.result()


def _draft_of(opened: Opened) -> Draft:
    """What is known of a part that was closed before it was withdrawn."""
    original = opened.original
    return Draft(
        part=original or opened.part,
        request="regenerate" if original else "new" if isinstance(opened.request, NewPart) else "swipe",
        before=Before(
            leaf=opened.previous_leaf,
            shared=opened.previous_shared,
            summary_id=original.summary_id if original else None,
        ),
        receipt_id=None,
    )
