"""Saving what can be saved of a journal with a damaged place in it: all that was written before that place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput, StoreDamaged
from marginalia.store.backup_copies import exchanged, removed
from marginalia.store.backup_verify import verify
from marginalia.store.filelock import FileLock
from marginalia.store.files import copy_whole, with_journal

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

_DAMAGED_AT = re.compile(r"entry at byte position (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What was saved: ``kept`` of the journal's ``bytes``; and where the files that were there are now."""

    kept: int
    bytes: int
    aside: tuple[Path, ...]


def mend(database: Path, *, now: datetime) -> Mended:
    """Put in the place of a database whose journal is damaged one with everything up to the damaged place.

    Works on copies; what was there is moved aside whole, never deleted.

    Raises:
        InvalidInput: there is no journal, or nothing is wrong with it.
        StoreDamaged: it is the database itself that is damaged.
        StoreLocked: a program has the database open.
        StoreFull: there is no room for the copies.
    """
    fresh = database.with_name(database.name + ".part")
    journal, twin = with_journal(database)[1], with_journal(fresh)[1]
    if not database.exists() or not journal.exists():
        raise InvalidInput(f"There is no journal {journal} that could be mended.")
    lock = FileLock.take(database)
    try:
        removed(fresh)
        copy_whole(database, fresh)
        copy_whole(journal, twin)
        whole = twin.stat().st_size
        kept = _cut(fresh, twin)
        if kept == whole:
            raise InvalidInput(f"Nothing is wrong with {journal}; the next start reads it.")
        return Mended(kept=kept, bytes=whole, aside=exchanged(fresh, database, now))
    finally:
        removed(fresh)
        lock.close()


def _cut(fresh: Path, twin: Path) -> int:
    """Cut the journal before what cannot be read, until the rest can; returns what is left of it."""
    left = twin.stat().st_size
    while True:
        try:
            verify(fresh, merge=True)
        except StoreDamaged as error:
            found = _DAMAGED_AT.search(str(error))
            if found is None or int(found[1]) >= left:
                raise
            left = int(found[1])
            with twin.open("r+b") as file:
                file.truncate(left)
        else:
            return left
