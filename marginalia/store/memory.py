"""What the store keeps in memory: values by key, the least used ones forgotten first, changed only after a commit."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
_ROOM = 96_000_000  # characters, or what weighs as much
_FALLBACK_WEIGHT = 500


class Absent:
    """The type of ``ABSENT``: nothing is remembered under a key."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """Under what a value of type ``T`` is remembered."""

    kind: str
    of: int | str


class Memory:
    """A cache for several readers and the one writer.

    A reader that loaded a value offers it with the version it saw before loading, and is refused when something was
    published since: so nothing that a commit has overtaken is ever remembered.
    """

    def __init__(self, weigh: Callable[[object], int], room: int = _ROOM) -> None:
        self._weigh = weigh
        self._room = room
        self._used = 0
        self._version = 0
        self._published: dict[Key[Any], int] = {}
        self._values: OrderedDict[Key[Any], tuple[object, int]] = OrderedDict()
        self._lock = Lock()

    @property
    def version(self) -> int:
        """Counts the commits that published something."""
        return self._version

    def changed_since(self, version: int, keys: Iterable[Key[Any]]) -> bool:
        """Whether one of *keys* was published after *version*: then what was read of them may be of two moments."""
        with self._lock:
            return any(self._published.get(key, 0) > version for key in keys)

    def find(self, key: Key[T], load: Callable[[], T]) -> T:
        """What is remembered under *key*, or what *load* gives, which is not remembered."""
        held = self._held(key)
        return load() if isinstance(held, Absent) else cast("T", held)

    def known(self, key: Key[T]) -> T | None:
        """What is remembered under *key*, if anything is."""
        held = self._held(key)
        return None if isinstance(held, Absent) else cast("T", held)

    def recall(self, key: Key[T], load: Callable[[], T]) -> T:
        """What is remembered under *key*; else it is loaded, and remembered if nothing was published meanwhile."""
        held = self._held(key)
        if not isinstance(held, Absent):
            return cast("T", held)
        version = self._version
        value = load()
        self._offer(key, value, version)
        return self.find(key, lambda: value)

    def publish(self, changes: Mapping[Key[Any], object], loaded: Mapping[Key[Any], object]) -> None:
        """Take over what a commit changed (``ABSENT`` forgets), and what was only loaded on the way."""
        with self._lock:
            self._version += 1
            for key, value in changes.items():
                self._published[key] = self._version
                self._remove(key)
                if value is not ABSENT:
                    self._insert(key, value)
            for key, value in loaded.items():
                if key not in self._values and key not in changes:
                    self._insert(key, value)
            self._shrink()

    def _held(self, key: Key[Any]) -> object:
        with self._lock:
            held = self._values.get(key)
            if held is None:
                return ABSENT
            self._values.move_to_end(key)
            return held[0]

    def _offer(self, key: Key[Any], value: object, version: int) -> None:
        with self._lock:
            if self._published.get(key, 0) <= version and key not in self._values:
                self._insert(key, value)
                self._shrink()

    def _insert(self, key: Key[Any], value: object) -> None:
        weight = self._weigh(value) or _FALLBACK_WEIGHT
        self._values[key] = (value, weight)
        self._used += weight

    def _remove(self, key: Key[Any]) -> None:
        held = self._values.pop(key, None)
        if held is not None:
            self._used -= held[1]

    def _shrink(self) -> None:
        while self._used > self._room and len(self._values) > 1:
            _, (_, weight) = self._values.popitem(last=False)
            self._used -= weight
