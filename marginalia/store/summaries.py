"""The shelf of summaries: where they are kept, not what makes them or when they are outdated."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

from marginalia.errors import NotFound
from marginalia.store.journal import moment_of, record
from marginalia.store.pages import Pages, pages_key
from marginalia.store.rows import home_of, pages_of, texts_in
from marginalia.store.session import Change
from marginalia.store.summary_rows import put_away, put_summary, unwind
from marginalia.store.tables import BOOKS
from marginalia.story.overview import SOURCES, SummaryNode, fingerprints, overview, why_stale
from marginalia.story.summaries import Block, collect_blocks, hash_of, summaries_on
from marginalia.values import Book, BookId, HasPartId, PartId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from marginalia.store.desk import Desk
    from marginalia.store.session import Session, Transaction
    from marginalia.story.parts import Part, Summary
    from marginalia.values import SummaryId

T = TypeVar("T")


class SummaryShelf:
    """The summaries of one user's books."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def summary_for(self, part: Part | PartId) -> Summary | None:
        """The summary on a part, if there is one; raises ``NotFound`` for a part that is not there."""
        number = _part_id(part)

        def work(session: Session) -> Summary | None:
            pages = pages_of(session, self._book(session, number).id)
            return _on(pages, number)

        return self._desk.database.read(work)

    def all(self, book: Book | BookId) -> tuple[Summary, ...]:
        """The summaries that are in use in a book, oldest first; raises ``NotFound``."""
        number = book.id if isinstance(book, Book) else book

        def work(session: Session) -> tuple[Summary, ...]:
            BOOKS.mine(session, number, self._desk.user)
            pages = pages_of(session, number)
            used = [each for each in pages.summaries.values() if _on_its_part(pages, each)]
            return tuple(sorted(used, key=lambda each: (each.created, each.id)))

        return self._desk.database.read(work)

    def attach(self, summary: Summary) -> Summary:
        """Put a summary on its part and return it as stored.

        Id 0 gets a new id; a meta summary comes with the id of the one it replaces, so that pointers to it stay right.
        """

        def work(transaction: Transaction, book: BookId, pages: Pages) -> tuple[Pages, Summary]:
            known = _with_sources(transaction, pages, summary)
            return put_summary(transaction, pages, book, known)

        return self._change(summary.part_id, work)

    def overview(
        self, book: Book | BookId, judged: Sequence[tuple[Block, bool]], leaf: Part | PartId | None = None
    ) -> tuple[SummaryNode, ...]:
        """The summaries in use on a branch, oldest first, with what they merged and why they are stale.

        *judged* are the blocks of the branch, each with whether the story under it is unchanged.
        """
        number = book.id if isinstance(book, Book) else book

        def work(session: Session) -> tuple[SummaryNode, ...]:
            record, pages = BOOKS.mine(session, number, self._desk.user), pages_of(session, number)
            branch = pages.tree.branch(record.active_leaf if leaf is None else _part_id(leaf))
            on = summaries_on(pages.tree, branch, pages.summaries)
            stale = {
                block.summary.part_id: why_stale(block, on, texts_in(session, pages, block.parts), branch)
                for block, valid in judged
                if not valid
            }
            return overview(pages.tree, branch, on, stale)

        return self._desk.database.read(work)

    def remove(self, part: Part | PartId, *, unwind: bool = True) -> Summary | None:
        """Take the summary off a part; the trash keeps it.

        With ``unwind`` a meta summary gives back the summary it replaced, which is returned; without, the part has none
        afterwards.
        """
        number, now = _part_id(part), self._desk.clock()
        take_off = _unwind if unwind else _put_away

        def work(transaction: Transaction, book: BookId, pages: Pages) -> tuple[Pages, Summary | None]:
            found = _on(pages, number)
            if found is not None:
                pages = take_off(transaction, pages, book, found.id, now)
            return pages, _on(pages, number)

        return self._change(number, work)

    def replace_text(self, part: Part | PartId, text: str) -> Summary:
        """Store an edited text of the summary on *part*, counted again; raises ``NotFound`` if there is none."""
        number, tokens = _part_id(part), self._desk.tokenizer.count(text)

        def work(transaction: Transaction, book: BookId, pages: Pages) -> tuple[Pages, Summary]:
            found = _on(pages, number)
            if found is None:
                raise NotFound("This part has no summary; it may have been removed meanwhile.")
            return put_summary(transaction, pages, book, dataclasses.replace(found, text=text, tokens=tokens))

        return self._change(number, work)

    def _change(self, part: PartId, work: Callable[[Transaction, BookId, Pages], tuple[Pages, T]]) -> T:
        now = self._desk.clock()

        def job(transaction: Transaction) -> T:
            record_of = self._book(transaction, part)
            book, before = record_of.id, moment_of(record_of, pages_of(transaction, record_of.id))
            pages, result = work(transaction, book, before.pages)
            transaction.put(pages_key(book), pages)
            record(transaction, book, before, "summary", part=part, now=now)
            transaction.notify(self._desk.user, Change(kind="summary", book_id=book))
            return result

        return self._desk.database.write(job)

    def _book(self, session: Session, part: PartId) -> Book:
        return BOOKS.mine(session, home_of(session, part), self._desk.user)


_unwind = unwind


def _with_sources(session: Session, pages: Pages, summary: Summary) -> Summary:
    """*summary* with fingerprints of what it was made from, if that is still what stands there."""
    branch = pages.tree.branch(summary.part_id)
    on = summaries_on(pages.tree, branch, pages.summaries) | {summary.part_id: summary}
    block = collect_blocks(branch, on)[0]
    texts = texts_in(session, pages, block.parts)
    if hash_of(block.parts, on, texts, meta=summary.meta) != summary.source_hash:
        return summary
    prints = [each for _, each in fingerprints(block.parts, on, texts, meta=summary.meta)]
    return dataclasses.replace(summary, extra={**summary.extra, SOURCES: prints})


def _put_away(
    transaction: Transaction, pages: Pages, _book: BookId, summary: SummaryId, now: datetime
) -> Pages:
    return put_away(transaction, pages, summary, now)


def _on(pages: Pages, part: PartId) -> Summary | None:
    number = pages.tree[part].summary_id
    return None if number is None else pages.summaries.get(number)


def _on_its_part(pages: Pages, summary: Summary) -> bool:
    return summary.part_id in pages.tree and pages.tree[summary.part_id].summary_id == summary.id


def _part_id(part: Part | PartId) -> PartId:
    return part.id if isinstance(part, HasPartId) else part
