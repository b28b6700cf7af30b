"""The studios of a server: one per user, opened at the first visit, ended with the server."""

from __future__ import annotations

import atexit
from threading import Lock
from typing import TYPE_CHECKING

from marginalia.studio import Studio

if TYPE_CHECKING:
    from pathlib import Path

_LOCAL = "local"


class House:
    """Opens studios and keeps them. A database that could not be opened is tried again at the next visit."""

    def __init__(self, path: Path | str | None = None) -> None:
        self._path = path
        self._studios: dict[str, Studio] = {}
        self._lock = Lock()

    def studio_of(self, user: str | None) -> Studio:
        """The studio of *user*; raises ``StoreError`` with a plain sentence where the database cannot be opened."""
        name = user or _LOCAL
        with self._lock:
            studio = self._studios.get(name)
            if studio is None:
                studio = self._studios[name] = Studio(self._path, user=name)
            return studio

    def close(self) -> None:
        """End all studios, with what they run."""
        with self._lock:
            studios, self._studios = tuple(self._studios.values()), {}
        for studio in studios:
            studio.close()


_house = House()
atexit.register(_house.close)


def studio_of(user: str | None = None) -> Studio:
    """The studio of *user* in this process, or of the one person at this machine."""
    return _house.studio_of(user)
