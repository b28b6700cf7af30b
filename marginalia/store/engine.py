"""The engine: the one connection of this process to the file, its cursors, its checkpoints, and opening it again."""

from __future__ import annotations

import contextlib
import shutil
from threading import Condition
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from marginalia.errors import StoreError
from marginalia.store.troubles import StoreInvalidated, translated

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from marginalia.store.session import Row, Table

_IDLE_CURSORS = 8
_PATIENCE = 10.0  # seconds to wait for readers before the connection is closed under them
_SPARE_BYTES = 8_000_000  # what a checkpoint may need beyond the journal's size

# One process must pass the same configuration at every connect. Nothing is ever downloaded, no Python variable is
# read as a table, and checkpoints happen when the writer wants them, not inside somebody's commit.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "memory_limit": "1GB",
    "threads": 2,
    "checkpoint_threshold": "1GB",
    "auto_checkpoint_skip_wal_threshold": 1_000_000_000,
}
_AFTER_CONNECT = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def connect(path: Path | None) -> duckdb.DuckDBPyConnection:
    """Open the file (``None``: a database in memory); failures are ``StoreError``s."""
    try:
        connection = duckdb.connect(":memory:" if path is None else str(path), config=_CONFIG)
        _without_progress_bar(connection)
        for statement in _AFTER_CONNECT:
            connection.execute(statement)
    except duckdb.Error as error:
        raise translated(error, path) from error
    return connection


def _without_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Long queries draw nothing. In a notebook without ipywidgets they cannot, and there DuckDB refuses to be told."""
    shown = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if shown == [(True,)]:
        connection.execute("SET enable_progress_bar = false")


class Engine:
    """Owns the connection. Readers borrow cursors from any thread; the writer has one of its own."""

    def __init__(self, path: Path | None, connection: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self._connection = connection
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._lent = 0
        self._open = True
        self._free = Condition()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor; cursors may be used in one thread at a time."""
        try:
            return self._connection.cursor()
        except duckdb.Error as error:
            raise translated(error, self.path) from error

    @contextlib.contextmanager
    def lend(self) -> Generator[duckdb.DuckDBPyConnection]:
        """A cursor to read with."""
        with self._free:
            if not self._open:
                raise StoreError("The database is closed.")
            cursor = self._idle.pop() if self._idle else self.cursor()
            origin = self._connection
            self._lent += 1
        try:
            yield cursor
        finally:
            with self._free:
                self._lent -= 1
                if origin is self._connection and self._open and len(self._idle) < _IDLE_CURSORS:
                    self._idle.append(cursor)
                else:
                    cursor.close()
                self._free.notify_all()

    def run(self, cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object]) -> list[Row]:
        """Execute and fetch everything: a result left open would keep a transaction and hold up checkpoints."""
        try:
            return cursor.execute(sql, list(parameters)).fetchall()
        except duckdb.Error as error:
            raise translated(error, self.path) from error

    def columns(self, cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object]) -> Table:
        """Execute a statement that gives whole numbers only, and fetch its columns by name."""
        try:
            found = cursor.execute(sql, list(parameters)).fetchnumpy()
        except duckdb.Error as error:
            raise translated(error, self.path) from error
        return {name: np.asarray(column, dtype=np.int64) for name, column in found.items()}

    @contextlib.contextmanager
    def one_moment(self, cursor: duckdb.DuckDBPyConnection) -> Generator[None]:
        """All reads inside see the same state."""
        self.run(cursor, "BEGIN", ())
        try:
            yield
        finally:
            with contextlib.suppress(duckdb.Error):
                cursor.execute("ROLLBACK")

    def journal_size(self) -> int:
        """Bytes in the write-ahead log. Looked at, never opened: closing a descriptor would drop the engine's lock."""
        if self.path is None:
            return 0
        try:
            return self.path.with_name(f"{self.path.name}.wal").stat().st_size
        except FileNotFoundError:
            return 0

    def checkpoint(self, cursor: duckdb.DuckDBPyConnection) -> bool:
        """Move the journal into the file; ``False`` when that has to wait for room on the disk or for a reader."""
        if self.path is None:
            return True
        if shutil.disk_usage(self.path.parent).free < 2 * self.journal_size() + _SPARE_BYTES:
            return False
        try:
            cursor.execute("CHECKPOINT")
        except duckdb.TransactionException:
            return False
        except duckdb.Error as error:
            if isinstance(error, duckdb.FatalException):
                raise StoreInvalidated(str(error)) from error
            raise translated(error, self.path) from error
        return True

    def reopen(self) -> None:
        """Close everything and open the file again; for a database in memory that is not possible."""
        if self.path is None:
            raise StoreError("The database in memory failed and cannot be opened again.")
        with self._free:
            self._close_all()
            self._connection = connect(self.path)

    def close(self) -> None:
        """Close for good; a second time does nothing."""
        with self._free:
            if self._open:
                self._open = False
                self._close_all()

    def _close_all(self) -> None:
        self._free.wait_for(lambda: self._lent == 0, _PATIENCE)
        for cursor in self._idle:
            cursor.close()
        self._idle.clear()
        with contextlib.suppress(duckdb.Error):
            self._connection.close()
