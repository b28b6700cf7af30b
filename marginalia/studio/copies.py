"""Copies of the whole database, taken now or on a schedule."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from marginalia.errors import StoreError
from marginalia.store import Store
from marginalia.store.backup_copies import Copies, Copy, Keep

_log = logging.getLogger(__name__)
_DAY = timedelta(days=1)
_AGAIN = timedelta(hours=1)  # after a copy that failed


class DatabaseCopies(Copies):
    """``studio.copies``: whole-database copies in *folder*, each checked when it is taken.

    ``take``, ``all``, ``prune`` and ``verify`` are plain functions that may take seconds; ``keep_taking`` is the
    schedule. A copy holds no API key: none stands in the database.
    """

    def __init__(self, store: Store, folder: Path | None) -> None:
        super().__init__(store.desk, folder)

    async def keep_taking(self, *, every: timedelta = _DAY, keep: Keep | None = None) -> None:
        """Take a copy whenever the newest one is older than *every*, and delete those that are too many; never returns.

        A copy that fails is told to the log and tried again within the hour. Cancel it to end it.
        """
        while True:
            wait = self.due_in(every)
            if wait <= timedelta(0):
                wait = every if await anyio.to_thread.run_sync(self._take_one, keep) else min(every, _AGAIN)
            await anyio.sleep(wait.total_seconds())

    def due_in(self, every: timedelta) -> timedelta:
        """How long until the next copy is due; zero or less: now."""
        copies = self.all()
        return copies[0].taken + every - self._now() if copies else timedelta(0)

    def _take_one(self, keep: Keep | None) -> Copy | None:
        try:
            copy = self.take()
            self.prune(keep)
        except (StoreError, OSError) as error:
            _log.warning("The copy of the database that was due could not be taken: %s", error)
            return None
        return copy

    def _now(self) -> datetime:
        return self._desk.clock()
