"""Every change of a story is one transaction and one step; steps are undone and done again in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from marginalia.store.drafts import tell_story
from marginalia.store.journal import Step, moment_of, record, steps_of
from marginalia.store.reading import book_id, part_id
from marginalia.store.rows import home_of, pages_of
from marginalia.store.searching import Searching
from marginalia.store.tables import BOOKS
from marginalia.store.undoing import redo, undo
from marginalia.story.parts import Part

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from marginalia.store.journal import StepKind
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction
    from marginalia.values import Book, BookId, PartId

T = TypeVar("T")


class Stepping(Searching):
    """A story that is changed in steps."""

    def undo(self, book: Book | BookId) -> Step | None:
        """Take back the newest step of a book that is not undone yet; ``None`` when there is none.

        A part that it takes out of the story goes to the trash, so that nothing is lost when one writes on from there.
        Raises ``Busy`` while the book is being written to.
        """
        return self._turn(book, undo)

    def redo(self, book: Book | BookId) -> Step | None:
        """Do what was undone last again; ``None`` when there is nothing. Raises like :meth:`undo`."""
        return self._turn(book, redo)

    def history(self, book: Book | BookId, *, most: int = 200) -> tuple[Step, ...]:
        """The steps of a book, newest first, undone ones included; at most *most*."""
        return self._read(book, lambda session, record, _pages: steps_of(session, record.id, most))

    def _turn(
        self, book: Book | BookId, change: Callable[[Transaction, Book, datetime], Step | None]
    ) -> Step | None:
        number, now = book_id(book), self._desk.clock()

        def job(transaction: Transaction) -> Step | None:
            step = change(transaction, BOOKS.mine(transaction, number, self._desk.user), now)
            if step is not None:
                tell_story(transaction, number)
            return step

        return self._desk.database.write(job)

    def _write(
        self,
        kind: StepKind,
        book: Book | BookId,
        work: Callable[[Transaction, Book, Pages], T],
        part: PartId | None = None,
    ) -> T:
        """Do *work* as one step; it is said to be on *part*, or on the part that is returned."""
        number, now = book_id(book), self._desk.clock()

        def job(transaction: Transaction) -> T:
            owned = BOOKS.mine(transaction, number, self._desk.user)
            before = moment_of(owned, pages_of(transaction, number))
            result = work(transaction, owned, before.pages)
            subject = result.id if isinstance(result, Part) else part
            record(transaction, number, before, kind, part=subject, now=now)
            tell_story(transaction, number)
            return result

        return self._desk.database.write(job)

    def _write_at(
        self, kind: StepKind, part: Part | PartId, work: Callable[[Transaction, Book, Pages, PartId], T]
    ) -> T:
        """Do *work* as one step on a part, in whatever book it is."""
        number = part_id(part)
        home = self._desk.database.read(lambda session: home_of(session, number))
        return self._write(
            kind, home, lambda transaction, book, pages: work(transaction, book, pages, number), number
        )
