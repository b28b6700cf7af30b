"""The books of a studio: the store's, and how one leaves and comes back as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from marginalia.errors import Busy, InvalidInput, StoreError
from marginalia.store import Store
from marginalia.store.backup import Backups
from marginalia.store.backup_check import Checked, checked
from marginalia.store.backup_file import Manifest, pack, unpack
from marginalia.store.backup_records import BookBackup
from marginalia.store.files import write_whole
from marginalia.store.repositories import Books
from marginalia.studio.names import file_name
from marginalia.values import Book, BookId, Progress, untold

BACKUPS = "backups"
BEFORE_RESTORE = "before-restore"
_KEPT = 20  # books that were replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupContents:
    """What a backup holds, and what will not come back as it was: ``notes`` are sentences for the writer.

    ``parts`` counts the living parts, ``texts`` all versions of all parts, ``words`` those of the active branch's
    whole tree.
    """

    name: str
    created: datetime
    made_by: str
    version: int
    parts: int
    texts: int
    words: int
    summaries: int
    receipts: int
    lorebooks: tuple[str, ...]
    notes: tuple[str, ...]


class Bookshelf(Books):
    """``studio.books``: everything that ``store.Books`` does, and backups of single books.

    A backup is one file with the whole tree, every revision, summaries, lore, receipts and settings, and without any
    API key. *folder* gets a backup of what a restore is about to replace; without one (in memory) nothing does. With
    *apart* in a folder of the user's own in it: nobody's restores push out what another one's replaced.
    """

    def __init__(
        self,
        store: Store,
        *,
        made_by: str,
        folder: Path | None = None,
        apart: str = "",
        writing: Callable[[BookId], bool] = lambda _book: False,
    ) -> None:
        desk = store.desk
        super().__init__(desk)
        self._backups = Backups(desk)
        self._made_by = made_by
        self._folder = folder
        self._apart = apart
        self._writing = writing

    def backup(self, book: Book | BookId, *, progress: Progress = untold) -> bytes:
        """The backup of a book, as a file's contents; raises ``NotFound``.

        An answer that is just being written is in it as far as it has come. *progress* is told how far the work is,
        here as in :meth:`restore` and :meth:`clone`; what it raises ends it, and nothing was changed.
        """
        taken = self._backups.take(book)
        part = _part_of(progress, 0.3, 1.0)
        return pack(taken, now=self._desk.clock(), made_by=self._made_by, progress=part)

    def contents(self, data: bytes) -> BackupContents:
        """What is in a backup, checked to the last row, without storing anything; raises ``FormatError``."""
        manifest, found = _read(data)
        return _contents(manifest, found, self._backups.links(found.backup))

    def restore(
        self,
        record: Book | int,
        data: bytes | None = None,
        *,
        story_only: bool = False,
        progress: Progress = untold,
    ) -> Book:
        """Bring a book back: from the trash, or with *data* to what a backup of it (or of another book) holds.

        With *story_only* name, lore, prompts and all other settings stay as they are. The backup is checked whole
        before anything is replaced, and then all of it is stored or nothing. What stood there before is kept as a
        backup of its own, one of the user's last 20 in ``backups/before-restore`` beside the database (a guest's in a
        folder of theirs in it).

        Raises:
            FormatError: the data is no backup, damaged, or too new.
            Busy: the book is being written to, or was changed at the same moment.
            NotFound: there is no such book.
        """
        if data is None:
            return super().restore(record)
        _, found = _read(data, _part_of(progress, 0.0, 0.3))
        book = self.get(record)
        if self._writing(book.id):
            raise Busy(
                "This book is being written to just now. Wait until it is done, or stop the generation first."
            )
        kept = self._keep(book)
        part = _part_of(progress, 0.5, 1.0)
        return self._backups.apply(book, found, story_only=story_only, kept=kept, progress=part)

    def clone(
        self,
        source: Book | BookId | bytes,
        *,
        name: str | None = None,
        progress: Progress = untold,
    ) -> Book:
        """A new book that has everything a book, or a backup, has; raises like :meth:`restore`.

        Identifiers are kept where they are free, so that a backup opened in an empty installation gives the same book.
        """
        if name is not None and not name.strip():
            raise InvalidInput("A book needs a name, and a blank one would not be found again.")
        data = source if isinstance(source, bytes) else self.backup(source)
        _, found = _read(data, _part_of(progress, 0.0, 0.5))
        part = _part_of(progress, 0.5, 1.0)
        return self._backups.plant(found, name=None if name is None else name.strip(), progress=part)

    def _keep(self, book: Book) -> BookBackup | None:
        """Write a backup of *book* to the folder, and return it; ``None`` where there is no folder."""
        if self._folder is None:
            return None
        now, backup = self._desk.clock(), self._backups.take(book)
        folder = self._folder / BEFORE_RESTORE / self._apart
        path = folder / f"{file_name(book.name)}-{now:%Y%m%d-%H%M%S-%f}.marginalia"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, pack(backup, now=now, made_by=self._made_by))
            for old in sorted(folder.glob("*.marginalia"), key=lambda each: each.stat().st_mtime_ns)[:-_KEPT]:
                old.unlink(missing_ok=True)
        except (StoreError, OSError) as error:
            why = str(error) if isinstance(error, StoreError) else f"{folder}: {error.strerror}."
            raise StoreError(
                f"The book as it is now could not be kept, so nothing was replaced. {why}"
            ) from error
        return backup


def _part_of(progress: Progress, begin: float, end: float) -> Progress:
    return lambda share: progress(begin + (end - begin) * share)


def _read(data: bytes, progress: Progress = untold) -> tuple[Manifest, Checked]:
    manifest, backup = unpack(data, progress)
    return manifest, checked(backup)


def _contents(manifest: Manifest, found: Checked, missing: tuple[str, ...]) -> BackupContents:
    backup = found.backup
    words = {version.id: int(version.detail.get("words", 0)) for version in backup.versions}
    return BackupContents(
        name=backup.book.name,
        created=manifest.created,
        made_by=manifest.made_by,
        version=manifest.version,
        parts=len(backup.living),
        texts=len(backup.versions),
        words=sum(words[part.version] for part in backup.living),
        summaries=len(backup.summaries),
        receipts=len(backup.receipts),
        lorebooks=tuple(each.name for each in backup.lorebooks),
        notes=(*found.notes, *missing),
    )
