"""Copies of the whole database, taken now or on a schedule."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from marginalia.errors import NotFound, StoreError
from marginalia.store import Store
from marginalia.store.backup import Backups
from marginalia.store.backup_copies import Copies, Copy, Keep
from marginalia.store.backup_file import pack

_log = logging.getLogger(__name__)
_DAY = timedelta(days=1)
_AGAIN = timedelta(hours=1)  # after a copy that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class BookInCopy:
    """A book of the user as it is in a copy: its uid and name, and the words and parts of all its branches."""

    uid: str
    name: str
    words: int
    parts: int


class DatabaseCopies(Copies):
    """``studio.copies``: whole-database copies in *folder*, each checked when it is taken.

    ``take``, ``all``, ``prune`` and ``verify`` are plain functions that may take seconds; ``keep_taking`` is the
    schedule. A copy holds no API key: none stands in the database. ``owner`` is whether the studio is that of the
    person who opened the database: the copies have everybody's books in them, so the app shows them to nobody else.
    """

    def __init__(self, store: Store, folder: Path | None, *, made_by: str = "", owner: bool = True) -> None:
        super().__init__(store.desk, folder)
        self.owner = owner
        self._made_by = made_by

    def books(self, copy: Copy | Path) -> tuple[BookInCopy, ...]:
        """The user's own books in a copy, by name; raises like :meth:`take_out`."""
        with self._opened(copy) as store:
            found = [(book, store.story.statistics(book)[1]) for book in store.books.all()]
        return tuple(
            BookInCopy(uid=book.uid, name=book.name, words=whole.words, parts=whole.parts)
            for book, whole in sorted(found, key=lambda pair: pair[0].name.casefold())
        )

    def take_out(self, copy: Copy | Path, uid: str) -> bytes:
        """The backup of one book as it was in a copy; ``studio.books.clone`` makes a book of it.

        The copy is opened as a copy of its own in a temporary folder beside it, and stays as it is.

        Raises:
            NotFound: the user has no such book in it.
            StoreError: the copy cannot be read, or there is no room to open it.
        """
        with self._opened(copy) as store:
            found = next((each for each in store.books.all() if each.uid == uid), None)
            if found is None:
                raise NotFound("This book is not in that copy. Choose another one.")
            return pack(Backups(store.desk).take(found), now=self._now(), made_by=self._made_by)

    @contextmanager
    def _opened(self, copy: Copy | Path) -> Generator[Store]:
        path, desk = copy.path if isinstance(copy, Copy) else copy, self._desk
        with tempfile.TemporaryDirectory(prefix="look-", dir=path.parent) as folder:
            try:
                twin = Path(shutil.copy2(path, folder))
            except OSError as error:
                raise StoreError(f"The copy {path} could not be opened: {error.strerror}.") from error
            store = Store.open(
                twin, user=desk.user, clock=desk.clock, tokenizer=desk.tokenizer, new_uid=desk.new_uid
            )
            try:
                yield store
            finally:
                store.close()

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
