"""Copies of the whole database while it is in use, and which of them to keep.

The files are copied by a process of their own while the writer's thread does nothing else, so the copy is of one
moment and takes no lock away (closing a descriptor of the database in this process would drop the engine's). Then the
copy is opened, its journal merged, and everything in it read, before it counts as one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput, StoreDamaged, StoreError, StoreFull, StoreTooNew
from marginalia.store.backup_verify import Examination, verify
from marginalia.store.filelock import FileLock
from marginalia.store.files import copy_whole, with_journal
from marginalia.store.migrations import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.store.desk import Desk

_NAME = re.compile(r"marginalia-(?P<taken>\d{8}T\d{6})Z\.db")
_LEFT_OVER = re.compile(rf"(?:{_NAME.pattern})\.part(?:\.wal)?|look-\w+")
_TIME = "%Y%m%dT%H%M%S"
_SPARE_BYTES = 16_000_000  # what opening the copy may need beside it
_LONGEST = 600  # seconds for copying the files
_COPY = """
import os, shutil, sys
for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
    if os.path.exists(source):
        with open(source, "rb") as old, open(target, "xb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            new.flush()
            os.fsync(new.fileno())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy of the database: one file that Marginalia can open, when it was taken, and its bytes."""

    path: Path
    taken: datetime
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How many copies stay: the newest ``recent`` ones, and the newest of each of the last ``weeks`` weeks."""

    recent: int = 7
    weeks: int = 4

    def __post_init__(self) -> None:
        if self.recent < 1 or self.weeks < 0:
            raise InvalidInput("At least one copy has to be kept, and no fewer than 0 weekly ones.")


class Copies:
    """The copies of the database in *folder*, named after their time. Calls may take seconds.

    A database in memory has no folder, and no copies.
    """

    def __init__(self, desk: Desk, folder: Path | None) -> None:
        self._desk = desk
        self.folder = folder
        self._taking = Lock()  # two at once could take the same name

    def take(self) -> Copy:
        """Copy the database as it is now, check the copy, and return it. Writing waits while the files are copied.

        Raises:
            InvalidInput: the database is in memory.
            StoreFull: there is no room for the copy.
            StoreError: the folder cannot be written, or the copy is not whole.
        """
        source = self._desk.database.path
        if source is None or self.folder is None:
            raise InvalidInput("A database in memory has no file to copy; back up its books one by one.")
        now = self._desk.clock().astimezone(UTC)
        target = self.folder / f"marginalia-{now:{_TIME}}Z.db"
        part = target.with_name(target.name + ".part")
        with self._taking:
            _clear_away(self.folder)
            _refuse_full(source, self.folder)
            return self._taken(source, part, target)

    def _taken(self, source: Path, part: Path, target: Path) -> Copy:
        try:
            self._desk.database.write(lambda _transaction: _copy_files(source, part))
            verify(part, merge=True)
            part.replace(target)
        except OSError as error:
            raise StoreError(f"The copy {target} could not be written: {error.strerror}.") from error
        finally:
            removed(part)
        return _described(target)

    def all(self) -> tuple[Copy, ...]:
        """The copies that are there, newest first."""
        return () if self.folder is None else listed(self.folder)

    def prune(self, keep: Keep | None = None) -> tuple[Copy, ...]:
        """Delete the copies that are too many, and return them."""
        gone = outdated(self.all(), keep or Keep())
        for copy in gone:
            removed(copy.path)
        return gone

    def verify(self, copy: Copy | Path) -> Examination:
        """Read everything in a copy; raises ``StoreDamaged`` for one that cannot be read."""
        return verify(copy.path if isinstance(copy, Copy) else copy)


def listed(folder: Path) -> tuple[Copy, ...]:
    """The copies in a folder, newest first; none where there is no such folder."""
    paths = folder.iterdir() if folder.is_dir() else ()
    found = (_described(path) for path in paths if _NAME.fullmatch(path.name))
    return tuple(sorted(found, key=lambda copy: copy.taken, reverse=True))


def outdated(copies: Iterable[Copy], keep: Keep) -> tuple[Copy, ...]:
    """The copies that need not be kept, newest first."""
    newest = sorted(copies, key=lambda copy: copy.taken, reverse=True)
    weekly = [next(of_week) for _, of_week in groupby(newest, key=lambda copy: copy.taken.isocalendar()[:2])]
    kept = {copy.path for copy in (*newest[: keep.recent], *weekly[: keep.weeks])}
    return tuple(copy for copy in newest if copy.path not in kept)


def put_back(copy: Path, database: Path, *, now: datetime, anyway: bool = False) -> tuple[Path, ...]:
    """Put a copy in the place of a database that nobody has open; returns where the files that were there are now.

    The copy is checked first, and stays; a journal beside it counts. What was there is moved aside, never deleted.
    Where every row of a copy can be read, but some lead nowhere, *anyway* puts it back all the same.

    Raises:
        StoreDamaged: the copy cannot be read, or is not whole.
        StoreTooNew: a newer version of Marginalia made it.
        StoreLocked: a program has the database open.
        StoreFull: there is no room for it.
        StoreError: the files cannot be moved.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    fresh = database.with_name(database.name + ".part")
    lock = FileLock.take(database)
    try:
        _refuse_unusable(verify(copy), copy, anyway=anyway)
        for source, target in zip(with_journal(copy), with_journal(fresh), strict=True):
            target.unlink(missing_ok=True)
            if source.exists():
                copy_whole(source, target)
        verify(fresh, merge=True)
        return exchanged(fresh, database, now)
    finally:
        removed(fresh)
        lock.close()


def _refuse_unusable(examined: Examination, copy: Path, *, anyway: bool) -> None:
    newest = max(each.version for each in shipped())
    if examined.schema > newest:
        raise StoreTooNew(
            f"{copy} was written by a newer version of Marginalia (schema {examined.schema}, this one knows {newest}). "
            "Install that version, or choose another copy."
        )
    if examined.problems and not anyway:
        raise StoreDamaged(
            f"{copy} is not whole: {examined.problems[0]} Choose an older copy; where there is none, --anyway puts "
            "this one back, for all the rest of it can be read."
        )


def exchanged(fresh: Path, database: Path, now: datetime) -> tuple[Path, ...]:
    """Move *database* and its journal aside and *fresh* there; what fails in between is undone."""
    kept = database.with_name(f"{database.name}.replaced-{now.astimezone(UTC):{_TIME}}Z")
    moved: list[tuple[Path, Path]] = []
    try:
        # The journal goes first: a database without it would open, and have lost what is in it.
        for path, aside in reversed(tuple(zip(with_journal(database), with_journal(kept), strict=True))):
            if path.exists():
                path.replace(aside)
                moved.append((path, aside))
        fresh.replace(database)
    except OSError as error:
        for path, aside in reversed(moved):
            aside.replace(path)
        raise StoreError(
            f"The copy could not be put in the place of {database}: {error.strerror}. Nothing was changed."
        ) from error
    return tuple(aside for _, aside in reversed(moved))


def _copy_files(source: Path, target: Path) -> None:
    pairs = [
        str(path) for pair in zip(with_journal(source), with_journal(target), strict=True) for path in pair
    ]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        removed(target)  # this work may be done twice
        done = subprocess.run(  # noqa: S603 - our own interpreter, our own script, no shell
            [sys.executable, "-I", "-S", "-c", _COPY, *pairs],
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"The database could not be copied to {target.parent}: {error}.") from error
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        if os.strerror(errno.ENOSPC) in said:
            raise StoreFull(
                f"The disk of {target.parent} became full while the database was copied, so there is no copy. "
                "Free some space, or choose another folder."
            )
        raise StoreError(f"The database could not be copied to {target.parent}: {said}")


def _clear_away(folder: Path) -> None:
    """Delete what a process that was killed while it copied, or looked into a copy, has left."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if _LEFT_OVER.fullmatch(path.name) and path.stat().st_mtime < time.time() - _LONGEST:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _refuse_full(source: Path, folder: Path) -> None:
    needed = sum(path.stat().st_size for path in with_journal(source) if path.exists()) + _SPARE_BYTES
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StoreError(f"The folder {folder} cannot be used for copies: {error.strerror}.") from error
    if free < needed:
        raise StoreFull(
            f"There is no room for a copy in {folder}: it needs about {needed // 1_000_000} MB, and "
            f"{free // 1_000_000} MB are free. Free some space, or choose another folder."
        )


def _described(path: Path) -> Copy:
    matched = _NAME.fullmatch(path.name)
    if matched is None:
        raise InvalidInput(f"{path.name} is not the name of a copy.")
    taken = datetime.strptime(matched["taken"], _TIME).replace(tzinfo=UTC)
    return Copy(path=path, taken=taken, size=path.stat().st_size)


def removed(database: Path) -> None:
    """Delete a database file and its journal, where they are there."""
    for path in with_journal(database):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
