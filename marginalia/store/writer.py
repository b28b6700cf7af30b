"""The one thread that writes: jobs that wait together share a commit, and a failing one takes no other with it."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from marginalia.errors import StoreError
from marginalia.store.session import Transaction
from marginalia.store.troubles import StoreInvalidated, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from marginalia.store.engine import Engine
    from marginalia.store.memory import Memory
    from marginalia.store.session import Change, Row, Table

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_BATCH = 64
_IDLE = 2.0  # seconds without work before a checkpoint
_JOURNAL_LIMIT = 12_000_000  # bytes of journal before a checkpoint that does not wait


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Transaction], Any]
    future: Future[Any] = field(default_factory=Future[Any])


class Writer:
    """Runs jobs in transactions, in the order they came.

    A job may run twice (with others, then alone when one of them failed), so it must change nothing but its
    transaction.
    """

    def __init__(
        self, engine: Engine, memory: Memory, tell: Callable[[Iterable[tuple[str, Change]]], None]
    ) -> None:
        self._engine = engine
        self._memory = memory
        self._tell = tell
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._cursor = engine.cursor()
        self._dirty = False
        self._stopped = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="marginalia-store", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Queue a job; the future has what it returned once that is on the disk."""
        job = _Job(work)
        with self._gate:
            if self._stopped:
                raise StoreError("The database is closed.")
            self._jobs.put(job)
        return job.future

    @property
    def here(self) -> bool:
        """Whether the caller is the writer's own thread, which must not wait for itself."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Finish what is queued, checkpoint, end the thread; a second time does nothing."""
        with self._gate:
            if not self._stopped:
                self._stopped = True
                self._jobs.put(None)
        if not self.here:
            self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            if batch:
                self._settle(batch)
            if self._dirty and (not batch or self._engine.journal_size() > _JOURNAL_LIMIT):
                self._checkpoint()
        with contextlib.suppress(duckdb.Error):
            self._cursor.close()

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """Jobs that wait, and whether to go on; no jobs when the writer is idle or stops."""
        try:
            first = self._jobs.get(timeout=_IDLE if self._dirty else None)
        except Empty:
            return [], True
        batch: list[_Job] = []
        while first is not None:
            batch.append(first)
            if len(batch) == _BATCH or self._jobs.empty():
                return self._wanted(batch), True
            first = self._jobs.get()
        if batch:
            self._jobs.put(None)  # nothing can be queued behind it any more
            return self._wanted(batch), True
        return [], False

    @staticmethod
    def _wanted(batch: list[_Job]) -> list[_Job]:
        return [job for job in batch if job.future.set_running_or_notify_cancel()]

    def _settle(self, batch: Sequence[_Job]) -> None:
        """Commit the jobs together; if that fails, one by one."""
        try:
            results = self._commit(batch)
        except BaseException as error:  # noqa: BLE001 - whoever waits for a job gets what it raised, and the thread lives
            if len(batch) == 1:
                batch[0].future.set_exception(error)
            else:
                for job in batch:
                    self._settle([job])
            return
        for job, result in zip(batch, results, strict=True):
            job.future.set_result(result)

    def _commit(self, batch: Sequence[_Job]) -> list[Any]:
        try:
            return self._attempt(batch)
        except StoreInvalidated:
            self._reopen()
            return self._attempt(batch)

    def _attempt(self, batch: Sequence[_Job]) -> list[Any]:
        transaction = Transaction(self._execute, self._read, self._memory)
        try:
            self._execute("BEGIN", ())
            results = [job.work(transaction) for job in batch]
            if transaction.failure is not None:
                raise transaction.failure
            self._execute("COMMIT", ())
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self._cursor.execute("ROLLBACK")
            raise
        self._dirty = True
        self._memory.publish(transaction.put_values, transaction.loaded)
        self._tell(transaction.changes)
        return results

    def _execute(self, sql: str, parameters: Sequence[object]) -> list[Row]:
        return self._engine.run(self._cursor, sql, parameters)

    def _read(self, sql: str, parameters: Sequence[object]) -> Table:
        return self._engine.columns(self._cursor, sql, parameters)

    def _checkpoint(self) -> None:
        try:
            self._dirty = not self._checkpointed()
        except (StoreError, OSError):
            _LOG.exception("A checkpoint failed; what was stored stays in the journal.")

    def _checkpointed(self) -> bool:
        try:
            return self._engine.checkpoint(self._cursor)
        except StoreInvalidated:
            self._reopen()
            return True

    def _reopen(self) -> None:
        with contextlib.suppress(duckdb.Error):
            self._cursor.close()
        self._engine.reopen()
        try:
            self._cursor = self._engine.cursor()
        except duckdb.Error as error:
            raise translated(error, self._engine.path) from error
