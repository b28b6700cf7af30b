"""Reading a story: branches, parts, versions, receipts and revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from marginalia.store.receipts import find_receipt
from marginalia.store.revisions import Revision, deleted_parts, revisions_of
from marginalia.store.rows import home_of, pages_of, part_in, parts_in, texts_in, version_of
from marginalia.store.tables import BOOKS
from marginalia.story.drawing import Drawing, draw
from marginalia.story.outline import Count, Row, count, outline
from marginalia.story.parts import Part
from marginalia.story.summaries import summaries_on
from marginalia.values import Book, BookId, HasPartId, PartId

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from marginalia.prompt.receipt import Receipt
    from marginalia.store.desk import Desk
    from marginalia.store.pages import Pages
    from marginalia.store.session import Session
    from marginalia.story.tree import StoryTree

T = TypeVar("T")


class Reading:
    """What can be read of the stories of one user's books."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tree(self, book: Book | BookId) -> StoryTree:
        """The shape of the whole story; raises ``NotFound``."""
        return self._read(book, lambda _session, _book, pages: pages.tree)

    def branch(self, book: Book | BookId, leaf: Part | PartId | None = None) -> tuple[Part, ...]:
        """The parts from the first one down to *leaf* (or the active leaf), oldest first."""
        end = None if leaf is None else part_id(leaf)

        def work(session: Session, record: Book, pages: Pages) -> tuple[Part, ...]:
            return parts_in(session, pages, pages.tree.branch(record.active_leaf if end is None else end))

        return self._read(book, work)

    def part(self, part: Part | PartId) -> Part:
        """One part as it is now; raises ``NotFound``."""
        return self._read_at(part, part_in)

    def children(self, part: Part | PartId) -> tuple[Part, ...]:
        """The parts that follow a part, oldest first."""
        return self._read_at(
            part, lambda session, pages, number: parts_in(session, pages, pages.tree.children(number))
        )

    def siblings(self, part: Part | PartId) -> tuple[Part, ...]:
        """All versions of a part, itself included, oldest first."""
        return self._read_at(
            part, lambda session, pages, number: parts_in(session, pages, pages.tree.siblings(number))
        )

    def parts(self, book: Book | BookId) -> tuple[Part, ...]:
        """All parts of a book on all its branches, oldest first."""

        def work(session: Session, _book: Book, pages: Pages) -> tuple[Part, ...]:
            nodes = sorted(pages.tree, key=lambda node: (node.created, node.id))
            return parts_in(session, pages, [node.id for node in nodes])

        return self._read(book, work)

    def outline(
        self,
        book: Book | BookId,
        start: int = 0,
        stop: int | None = None,
        *,
        leaf: Part | PartId | None = None,
    ) -> tuple[Row, ...]:
        """The rows *start* to *stop* (counted from 0) of the outline of the branch that ends at *leaf*, or is active.

        Only what is asked for is read.
        """

        def work(session: Session, record: Book, pages: Pages) -> tuple[Row, ...]:
            branch = pages.tree.branch(record.active_leaf if leaf is None else part_id(leaf))
            on = summaries_on(pages.tree, branch, pages.summaries)
            newest = next((part for part in reversed(branch) if part in on), None) if on else None
            texts = texts_in(session, pages, branch[start:stop])
            return outline(pages.tree, branch, texts, on, start=start, stop=stop, represented=newest)

        return self._read(book, work)

    def statistics(self, book: Book | BookId, leaf: Part | PartId | None = None) -> tuple[Count, Count]:
        """Parts, words and tokens of the branch that ends at *leaf* (or is active), and of the whole book."""

        def work(_session: Session, record: Book, pages: Pages) -> tuple[Count, Count]:
            branch = pages.tree.branch(record.active_leaf if leaf is None else part_id(leaf))
            return count(pages.tree, branch), count(pages.tree)

        return self._read(book, work)

    def drawing(
        self,
        book: Book | BookId,
        *,
        root: Part | PartId | None = None,
        opened: Container[PartId] = frozenset(),
        fold_from: int = 6,
    ) -> Drawing:
        """The tree of all branches as a picture; see :func:`marginalia.story.drawing.draw`."""
        top = None if root is None else part_id(root)

        def work(_session: Session, record: Book, pages: Pages) -> Drawing:
            return draw(pages.tree, active=record.active_leaf, root=top, opened=opened, fold_from=fold_from)

        return self._read(book, work)

    def receipt(self, part: Part | PartId) -> Receipt | None:
        """What was sent to write a part; ``None`` for a part written by hand."""

        def work(session: Session, pages: Pages, number: PartId) -> Receipt | None:
            node, draft = pages.tree[number], pages.drafts.get(number)
            if draft is not None:
                return find_receipt(session, draft.receipt_id)
            return find_receipt(session, version_of(session, node.text_id).receipt_id)

        return self._read_at(part, work)

    def revisions(self, part: Part | PartId) -> tuple[Revision, ...]:
        """The texts that a part has had, oldest first; one is what it has now (``current``)."""
        return self._read_at(
            part, lambda session, pages, number: revisions_of(session, number, pages.tree[number].text_id)
        )

    def trash(self, book: Book | BookId) -> tuple[Part, ...]:
        """The deleted parts of a book, in the order they were deleted."""
        return self._read(book, lambda session, record, _pages: deleted_parts(session, record.id))

    def _read(self, book: Book | BookId, work: Callable[[Session, Book, Pages], T]) -> T:
        number = book_id(book)

        def job(session: Session) -> T:
            record = BOOKS.mine(session, number, self._desk.user)
            return work(session, record, pages_of(session, number))

        return self._desk.database.read(job)

    def _read_at(self, part: Part | PartId, work: Callable[[Session, Pages, PartId], T]) -> T:
        number = part_id(part)

        def job(session: Session) -> T:
            book = BOOKS.mine(session, home_of(session, number), self._desk.user)
            return work(session, pages_of(session, book.id), number)

        return self._desk.database.read(job)


def part_id(part: Part | PartId) -> PartId:
    """The id of a part."""
    return part.id if isinstance(part, HasPartId) else part


def book_id(book: Book | BookId) -> BookId:
    """The id of a book."""
    return book.id if isinstance(book, Book) else book
