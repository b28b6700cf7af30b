"""Searching a story on all its branches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final

from marginalia.errors import StoreError
from marginalia.store.reading import Reading, book_id, part_id
from marginalia.store.rows import home_of, pages_of, part_in, texts_in
from marginalia.store.searchable import (
    BATCH,
    clear_older,
    folded_texts,
    matching,
    mostly_older,
    searchable,
    store_searchable,
)
from marginalia.store.tables import BOOKS
from marginalia.story.search import Query, fold, snippet
from marginalia.values import PartId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from marginalia.store.desk import Desk
    from marginalia.store.pages import Pages
    from marginalia.store.session import Session
    from marginalia.story.parts import Part
    from marginalia.values import Book, BookId

_WORTH_KEEPING: Final = 100  # texts that a search had to fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A part that was found, and whether it is on the branch that is read now."""

    part: PartId
    on_branch: bool


class Searching(Reading):
    """Finding parts by what they say."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._preparing = Lock()

    def search(self, book: Book | BookId, query: str) -> tuple[Hit, ...]:
        """The parts of all branches in whose text every word and "phrase" of *query* occurs, in the order of creation.

        ``*`` stands for any characters; case makes no difference. A blank query finds nothing.
        """
        parsed, folded = Query.parse(query), list[tuple[int, str]]()

        def work(session: Session, record: Book, pages: Pages) -> tuple[Hit, ...]:
            folded.clear()
            found = set(_matching(session, record.id, pages, parsed, folded)) if parsed else set[PartId]()
            branch = frozenset(pages.tree.branch(record.active_leaf)) if found else frozenset[PartId]()
            return tuple(Hit(part=part, on_branch=part in branch) for part in pages.tree.by_age(found))

        hits = self._read(book, work)
        if len(folded) >= _WORTH_KEEPING:
            self._keep(book_id(book), folded)
        return hits

    def prepare_search(self, book: Book | BookId) -> None:
        """Store the texts of a book as they are searched, where that is not done yet.

        Searching works without; with it, it takes the same few milliseconds at the first time too. Needs up to a second
        for a book of 10,000 parts, in steps that leave room for others, so call it aside when a book is opened.
        While one book is prepared (for the same user), a call for another does nothing.
        """
        if self._preparing.acquire(blocking=False):
            try:
                self._prepare_all(book)
            finally:
                self._preparing.release()

    def _prepare_all(self, book: Book | BookId) -> None:
        number = book_id(book)

        def look(session: Session, _record: Book, pages: Pages) -> tuple[bool, list[int]]:
            versions, known = _versions(pages).keys(), searchable(session, number)
            missing = sorted(versions - known)
            return mostly_older(len(known) + len(missing), len(versions)), missing

        crowded, missing = self._read(book, look)
        for start in range(0, len(missing), BATCH):
            self._prepare(number, missing[start : start + BATCH])
        if crowded:
            self._desk.database.write(lambda transaction: clear_older(transaction, number))

    def _prepare(self, book: BookId, versions: Sequence[int]) -> None:
        folded = self._desk.database.read(lambda session: list(folded_texts(session, versions)))
        self._desk.database.write(lambda transaction: store_searchable(transaction, book, folded))

    def _keep(self, book: BookId, folded: Sequence[tuple[int, str]]) -> None:
        """Have stored what a search had to fold, so that the next one has not; nobody waits for it."""
        for start in range(0, len(folded), BATCH):
            batch = folded[start : start + BATCH]
            with suppress(StoreError):  # the database is being closed
                self._desk.database.submit(partial(store_searchable, book=book, folded=batch))

    def excerpts(
        self, book: Book | BookId, parts: Iterable[Part | PartId], query: str, *, radius: int = 60
    ) -> Mapping[PartId, str]:
        """For each of *parts* the stretch around the first match of the first term; see :func:`snippet`."""
        wanted = [part_id(part) for part in parts]

        def work(session: Session, _record: Book, pages: Pages) -> Mapping[PartId, str]:
            texts = texts_in(session, pages, wanted)
            return {part: snippet(texts[part], query, radius) for part in wanted if part in texts}

        return self._read(book, work)

    def leaf_for(self, part: Part | PartId) -> Part:
        """The leaf whose branch shows a part that was found; nothing is activated.

        The active one if the part is on its branch, else the nearest end below the part, the newest of equally near.
        """
        number = part_id(part)

        def work(session: Session) -> Part:
            book = BOOKS.mine(session, home_of(session, number), self._desk.user)
            pages = pages_of(session, book.id)
            return part_in(session, pages, pages.tree.end_near(number, book.active_leaf))

        return self._desk.database.read(work)


def _matching(
    session: Session, book: BookId, pages: Pages, query: Query, folded: list[tuple[int, str]]
) -> Iterator[PartId]:
    """The parts that match; *folded* takes the texts that nobody has stored as they are searched."""
    at = _versions(pages)
    known = searchable(session, book)
    yield from (at[version] for version in matching(session, book, query) if version in at)
    folded.extend(folded_texts(session, sorted(at.keys() - known)))
    yield from (at[version] for version, text in folded if query.matches(text))
    for part, draft in pages.drafts.items():
        if query.matches(fold(draft.part.text)):
            yield part


def _versions(pages: Pages) -> dict[int, PartId]:
    """The parts by their present version, but those that are being written."""
    return {version: part for version, part in pages.tree.versions().items() if part not in pages.drafts}
