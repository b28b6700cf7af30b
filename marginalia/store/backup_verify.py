"""Reading a whole database to know that it is whole: every row, and every reference that has to lead somewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from marginalia.errors import StoreDamaged
from marginalia.store.engine import connect
from marginalia.store.filelock import FileLock
from marginalia.store.frames import refuse_broken
from marginalia.store.migrations import shipped
from marginalia.store.troubles import named, translated

if TYPE_CHECKING:
    from pathlib import Path

_READ_ONLY: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": "512MB",
    "threads": 2,
}
# What the schema does not force (it has no foreign keys, see 0001_init.sql), as numbers that should be 0.
_LOOSE: Mapping[str, str] = {
    "parts without their text": (
        "SELECT count(*) FROM part LEFT JOIN part_text ON part_text.id = part.text_id AND part_text.part_id = part.id "
        "WHERE part_text.id IS NULL AND part.id NOT IN (SELECT part_id FROM draft)"
    ),
    "parts of no book": "SELECT count(*) FROM part ANTI JOIN book ON book.id = part.book_id",
    "parts that follow a part of another book or none": (
        "SELECT count(*) FROM part LEFT JOIN part above ON above.id = part.parent_id "
        "AND above.book_id = part.book_id WHERE part.parent_id IS NOT NULL AND above.id IS NULL "
        "AND part.deleted_at IS NULL"
    ),
    "books that are at a part which is not there": (
        "SELECT count(*) FROM book LEFT JOIN part ON part.id = book.leaf_id AND part.book_id = book.id "
        "AND part.deleted_at IS NULL WHERE book.leaf_id IS NOT NULL AND part.id IS NULL"
    ),
    "texts whose receipt is missing": (
        "SELECT count(*) FROM part_text LEFT JOIN receipt ON receipt.id = part_text.receipt_id "
        "WHERE part_text.receipt_id IS NOT NULL AND receipt.id IS NULL"
    ),
    "texts whose lore is missing": (
        "SELECT count(*) FROM part_text LEFT JOIN blob ON blob.id = part_text.lore_id "
        "WHERE part_text.lore_id IS NOT NULL AND blob.id IS NULL"
    ),
    "summaries of no part": "SELECT count(*) FROM summary ANTI JOIN part ON part.id = summary.part_id",
    "lore entries of no lorebook": "SELECT count(*) FROM entry ANTI JOIN lorebook ON lorebook.id = entry.lorebook_id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What was read: the schema's version, the rows of each table, and ``problems`` as sentences (none: all well)."""

    schema: int
    rows: Mapping[str, int]
    problems: tuple[str, ...]


def verify(path: Path, *, merge: bool = False) -> Examination:
    """Read everything in the database file at *path*, which nothing has open.

    With *merge* its journal is merged into it first, so that it is one file; else it is not written to, and a copy with
    a journal beside it is read together with that.

    Raises:
        StoreDamaged: it is no database, or cannot be read to the end.
    """
    if not path.is_file():
        raise StoreDamaged(f"There is no file {path}.")
    refuse_broken(path)
    connection = connect(path) if merge else opened_to_read(path)
    try:
        if merge:
            connection.execute("CHECKPOINT")
        return _examined(connection, path)
    except duckdb.Error as error:
        raise translated(error, path) from error
    finally:
        connection.close()


def verify_own(path: Path) -> Examination:
    """:func:`verify` for a database in use here: under its lock, so that no program works with it meanwhile.

    Raises ``StoreLocked`` as well, where one does.
    """
    lock = FileLock.take(path)
    try:
        return verify(path)
    finally:
        lock.close()


def opened_to_read(path: Path) -> duckdb.DuckDBPyConnection:
    """The database, read together with its journal and not changed; raises ``StoreDamaged``."""
    try:
        return duckdb.connect(str(path), read_only=True, config=_READ_ONLY)
    except duckdb.Error as error:
        raise translated(error, path) from error


def _examined(connection: duckdb.DuckDBPyConnection, path: Path) -> Examination:
    names = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1"
    ).fetchall()
    tables = [str(name) for (name,) in names]
    if "schema_migration" not in tables:
        raise StoreDamaged(f"{named(path)} is a database, but not one of Marginalia.")
    rows: dict[str, int] = {}
    for table in tables:
        # hash() reads every column of every row; a count alone would not.
        found = connection.execute(f'SELECT count(*), sum(hash(t)) FROM "{table}" t').fetchone()  # noqa: S608 - names from the catalogue
        rows[table] = int(found[0]) if found else 0
    version = connection.execute("SELECT max(version) FROM schema_migration").fetchone()
    schema = int(version[0] or 0) if version else 0
    newest = max(each.version for each in shipped())
    # Another schema may have other tables and columns; what can be said of it is that every row can be read.
    problems = _loose_ends(connection) if schema == newest else ()
    return Examination(schema=schema, rows=rows, problems=problems)


def _loose_ends(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    counted = {what: connection.execute(sql).fetchone() for what, sql in _LOOSE.items()}
    return tuple(f"There are {row[0]} {what}." for what, row in counted.items() if row and row[0])
