"""One database file, opened once: reads from any thread, writes through the one writer."""

from __future__ import annotations

import atexit
import logging
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from marginalia.errors import MarginaliaError, StoreError
from marginalia.store.engine import Engine
from marginalia.store.filelock import FileLock
from marginalia.store.memory import Memory
from marginalia.store.migrations import open_migrated
from marginalia.store.session import Change, Reading
from marginalia.store.troubles import StoreInvalidated
from marginalia.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from marginalia.store.session import Row, Session, Statement, Table, Transaction

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
IN_MEMORY = ":memory:"
_TRIES = 4


class Database:
    """The file, its lock, its writer thread and what is remembered of it. Safe to use from any thread."""

    def __init__(self, engine: Engine, lock: FileLock | None, weigh: Callable[[object], int]) -> None:
        self._engine = engine
        self._lock = lock
        self._memory = Memory(weigh)
        self._listeners: tuple[tuple[str, Callable[[Change], None]], ...] = ()
        self._writer = Writer(engine, self._memory, self._tell)
        atexit.register(self.close)

    @classmethod
    def open(cls, path: Path | str, *, weigh: Callable[[object], int] = lambda _value: 0) -> Database:
        """Open (or create) the database at *path*; ``":memory:"`` for one that nobody keeps.

        *weigh* says how many characters of memory a remembered value takes (0: little).

        Raises:
            StoreLocked: another process has the file open, or this one already has.
            StoreDamaged: the file is no database, or a broken one.
            StoreTooNew: it was written by a newer version.
        """
        if str(path) == IN_MEMORY:
            return cls(Engine(None, open_migrated(None)), None, weigh)
        path = Path(path).expanduser().absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The folder {path.parent} cannot be made: {error.strerror}.") from error
        lock = FileLock.take(path)
        try:
            return cls(Engine(path, open_migrated(path)), lock, weigh)
        except BaseException:
            lock.close()
            raise

    @property
    def path(self) -> Path | None:
        """Where the file is; ``None`` for a database in memory."""
        return self._engine.path

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Do *work* in a transaction on the writer thread; the future is done once it is stored (or has failed).

        *work* may be called twice, so it changes nothing but the transaction it is given.
        """
        return self._writer.submit(work)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """``submit`` and wait."""
        if self._writer.here:
            raise StoreError(
                "A listener to changes tried to write; it runs in the writer's thread and must not."
            )
        return self.submit(work).result()

    def read(self, work: Callable[[Session], T]) -> T:
        """Do *work* with what is committed now; no cursor is taken while memory has everything.

        *work* is done again when something it looked at was changed meanwhile: its answer may be of two moments.
        """
        for _ in range(_TRIES):
            version, session = self._memory.version, self._session()
            try:
                answer = work(session)
            except StoreInvalidated:
                if self._writer.here:
                    raise
                self.write(lambda _transaction: None)  # the writer finds the same and reopens the file
            except MarginaliaError:
                if not self._memory.changed_since(version, session.seen):
                    raise
            else:
                if not self._memory.changed_since(version, session.seen):
                    return answer
        return work(self._session())

    def subscribe(self, owner: str, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call *listener* after each commit that changed something of *owner*; returns what ends that."""
        pair = (owner, listener)
        self._listeners = (*self._listeners, pair)

        def end() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not pair)

        return end

    def close(self) -> None:
        """Store what is queued, checkpoint and let go of the file; a second time does nothing."""
        atexit.unregister(self.close)
        self._writer.stop()
        self._engine.close()
        if self._lock is not None:
            self._lock.close()

    def _session(self) -> Reading:
        return Reading(self._query, self._together, self._moment, self._memory)

    def _query(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        with self._engine.lend() as cursor:
            return self._engine.run(cursor, sql, parameters)

    def _together(self, statements: Sequence[Statement]) -> list[list[Row]]:
        with self._engine.lend() as cursor, self._engine.one_moment(cursor):
            return [self._engine.run(cursor, sql, parameters) for sql, parameters in statements]

    def _moment(self, table: Statement, statements: Sequence[Statement]) -> tuple[Table, list[list[Row]]]:
        with self._engine.lend() as cursor, self._engine.one_moment(cursor):
            read = self._engine.columns(cursor, *table)
            return read, [self._engine.run(cursor, sql, parameters) for sql, parameters in statements]

    def _tell(self, changes: Iterable[tuple[str, Change]]) -> None:
        for owner, change in changes:
            for whose, listener in self._listeners:
                if whose == owner:
                    try:
                        listener(change)
                    except Exception:  # noqa: BLE001 - a listener's fault must not end the writer's thread
                        _LOG.exception("A listener to changes of the store failed.")
