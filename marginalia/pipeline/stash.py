"""What is kept for the length of one run, under typed names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, eq=False)  # without slots: StashKey[int]("name") has to remember its type somewhere
class StashKey(Generic[T]):
    """The typed name of something that an extension keeps for the length of a run."""

    name: str


class Stash:
    """What extensions keep for one run, by their own typed keys."""

    def __init__(self) -> None:
        self._values: dict[StashKey[Any], Any] = {}

    def get(self, key: StashKey[T], default: T | None = None) -> T | None:
        """What was kept under *key*, else *default*."""
        return cast("T | None", self._values.get(key, default))

    def set(self, key: StashKey[T], value: T) -> None:
        """Keep *value* until the run ends."""
        self._values[key] = value
