"""Undoing a step and doing it again: the rows of a story as one side of the step has them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.errors import Busy
from marginalia.store.edits import bury, nearest_living, unbury
from marginalia.store.journal import Difference, compare, moment_of, next_step, now_in, turn
from marginalia.store.pages import pages_key
from marginalia.store.rows import pages_of, write_node
from marginalia.store.summary_rows import put_away, unbury_summary, write_summary
from marginalia.store.tables import BOOKS
from marginalia.story.tree import Node

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.store.journal import Side, Step
    from marginalia.store.pages import Pages
    from marginalia.store.session import Transaction
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
    sides = (difference.after, difference.before) if undo else (difference.before, difference.after)
    before = moment_of(book, pages)
    _bring_about(transaction, book, pages, *sides, now=now)
    done = compare(before, now_in(transaction, book.id))
    # What it really changed is kept: a place that is gone for good has been replaced by the nearest one.
    kept = Difference(before=done.after, after=done.before) if undo else done
    return turn(transaction, step, kept, undone=undo)


def _bring_about(
    transaction: Transaction, book: Book, pages: Pages, known: Side, wanted: Side, *, now: datetime
) -> None:
    """Change what differs between *known* and *wanted* to what is wanted; all else stays as it is now."""
    for number, summary in wanted.summaries.items():
        if summary is None:
            pages = put_away(transaction, pages, number, now)
        else:
            unbury_summary(transaction, summary)
            pages = write_summary(transaction, pages, book.id, summary)
    nodes = _placed(transaction, pages, known, wanted)
    for node in nodes:
        if node.id not in pages.tree:
            unbury(transaction, book.id, node.id)
        write_node(transaction, node)
    pages = pages.with_nodes(*nodes)
    for part, place in wanted.nodes.items():
        if place is None and part in pages.tree:
            pages = bury(transaction, book, pages, part, now)
    transaction.put(pages_key(book.id), pages)
    leaf = book.active_leaf if known.leaf == wanted.leaf else wanted.leaf
    living = nearest_living(transaction, pages, leaf)
    if living is None and leaf is not None:
        living = nearest_living(transaction, pages, book.active_leaf)
    BOOKS.move(transaction, book, leaf=living, shared=wanted.shared)


def _placed(transaction: Transaction, pages: Pages, known: Side, wanted: Side) -> list[Node]:
    """The parts that are to be in the story, as they are to be, each where it can be."""
    here = pages.tree.nodes()
    coming = {
        part: node
        for part, node in wanted.nodes.items()
        # One that the step only changed and that is not here waited for an answer that never came: it is gone for good.
        if node is not None and (part in here or known.nodes.get(part) is None)
    }
    placed: list[Node] = []
    for part, as_it_was in coming.items():
        node = _laid_over(here.get(part), known.nodes.get(part), as_it_was)
        parent = node.parent_id
        if parent is not None and parent not in coming:
            parent = nearest_living(transaction, pages, parent)
        if parent is None and node.parent_id is not None and part in here:
            parent = here[part].parent_id  # what it stood under is gone for good
        summary = node.summary_id if node.summary_id in pages.summaries else None
        placed.append(dataclasses.replace(node, parent_id=parent, summary_id=summary))
    return placed


def _laid_over(here: Node | None, known: Node | None, wanted: Node) -> Node:
    """A part as it is now with what differs between the two sides of a step as it is wanted."""
    if here is None or known is None:
        return wanted
    differing = {
        field.name: getattr(wanted, field.name)
        for field in dataclasses.fields(Node)
        if getattr(wanted, field.name) != getattr(known, field.name)
    }
    return dataclasses.replace(here, **differing)
