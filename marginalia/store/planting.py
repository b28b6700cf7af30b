"""Many lorebooks with all their entries at once: in one transaction, so that half an import is never left behind."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from marginalia.store.codec import bare, fields_of, to_json
from marginalia.store.memory import Key
from marginalia.store.repository import tidy_tags
from marginalia.store.session import Change, storable
from marginalia.store.tables import LOREBOOKS
from marginalia.values import LorebookId

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from marginalia.lore.book import Entry, Lorebook
    from marginalia.store.desk import Desk
    from marginalia.store.session import Session, Transaction

_APART = frozenset({"id", "uid", "lorebook_id", "name", "created"})
_BATCH = 2_000
_INSERT = (
    "INSERT INTO entry (uid, lorebook_id, name, data, created_at) "
    "SELECT uid, lorebook_id, name, data, created_at FROM (SELECT unnest(?::VARCHAR[]) AS uid, "
    "unnest(?::BIGINT[]) AS lorebook_id, unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS data, "
    "unnest(?::TIMESTAMP[]) AS created_at, unnest(range(?)) AS place) ORDER BY place"
)


class Seedling(NamedTuple):
    """A lorebook to be stored, its entries in the order of creation, and the places of those below it."""

    lorebook: Lorebook
    entries: Sequence[Entry]
    below: Sequence[int]


def plant(desk: Desk, seedlings: Sequence[Seedling]) -> tuple[Lorebook, ...]:
    """Store the lorebooks and return them as they are then, in the same order. All of them or none.

    Lorebooks need uids that are free, entries uids and names; what has no time of creation gets the present one.
    """
    now = desk.clock()
    prepared = [[_row(entry, now) for entry in each.entries] for each in seedlings]

    def work(transaction: Transaction) -> tuple[Lorebook, ...]:
        books = [
            LOREBOOKS.insert(transaction, _owned(each.lorebook, desk.user, now), now) for each in seedlings
        ]
        for at, (book, seedling, rows) in enumerate(zip(books, seedlings, prepared, strict=True)):
            if seedling.below:
                below = tuple(LorebookId(books[place].id) for place in seedling.below)
                books[at] = LOREBOOKS.update(transaction, dataclasses.replace(book, subbooks=below), now)
            _write(transaction, book.id, rows)
            transaction.forget(Key("filled", book.id))
            transaction.notify(desk.user, Change(kind="lorebook", lorebook_id=book.id))
        return tuple(books)

    return desk.database.write(work)


def taken_uids(desk: Desk, uids: Sequence[str]) -> frozenset[str]:
    """Those of *uids* that a lorebook of anybody has, deleted ones included."""

    def work(session: Session) -> frozenset[str]:
        sql = "SELECT uid FROM lorebook WHERE uid IN (SELECT unnest(?::VARCHAR[]))"
        return frozenset(row[0] for row in session.rows(sql, list(uids)))

    return desk.database.read(work)


def _owned(lorebook: Lorebook, owner: str, now: datetime) -> Lorebook:
    return dataclasses.replace(
        lorebook, owner=owner, name=lorebook.name.strip(), tags=tidy_tags(lorebook.tags), created=now
    )


def _row(entry: Entry, now: datetime) -> tuple[object, ...]:
    tags, negative = tidy_tags(entry.tags), tidy_tags(entry.negative_tags)
    if (tags, negative) != (entry.tags, entry.negative_tags):
        entry = dataclasses.replace(entry, tags=tags, negative_tags=negative)
    data = to_json(fields_of(entry, without=_APART))
    return entry.uid, storable(entry.name.strip()), data, bare(entry.created or now)


def _write(transaction: Transaction, lorebook: int, rows: Sequence[tuple[object, ...]]) -> None:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        uids, names, data, times = (list(column) for column in zip(*batch, strict=True))
        transaction.rows(_INSERT, uids, [lorebook] * len(batch), names, data, times, len(batch))
