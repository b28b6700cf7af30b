"""Searching in linear time, whatever the expression: the one place that knows google-re2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

import re2  # type: ignore[import-untyped]  # google-re2 has no stubs; the protocols below are what is used of it

_re2: Any = re2
_EVERYWHERE = "(?:)"
_TOGETHER = 256
_MEMORY = 64 << 20


class _Found(Protocol):
    def span(self) -> tuple[int, int]: ...


class LinearPattern(Protocol):
    """A compiled expression that is searched in linear time."""

    def search(self, text: str, pos: int = 0) -> _Found | None:
        """The leftmost place from *pos* on."""
        ...


class _Set(Protocol):
    def Add(self, pattern: str) -> int: ...  # noqa: N802 - the library's name
    def Compile(self) -> None: ...  # noqa: N802 - the library's name
    def Match(self, text: str) -> Sequence[int] | None: ...  # noqa: N802 - the library's name


def _options() -> object:
    options = _re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    return cast("object", options)


def compile_linear(source: str) -> LinearPattern | None:
    """The expression ready to search; ``None`` when it cannot be searched in linear time (or at all)."""
    try:
        return cast("LinearPattern", _re2.compile(source, _options()))
    except (_re2.error, UnicodeEncodeError):
        return None


class LinearSet:
    """Many expressions searched at once: which of them are in a text, not where. All of them must compile alone."""

    def __init__(self, sources: Iterable[str]) -> None:
        every = list(sources)
        self._sets: list[tuple[_Set, int, int]] = []
        self._too_big: list[int] = []
        for start in range(0, len(every), _TOGETHER):
            self._add(every[start : start + _TOGETHER], start)

    def search(self, text: str) -> tuple[list[int], list[int]]:
        """The numbers of the expressions that are in *text*, and of those that need more memory than they may have."""
        found: list[int] = []
        unsure = list(self._too_big)
        for each, start, size in self._sets:
            # The library answers None both for "nothing" and for "out of memory": a last expression that is
            # in every text tells them apart.
            hits = each.Match(text)
            if hits:
                found.extend(start + number for number in hits if number < size)
            else:
                unsure.extend(range(start, start + size))
        return found, unsure

    def _add(self, sources: Sequence[str], start: int) -> None:
        together = cast("_Set", _re2.Set.SearchSet(_options()))
        for source in (*sources, _EVERYWHERE):
            together.Add(source)
        try:
            together.Compile()
        except _re2.error:
            self._add_halves(sources, start)
        else:
            self._sets.append((together, start, len(sources)))

    def _add_halves(self, sources: Sequence[str], start: int) -> None:
        half = len(sources) // 2
        if not half:
            self._too_big.append(start)
            return
        self._add(sources[:half], start)
        self._add(sources[half:], start + half)
