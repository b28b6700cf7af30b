"""Saving what can be saved of a journal with a damaged place in it: all that was written before that place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput, StoreDamaged
from marginalia.store.backup_copies import exchanged, removed
from marginalia.store.backup_verify import opened_to_read, verify
from marginalia.store.filelock import FileLock
from marginalia.store.files import copy_whole, with_journal
from marginalia.store.frames import HEAD, broken_length, lengths_at, write_length

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

_MOST_TRIES = 64
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
        size = journal.stat().st_size
        kept = _saved(fresh, twin)
        if kept is None:
            raise InvalidInput(f"Nothing is wrong with {journal}; the next start reads it.")
        return Mended(kept=kept, bytes=size, aside=exchanged(fresh, database, now))
    finally:
        removed(fresh)
        lock.close()


def _saved(fresh: Path, twin: Path) -> int | None:
    """Put the journal right where that can be done, cut it where not; its size then, ``None`` if nothing was wrong.

    A length that was damaged is known from what follows; of other entries the engine knows that they were.
    """
    found = False
    while (at := _trouble(fresh, twin)) is not None:
        found = True
        if not _put_right(fresh, twin, at):
            with twin.open("r+b") as file:
                file.truncate(at)
    left = twin.stat().st_size
    verify(fresh, merge=True)
    return left if found else None


def _put_right(fresh: Path, twin: Path, at: int) -> bool:
    """Find the length with which the entry at *at* can be read; ``False`` where that is not what is wrong with it."""
    for length in islice(lengths_at(twin.read_bytes(), at), _MOST_TRIES):
        write_length(twin, at, length)
        if (then := _trouble(fresh, twin)) is None or then > at:
            return True
    return False


def _trouble(fresh: Path, twin: Path) -> int | None:
    """Where the journal is damaged; raises ``StoreDamaged`` where it is the database that is."""
    try:
        opened_to_read(fresh).close()
    except StoreDamaged as error:
        found = _DAMAGED_AT.search(str(error))
        if found is None:
            raise
        return int(found[1]) - HEAD  # it says where the content begins
    return broken_length(twin)
