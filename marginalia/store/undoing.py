"""Undoing a step and doing it again: the rows of a story as one side of the step has them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.errors import Busy
from marginalia.store.edits import bury, nearest_living, unbury
from marginalia.store.journal import Difference, compare, moment_of, next_step, now_in, turn
from marginalia.store.pages import pages_key
from marginalia.store.rows import pages_of, write_node
from marginalia.store.summary_rows import put_away, write_summary
from marginalia.store.tables import BOOKS

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.store.journal import Side, Step
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction
    from marginalia.story.tree import Node
    from marginalia.values import Book


def undo(transaction: Transaction, book: Book, now: datetime) -> Step | None:
    """Take back the newest step; ``None`` when there is none."""
    return _turn_over(transaction, book, now, undo=True)


def redo(transaction: Transaction, book: Book, now: datetime) -> Step | None:
    """Do the step that was undone last again; ``None`` when there is none."""
    return _turn_over(transaction, book, now, undo=False)


def _turn_over(transaction: Transaction, book: Book, now: datetime, *, undo: bool) -> Step | None:
    pages = pages_of(transaction, book.id)
    if pages.drafts:
        raise Busy(
            "This book is being written to just now. Wait until that part is done, or stop the generation first."
        )
    found = next_step(transaction, book.id, undone=not undo)
    if found is None:
        return None
    step, difference = found
    before = moment_of(book, pages)
    _bring_about(transaction, book, pages, difference.before if undo else difference.after, now)
    done = compare(before, now_in(transaction, book.id))
    # What it really changed is kept: a place that is gone for good has been replaced by the nearest one.
    kept = Difference(before=done.after, after=done.before) if undo else done
    return turn(transaction, step, kept, undone=undo)


def _bring_about(transaction: Transaction, book: Book, pages: Pages, side: Side, now: datetime) -> None:
    """Make the rows that a step touched as *side* has them, as far as what they refer to still exists."""
    for number, summary in side.summaries.items():
        if summary is None:
            pages = put_away(transaction, pages, number, now)
        else:
            pages = write_summary(transaction, pages, book.id, summary)
    nodes = _placed(transaction, pages, side)
    for node in nodes:
        if node.id not in pages.tree:
            unbury(transaction, book.id, node.id)
        write_node(transaction, node)
    pages = pages.with_nodes(*nodes)
    for part, wanted in side.nodes.items():
        if wanted is None and part in pages.tree:
            pages = bury(transaction, book, pages, part, now)
    transaction.put(pages_key(book.id), pages)
    leaf = nearest_living(transaction, pages, side.leaf)
    BOOKS.move(transaction, book, leaf=leaf, shared=side.shared)


def _placed(transaction: Transaction, pages: Pages, side: Side) -> list[Node]:
    """The nodes that are to be in the story, each where it can be."""
    here = pages.tree.nodes()
    # A part that waited for its answer then has it now (or is gone): only its place is taken back.
    waited = [
        each for each in side.nodes.values() if each is not None and not each.text_id and each.id in here
    ]
    wanted = [each for each in side.nodes.values() if each is not None and each.text_id]
    wanted += [dataclasses.replace(here[each.id], parent_id=each.parent_id) for each in waited]
    coming = {each.id for each in wanted}
    nodes: list[Node] = []
    for node in wanted:
        parent = node.parent_id
        if parent not in coming:
            parent = nearest_living(transaction, pages, parent)
        summary = node.summary_id if node.summary_id in pages.summaries else None
        nodes.append(dataclasses.replace(node, parent_id=parent, summary_id=summary))
    return nodes
