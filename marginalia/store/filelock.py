"""A lock of our own beside the database file.

The engine's lock is a POSIX record lock, which the whole process loses as soon as anything in it closes a descriptor of
the database file; this one lies on a file that nobody else opens.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Self

from marginalia.errors import StoreError
from marginalia.store.troubles import locked

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        return descriptor >= 0  # the engine's own lock is mandatory there
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FileLock:
    """Holds ``<database>.lock`` until closed; the file tells a second process who has it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, database: Path) -> Self:
        """Lock *database* for this process; raises ``StoreLocked`` when another one (or this one) has it."""
        path = database.with_name(database.name + ".lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be written: {error.strerror}. Check the folder's rights."
            ) from error
        if not _try_lock(descriptor):
            pid, _, program = os.read(descriptor, 4096).decode("utf-8", "replace").partition("\n")
            os.close(descriptor)
            raise locked(database, program.strip() or "another program", pid.strip())
        # On a full disk the lock holds without the name of its holder: what is stored can be read there, and should.
        with contextlib.suppress(OSError):
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n{sys.argv[0] or sys.executable}\n".encode())
        return cls(descriptor)

    def close(self) -> None:
        """Give the lock back; the file stays, so that nobody locks a file that is just being deleted."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
