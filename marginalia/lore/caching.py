"""Remembering what was made of objects that have not changed: by identity, for the last few only."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class IdentityCache(Generic[T]):
    """Keeps the last ``size`` results, each for exactly the objects that it was made of; safe in several threads.

    Frozen values that hold mappings cannot be hashed, and comparing ten thousand of them costs more than it saves, so
    the objects themselves are the key. They are kept alive with the result, so that no id is ever used twice.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[int, ...], tuple[tuple[object, ...], T]] = OrderedDict()
        self._lock = Lock()

    def get(self, objects: tuple[object, ...], make: Callable[[], T]) -> T:
        """What was made of *objects*, made now when it is not there; two threads may both make it, one result stays."""
        key = tuple(map(id, objects))
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known[1]
        made = make()
        with self._lock:
            self._kept[key] = (objects, made)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made
