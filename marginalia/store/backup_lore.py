"""The lore of a backup: linked where the user still has it, made anew where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.lore.book import Lorebook
from marginalia.store.codec import bare, rebuilt, to_json
from marginalia.store.memory import Key
from marginalia.store.session import Change
from marginalia.store.tables import LOREBOOKS, changed
from marginalia.values import LorebookId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from marginalia.store.backup_records import BookBackup, EntryRow, NamedRow
    from marginalia.store.session import Session, Transaction


def link_lore(
    transaction: Transaction, backup: BookBackup, *, owner: str, new_uid: Callable[[], str], now: datetime
) -> LorebookId | None:
    """The lorebook of the book in *backup*; ``None`` if it has none.

    A lorebook that the user has (by its uid) is left as it is: other books may use it, and it may have been worked on
    since. One that is missing comes back with its entries; its uid is kept if nothing else has it.
    """
    mine = {each.uid: each for each in LOREBOOKS.of_owner(transaction, owner)}
    made: dict[int, Lorebook] = {}
    linked: dict[int, LorebookId] = {}
    for row in backup.lorebooks:
        if row.uid in mine:
            linked[row.id] = mine[row.uid].id
        else:
            made[row.id] = _made(transaction, row, owner, new_uid, now)
            linked[row.id] = made[row.id].id
    for row in backup.lorebooks:
        if row.id in made and row.below:
            below = tuple(linked[number] for number in row.below)
            LOREBOOKS.update(transaction, changed(made[row.id], subbooks=below), now)
    for entry in backup.entries:
        if entry.lorebook in made:
            _write_entry(transaction, entry, linked[entry.lorebook], new_uid)
    for lorebook in made.values():
        transaction.forget(Key("filled", lorebook.id))
        transaction.notify(owner, Change(kind="lorebook", lorebook_id=lorebook.id))
    return None if backup.book.lorebook is None else linked[backup.book.lorebook]


def entry_numbers(session: Session, backup: BookBackup, owner: str) -> dict[int, int]:
    """From the entries of *backup* to those of the user that have the same uid."""
    if not backup.entries:
        return {}
    sql = (
        "SELECT entry.uid, entry.id FROM entry JOIN lorebook ON lorebook.id = entry.lorebook_id "
        "WHERE lorebook.owner = ? AND entry.uid IN (SELECT unnest(?::VARCHAR[])) ORDER BY entry.id DESC"
    )
    known: Mapping[str, int] = dict(session.rows(sql, owner, [each.uid for each in backup.entries]))
    return {each.id: known[each.uid] for each in backup.entries if each.uid in known}


def _made(
    transaction: Transaction, row: NamedRow, owner: str, new_uid: Callable[[], str], now: datetime
) -> Lorebook:
    uid = _free(transaction, "lorebook", row.uid, new_uid)
    record = rebuilt(Lorebook, row.settings, owner=owner, uid=uid, name=row.name, created=row.created)
    return LOREBOOKS.insert(transaction, record, now)


def _write_entry(
    transaction: Transaction, row: EntryRow, lorebook: LorebookId, new_uid: Callable[[], str]
) -> None:
    values: tuple[Any, ...] = (
        _free(transaction, "entry", row.uid, new_uid),
        lorebook,
        row.name,
        to_json(row.settings),
        None if row.created is None else bare(row.created),
        None if row.deleted is None else bare(row.deleted),
    )
    sql = "INSERT INTO entry (uid, lorebook_id, name, data, created_at, deleted_at) VALUES (?, ?, ?, ?, ?, ?)"
    transaction.rows(sql, *values)


def _free(transaction: Transaction, table: str, uid: str, new_uid: Callable[[], str]) -> str:
    taken = transaction.row(f"SELECT 1 FROM {table} WHERE uid = ? LIMIT 1", uid)  # noqa: S608 - names of ours
    return new_uid() if taken or not uid else uid
