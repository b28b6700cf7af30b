"""Summaries in the database; a removed one goes to the trash."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.store.codec import bare, fields_of, to_json
from marginalia.store.rows import write_node
from marginalia.values import SummaryId

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction
    from marginalia.story.parts import Summary
    from marginalia.values import BookId

_APART = frozenset({"id", "part_id", "created"})


def put_summary(
    transaction: Transaction, pages: Pages, book: BookId, summary: Summary
) -> tuple[Pages, Summary]:
    """Store a summary and put it on its part; id 0 gets a new id, a known one takes the place of what had it."""
    if not summary.id:
        summary = dataclasses.replace(
            summary, id=SummaryId(transaction.rows("SELECT nextval('summary_id')")[0][0])
        )
    pages = write_summary(transaction, pages, book, summary)
    node = dataclasses.replace(pages.tree[summary.part_id], summary_id=summary.id)
    write_node(transaction, node)
    return pages.with_nodes(node), summary


def write_summary(transaction: Transaction, pages: Pages, book: BookId, summary: Summary) -> Pages:
    """Store a summary without putting it on its part."""
    transaction.rows("DELETE FROM summary WHERE id = ?", summary.id)
    transaction.rows(
        "INSERT INTO summary (id, book_id, part_id, data, created_at) VALUES (?, ?, ?, ?, ?)",
        summary.id,
        book,
        summary.part_id,
        to_json(fields_of(summary, without=_APART)),
        bare(summary.created),
    )
    return dataclasses.replace(pages, summaries={**pages.summaries, summary.id: summary})


def unbury_summary(transaction: Transaction, summary: Summary) -> None:
    """Take a summary that is in use again out of the trash."""
    transaction.rows(
        "DELETE FROM trash WHERE kind = 'summary' AND item_id = ? AND data::VARCHAR = ?",
        summary.id,
        to_json(summary),
    )


def put_away(transaction: Transaction, pages: Pages, summary: SummaryId, now: datetime) -> Pages:
    """Take a summary off its part and out of use; the trash keeps it."""
    record = pages.summaries.get(summary)
    if record is None:
        return pages
    _bury(transaction, record, now)
    transaction.rows("DELETE FROM summary WHERE id = ?", summary)
    nodes = pages.tree.nodes()
    place = nodes.get(record.part_id)
    if place is not None and place.summary_id == summary:
        place = dataclasses.replace(place, summary_id=None)
        write_node(transaction, place)
        pages = pages.with_nodes(place)
    rest = {number: each for number, each in pages.summaries.items() if number != summary}
    return dataclasses.replace(pages, summaries=rest)


def unwind(transaction: Transaction, pages: Pages, book: BookId, summary: SummaryId, now: datetime) -> Pages:
    """Take a summary out of use; a meta summary gives back the one it replaced."""
    record = pages.summaries.get(summary)
    if record is None or record.replaced is None:
        return put_away(transaction, pages, summary, now)
    pages = put_away(transaction, pages, summary, now)
    if record.part_id in pages.tree:
        pages, _ = put_summary(transaction, pages, book, record.replaced)
    return pages


def _bury(transaction: Transaction, summary: Summary, now: datetime) -> None:
    transaction.rows(
        "INSERT INTO trash (kind, item_id, book_id, data, deleted_at) "
        "SELECT 'summary', id, book_id, ?, ? FROM summary WHERE id = ?",
        to_json(summary),
        bare(now),
        summary.id,
    )
