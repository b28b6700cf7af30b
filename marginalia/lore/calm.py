"""Keeping everybody else's pages alive while much is read at once."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock


class _Pause:
    """Counts who wants the collector to rest; the first one stops it, the last one starts it again."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted = 0
        self._ours = False

    def begin(self) -> None:
        with self._lock:
            if not self._wanted and gc.isenabled():
                gc.disable()
                self._ours = True
            self._wanted += 1

    def end(self) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted and self._ours:
                gc.enable()
                self._ours = False


_pause = _Pause()


@contextmanager
def without_collections() -> Generator[None]:
    """No garbage is looked for inside, in the whole process.

    Reading a large file makes a million objects that live for a second. The collector would look at all of them again
    and again, and hold the interpreter for a tenth of a second each time, while other threads wait.
    """
    _pause.begin()
    try:
        yield
    finally:
        _pause.end()
