"""Steps: how the rows of a story were before and after each change, so that it can be undone, also after a restart.

Texts are never overwritten, so a step holds none: its nodes point to the versions that a part had and has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from marginalia.store.codec import bare, parsed, to_json, utc
from marginalia.store.memory import Key
from marginalia.store.rows import pages_of
from marginalia.store.tables import BOOKS
from marginalia.story.parts import Summary
from marginalia.story.tree import Node
from marginalia.values import Book, BookId, PartId, SummaryId

if TYPE_CHECKING:
    from marginalia.store.pages import Pages
    from marginalia.store.session import Row, Session, Transaction

StepKind: TypeAlias = Literal[
    "activate", "append", "delete", "edit", "fork", "generate", "mark", "merge", "move", "restore", "split",
    "store", "summary", "undelete",
]  # fmt: skip
_STEP = "id, book_id, kind, part_id, undone, created_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change of a story: what kind, on which part (``None``: on none), when, and whether it is undone now."""

    id: int
    book_id: BookId
    kind: StepKind
    part_id: PartId | None
    undone: bool
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A story at one moment: where the book stood in it, and its shape."""

    leaf: PartId | None
    shared: Mapping[str, str]
    pages: Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a difference; ``None`` stands for a part that is not in the story, a summary that is not in use."""

    leaf: PartId | None
    shared: Mapping[str, str] | None
    nodes: Mapping[PartId, Node | None]
    summaries: Mapping[SummaryId, Summary | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs between two moments; shared variables only where they do."""

    before: Side
    after: Side


def now_in(session: Session, book: BookId) -> Moment:
    """The story of a book as it is now."""
    return moment_of(BOOKS.find(session, book) or Book(), pages_of(session, book))


def moment_of(book: Book, pages: Pages) -> Moment:
    """A book and its pages as one moment."""
    return Moment(leaf=book.active_leaf, shared=book.global_variables, pages=pages)


def compare(before: Moment, after: Moment) -> Difference:
    """What happened to a story between two moments."""
    parts = after.pages.tree.changed_from(before.pages.tree)
    old, new = before.pages.summaries, after.pages.summaries
    changed = () if old is new else tuple(each for each in {**old, **new} if old.get(each) != new.get(each))
    told = dict(before.shared) != dict(after.shared)

    def side(moment: Moment) -> Side:
        nodes = moment.pages.tree.nodes()
        return Side(
            leaf=moment.leaf,
            shared=moment.shared if told else None,
            nodes={part: nodes.get(part) for part in parts},
            summaries={each: moment.pages.summaries.get(each) for each in changed},
        )

    return Difference(before=side(before), after=side(after))


def record(
    transaction: Transaction,
    book: BookId,
    before: Moment,
    kind: StepKind,
    *,
    part: PartId | None,
    now: datetime,
) -> None:
    """Keep what has changed since *before* as a step. What was undone cannot be done again afterwards."""
    difference = compare(before, now_in(transaction, book))
    if difference.before == difference.after:
        return
    if _undone(transaction, book):
        transaction.rows("DELETE FROM step WHERE book_id = ? AND undone", book)
        transaction.put(_undone_key(book), 0)
    transaction.rows(
        "INSERT INTO step (book_id, kind, part_id, data, created_at) VALUES (?, ?, ?, ?, ?)",
        book,
        kind,
        part,
        to_json(difference),
        bare(now),
    )


def next_step(session: Session, book: BookId, *, undone: bool) -> tuple[Step, Difference] | None:
    """The step that would be undone next, or (*undone*) be done again."""
    order = "id" if undone else "id DESC"
    sql = f"SELECT {_STEP}, data FROM step WHERE book_id = ? AND undone = ? ORDER BY {order} LIMIT 1"  # noqa: S608 - names of ours
    row = session.row(sql, book, undone)
    if row is None:
        return None
    *step, data = row
    return _step(tuple(step)), parsed(Difference, data)


def turn(transaction: Transaction, step: Step, difference: Difference, *, undone: bool) -> Step:
    """Mark a step as undone or done again, with what that really changed."""
    sql = "UPDATE step SET undone = ?, data = ? WHERE id = ?"
    transaction.rows(sql, undone, to_json(difference), step.id)
    count = _undone(transaction, step.book_id)
    transaction.put(_undone_key(step.book_id), count + 1 if undone else count - 1)
    return dataclasses.replace(step, undone=undone)


def steps_of(session: Session, book: BookId, most: int) -> tuple[Step, ...]:
    """The steps of a book, newest first, at most *most*."""
    sql = f"SELECT {_STEP} FROM step WHERE book_id = ? ORDER BY id DESC LIMIT ?"  # noqa: S608 - names of ours
    return tuple(_step(row) for row in session.rows(sql, book, most))


def forget_steps(transaction: Transaction, book: BookId) -> None:
    """Drop all steps of a book whose story is replaced as a whole."""
    transaction.rows("DELETE FROM step WHERE book_id = ?", book)
    transaction.put(_undone_key(book), 0)


def _undone(session: Session, book: BookId) -> int:
    sql = "SELECT count(*) FROM step WHERE book_id = ? AND undone"
    return session.recall(_undone_key(book), lambda: session.rows(sql, book)[0][0])


def _undone_key(book: BookId) -> Key[int]:
    return Key("undone", book)


def _step(row: Row) -> Step:
    number, book, kind, part, undone, created = row
    return Step(id=number, book_id=book, kind=kind, part_id=part, undone=undone, created=utc(created))
