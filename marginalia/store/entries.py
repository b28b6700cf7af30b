"""Many lore entries at once, each time in one transaction: all of them, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.errors import NotFound
from marginalia.store.codec import bare
from marginalia.store.session import storable
from marginalia.store.tables import LOREBOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from marginalia.store.session import Transaction

_BATCH = 2_000
_WHERE = "SELECT id, lorebook_id FROM entry WHERE id IN (SELECT unnest(?::BIGINT[])) AND deleted_at IS"
_UPDATE = (
    "UPDATE entry SET lorebook_id = new.lorebook_id, name = new.name, data = new.data FROM (SELECT "
    "unnest(?::BIGINT[]) AS id, unnest(?::BIGINT[]) AS lorebook_id, unnest(?::VARCHAR[]) AS name, "
    "unnest(?::VARCHAR[]) AS data) AS new WHERE entry.id = new.id"
)
_MARK = "UPDATE entry SET deleted_at = ? WHERE id IN (SELECT unnest(?::BIGINT[]))"


def update_entries(
    transaction: Transaction, owner: str, rows: Sequence[tuple[int, int, str, str]]
) -> frozenset[int]:
    """Store *rows* (id, lorebook, name, data); the lorebooks that changed.

    Raises ``NotFound`` when an entry or a lorebook is deleted, or somebody else's.
    """
    before = _homes(transaction, owner, [row[0] for row in rows], deleted=False)
    after = frozenset(row[1] for row in rows)
    for lorebook in after - before:
        LOREBOOKS.mine(transaction, lorebook, owner)
    for start in range(0, len(rows), _BATCH):
        ids, lorebooks, names, data = (
            list(column) for column in zip(*rows[start : start + _BATCH], strict=True)
        )
        transaction.rows(_UPDATE, ids, lorebooks, [storable(each) for each in names], data)
    return before | after


def mark_entries(
    transaction: Transaction, owner: str, entries: Sequence[int], now: datetime | None
) -> frozenset[int]:
    """Move *entries* to the trash, or with no time bring them back; the lorebooks that changed. Raises ``NotFound``."""
    found = _homes(transaction, owner, entries, deleted=now is None)
    transaction.rows(_MARK, None if now is None else bare(now), list(entries))
    return found


def _homes(transaction: Transaction, owner: str, entries: Sequence[int], *, deleted: bool) -> frozenset[int]:
    """The lorebooks that *entries* are in."""
    rows = transaction.rows(f"{_WHERE} {'NOT NULL' if deleted else 'NULL'}", list(entries))
    found: dict[int, int] = dict(rows)
    missing = next((each for each in entries if each not in found), None)
    if missing is not None:
        raise NotFound(f"There is no entry {missing}; it may have been deleted.")
    homes = frozenset(found.values())
    for lorebook in homes:
        LOREBOOKS.mine(transaction, lorebook, owner)
    return homes
