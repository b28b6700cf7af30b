"""The failures of the database, translated once into errors that say what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb

from marginalia.errors import StoreDamaged, StoreError, StoreFull, StoreLocked

if TYPE_CHECKING:
    from pathlib import Path

_HOLDER = re.compile(r"held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_DAMAGE = ("corrupt", "not a valid duckdb database", "could not read enough bytes", "computed checksum")
_JOURNAL = re.compile(r"replaying WAL|corrupt WAL|\.wal\"", re.IGNORECASE)
# While a journal is replayed the database is read, too: moving a sound journal away would lose what is in it.
_NOT_THE_JOURNAL = re.compile(
    r"corrupt database file|not a valid duckdb database|not read enough bytes from file \"[^\"]*(?<!\.wal)\"",
    re.IGNORECASE,
)
_FULL = ("no space left", "disk quota exceeded", "there is not enough space")
_INVALIDATED = ("has been invalidated", "connection already closed", "connection has already been closed")


class StoreInvalidated(StoreError):
    """The engine gave up after a failure that it cannot go on from; the file is reopened and the work done again."""


def translated(error: Exception, path: Path | None) -> StoreError:
    """*error* of the engine, in plain sentences; what the engine said stays at the end, for a bug report."""
    said = str(error)
    low = said.lower()
    if any(sign in low for sign in _FULL):
        return StoreFull(
            f"The disk of {named(path)} is full, so the last change was not stored. Free some space and repeat it; "
            "everything that was stored before is safe."
        )
    if isinstance(error, duckdb.FatalException) or any(sign in low for sign in _INVALIDATED):
        return StoreInvalidated(
            f"The database {named(path)} stopped after an error and is reopened. ({said})"
        )
    if "could not set lock" in low:
        return locked(path, *_holder(said))
    if any(sign in low for sign in _DAMAGE):
        return damaged(path, said)
    return StoreError(f"The database {named(path)} refused: {said}")


def locked(path: Path | None, program: str, pid: str) -> StoreLocked:
    """The error for a second process (or a second opening in this one)."""
    who = f"{program} (process {pid})" if pid else program
    return StoreLocked(
        f"{named(path)} is in use by {who}. Close that program, or use the Marginalia that runs there; "
        "one program at a time can have a database open. Another one can be chosen with MARGINALIA_HOME."
    )


def damaged(path: Path | None, said: str) -> StoreDamaged:
    """The error for a file that is no database, or is one no longer."""
    if _JOURNAL.search(said) and not _NOT_THE_JOURNAL.search(said):
        return StoreDamaged(
            f"The journal beside {named(path)} (the same name with .wal at its end) is damaged. "
            "To save what was written before the damaged place, run: marginalia backup mend. Move it to another folder "
            f"only where that does not help: what was written since the last checkpoint is in it. ({said})"
        )
    return StoreDamaged(
        f"{named(path)} cannot be read as a database; it is damaged or something else. Put a copy of it in its place "
        "(marginalia backup list shows those that there are, marginalia backup put-back FILE does it; the folder also "
        f"keeps one from before every upgrade), or move it away to begin anew. ({said})"
    )


def named(path: Path | None) -> str:
    """The database as people know it."""
    return "in memory" if path is None else str(path)


def _holder(said: str) -> tuple[str, str]:
    found = _HOLDER.search(said)
    return (found["program"], found["pid"]) if found else ("another program", "")
