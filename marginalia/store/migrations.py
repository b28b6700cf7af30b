"""The schema's versions: SQL files that are applied in order, once, each in one transaction."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import duckdb

from marginalia.errors import StoreDamaged, StoreError, StoreTooNew
from marginalia.store.engine import connect
from marginalia.store.files import copy_whole, with_journal
from marginalia.store.frames import refuse_broken
from marginalia.store.troubles import named, translated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FILE = re.compile(r"(?P<version>\d{4})_(?P<name>\w+)\.sql")
_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migration (
  version INTEGER PRIMARY KEY, name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL,
  applied_at TIMESTAMP NOT NULL DEFAULT (now() AT TIME ZONE 'UTC'), duckdb_version VARCHAR NOT NULL DEFAULT version())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step forward of the schema."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The fingerprint of the file, however its lines end."""
        return hashlib.sha256("\n".join(self.sql.splitlines()).encode()).hexdigest()


@cache
def shipped() -> tuple[Migration, ...]:
    """The migrations that come with this version, oldest first."""
    found: list[Migration] = []
    for file in resources.files("marginalia.store").joinpath("sql").iterdir():
        if matched := _FILE.fullmatch(file.name):
            sql = file.read_text("utf-8")
            found.append(Migration(version=int(matched["version"]), name=matched["name"], sql=sql))
    return tuple(sorted(found, key=lambda each: each.version))


def open_migrated(
    path: Path | None, migrations: Sequence[Migration] | None = None
) -> duckdb.DuckDBPyConnection:
    """Open the file and bring it to the newest schema.

    An existing file is copied first (``<name>.before-<version>``), while nothing has it open. Raises ``StoreTooNew``
    for a file of a newer version, ``StoreDamaged`` for one whose schema was made by something else.
    """
    steps = shipped() if migrations is None else migrations
    if path is not None:
        refuse_broken(path)
    connection = connect(path)
    try:
        missing = _missing(connection, path, steps)
        if missing and path is not None and len(missing) < len(steps):
            connection.execute("CHECKPOINT")
            connection.close()
            _keep_copy(path, missing[0].version)
            connection = connect(path)
        for step in missing:
            _apply(connection, step)
        if missing and path is not None:
            connection.execute("CHECKPOINT")  # a journal with schema changes in it is not left to be replayed
    except duckdb.Error as error:
        connection.close()
        raise translated(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _missing(
    connection: duckdb.DuckDBPyConnection, path: Path | None, steps: Sequence[Migration]
) -> list[Migration]:
    connection.execute(_RECORD)
    rows = connection.execute("SELECT version, sha256 FROM schema_migration ORDER BY version").fetchall()
    applied: dict[int, str] = dict(rows)
    known = {step.version: step for step in steps}
    if any(version not in known for version in applied):
        raise StoreTooNew(
            f"{named(path)} was written by a newer version of Marginalia (schema {max(applied)}, this one knows "
            f"{max(known)}). Install that version, or use the copy that was kept before the upgrade."
        )
    if any(known[version].sha256 != sha256 for version, sha256 in applied.items()):
        raise StoreDamaged(
            f"{named(path)} has a schema that another build of Marginalia made. Open it with that build, or move it "
            "away to begin anew."
        )
    return [step for step in steps if step.version not in applied]


def _apply(connection: duckdb.DuckDBPyConnection, step: Migration) -> None:
    connection.begin()
    try:
        for statement in connection.extract_statements(step.sql):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO schema_migration (version, name, sha256) VALUES (?, ?, ?)",
            [step.version, step.name, step.sha256],
        )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _keep_copy(path: Path, version: int) -> None:
    """Copy the closed file and what is left of its journal, under names that belong together for the engine, too."""
    kept = path.with_name(f"{path.name}.before-{version:04}")
    try:
        for source, target in zip(with_journal(path), with_journal(kept), strict=True):
            if source.exists():
                copy_whole(source, target)
    except StoreError as error:
        raise type(error)(
            f"{named(path)} is brought to a new schema only when a copy of it was kept, and there is none: {error} "
            "The database is as it was."
        ) from error
