"""Everything that is kept: one DuckDB file, reached through one :class:`Store`.

The only package that knows the database. ``Store`` has a repository per kind of thing, the story, and the two
ports that the pipeline works with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.store.archive import StoredArchive
from marginalia.store.database import Database
from marginalia.store.desk import Desk
from marginalia.store.home import database_path, home_folder
from marginalia.store.journal import Step
from marginalia.store.library import StoredLibrary
from marginalia.store.lorebooks import Lorebooks
from marginalia.store.pages import weigh
from marginalia.store.recovery import recover
from marginalia.store.repositories import Books, Protocols, Providers
from marginalia.store.revisions import Revision
from marginalia.store.sample import plant_sample
from marginalia.store.searching import Hit
from marginalia.store.session import Change
from marginalia.store.settings import Settings
from marginalia.store.story import HERE, Story
from marginalia.store.summaries import SummaryShelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from marginalia.prompt.tokens import Tokenizer

__all__ = [
    "HERE",
    "Change",
    "Hit",
    "Revision",
    "Step",
    "Store",
    "SummaryShelf",
    "database_path",
    "home_folder",
    "plant_sample",
]


class Store:
    """One user's things in one database.

    Every call is a plain function and safe from any thread; ``archive`` alone is asynchronous. Reads come from
    memory or take about a millisecond, writes a few.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.books = Books(desk)
        self.providers = Providers(desk)
        self.protocols = Protocols(desk)
        self.lorebooks = Lorebooks(desk)
        self.story = Story(desk)
        self.summaries = SummaryShelf(desk)
        self.settings = Settings(desk)
        self.library = StoredLibrary(desk)
        self.archive = StoredArchive(desk)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        user: str,
        clock: Callable[[], datetime],
        tokenizer: Tokenizer,
        new_uid: Callable[[], str],
    ) -> Store:
        """Open (or create) the database at *path*, ``":memory:"`` for one that is not kept.

        What a crash interrupted is settled first: text that had arrived becomes a partial part.

        Raises:
            StoreLocked: another process has the file open, or this one already has.
            StoreDamaged: the file is no database, or a broken one.
            StoreTooNew: it was written by a newer version.
        """
        database = Database.open(path, weigh=weigh)
        now = clock()
        try:
            database.write(lambda transaction: recover(transaction, tokenizer, now))
        except BaseException:
            database.close()
            raise
        return cls(Desk(database=database, user=user, clock=clock, tokenizer=tokenizer, new_uid=new_uid))

    @property
    def desk(self) -> Desk:
        """What repositories are made from, for facades that extend them."""
        return self._desk

    @property
    def user(self) -> str:
        """Whose things these are."""
        return self._desk.user

    @property
    def path(self) -> Path | None:
        """Where the database is; ``None`` in memory."""
        return self._desk.database.path

    def for_user(self, user: str) -> Store:
        """The same database for another user; closing either closes both."""
        return Store(
            Desk(
                database=self._desk.database,
                user=user,
                clock=self._desk.clock,
                tokenizer=self._desk.tokenizer,
                new_uid=self._desk.new_uid,
            )
        )

    def on_change(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call *callback*, in the writer's thread, after each commit that changed something of this user.

        It must return soon and must not write; the answer ends the subscription.
        """
        return self._desk.database.subscribe(self.user, callback)

    def close(self) -> None:
        """Store what is queued and let go of the file; a second time does nothing."""
        self._desk.database.close()
