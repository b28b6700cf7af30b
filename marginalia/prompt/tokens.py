"""Counting tokens: the port that tokenizers implement, and a cache that makes counting the same text twice free."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Protocol

_KEPT = 4096
_LONGEST_KEPT = 200_000


class Tokenizer(Protocol):
    """Counts the tokens of a text. ``name`` goes into receipts; counts may be approximate, but never change."""

    @property
    def name(self) -> str:
        """What the tokenizer is called."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of *text*; 0 for the empty text."""
        ...


class CachedTokenizer:
    """A tokenizer that remembers the counts of the last few thousand texts; safe to use from several threads."""

    def __init__(self, inner: Tokenizer) -> None:
        self._inner = inner
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name of the tokenizer behind."""
        return self._inner.name

    def count(self, text: str) -> int:
        """The number of tokens of *text*."""
        with self._lock:
            known = self._counts.get(text)
            if known is not None:
                self._counts.move_to_end(text)
                return known
        number = self._inner.count(text) if text else 0
        if len(text) <= _LONGEST_KEPT:
            self._remember(text, number)
        return number

    def _remember(self, text: str, number: int) -> None:
        with self._lock:
            self._counts[text] = number
            if len(self._counts) > _KEPT:
                self._counts.popitem(last=False)
