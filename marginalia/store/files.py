"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from typing import TYPE_CHECKING

from marginalia.errors import StoreError, StoreFull

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}


def write_whole(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write *data* to *path*, in the place of what is there; a failure leaves that as it is.

    A *private* file is for its owner's eyes only.

    Raises:
        StoreFull: there is no room.
        StoreError: the folder is not there, or cannot be written.
    """

    def make(part: Path) -> None:
        if private:
            part.touch(0o600)
        part.write_bytes(data)

    _made(path, make)


def copy_whole(source: Path, path: Path) -> None:
    """:func:`write_whole` with what another file holds."""
    _made(path, lambda part: shutil.copyfile(source, part))


def with_journal(database: Path) -> tuple[Path, Path]:
    """A database file and its journal, as the engine looks for it: without that it opens, and what is in it is gone."""
    return database, database.with_name(database.name + ".wal")


def not_written(path: Path, error: OSError) -> StoreError:
    """Why *path* could not be written, and what to do."""
    if error.errno in _FULL:
        return StoreFull(
            f"The disk of {path.parent} is full, so {path.name} was not written. Free some space, or choose another "
            "folder."
        )
    if not path.parent.is_dir():
        return StoreError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it, or choose another."
        )
    return StoreError(f"{path} cannot be written: {error.strerror or error}. Choose another folder or name.")


def _made(path: Path, make: Callable[[Path], object]) -> None:
    # A short name of its own: one made of the file's name could be longer than names may be.
    part = path.with_name(f".marginalia-{secrets.token_hex(6)}.part")
    try:
        make(part)
        _sync(part)
        part.replace(path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
