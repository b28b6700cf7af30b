"""Counting for one model: what its server counted where that is known, a corrected estimate where it is not."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TypeAlias

from marginalia.inference.text_counts import TextCounts
from marginalia.prompt.tokens import Tokenizer
from marginalia.story.node import Node
from marginalia.values import PartId

Version: TypeAlias = tuple[PartId, int]
"""A part and the number of its version."""

_RUNS = 3
_MOST_PARTS = 20_000


class ModelCounts:
    """What is known about the texts and parts that one model reads; safe to use from several threads.

    ``texts`` are kept for the next start. Parts are known by their version, so that a long story is neither read nor
    hashed for a budget.
    """

    def __init__(self, texts: TextCounts) -> None:
        self.texts = texts
        self._parts: OrderedDict[Version, int] = OrderedDict()
        self._runs: deque[RunTokenizer] = deque(maxlen=_RUNS)
        self._lock = Lock()

    def tokenizer(self, estimates: Tokenizer) -> RunTokenizer:
        """The tokenizer of one prompt; what it misses is wanted from the server until it is three prompts old."""
        made = RunTokenizer(estimates, self)
        self._runs.append(made)
        return made

    def part(self, version: Version) -> int | None:
        """The tokens of a part, if they were ever counted."""
        return self._parts.get(version)

    def know(self, parts: Mapping[Version, int]) -> None:
        """Keep what parts have."""
        with self._lock:
            self._parts.update(parts)
            while len(self._parts) > _MOST_PARTS:
                self._parts.popitem(last=False)

    def wanted(self) -> tuple[tuple[str, ...], tuple[Version, ...]]:
        """The texts and the parts that the last prompts had to estimate, those of the newest prompt first."""
        runs = tuple(reversed(self._runs))
        texts = dict.fromkeys(text for run in runs for text in tuple(run.missing_texts))
        parts = dict.fromkeys(part for run in runs for part in tuple(run.missing_parts))
        return (
            tuple(text for text in texts if self.texts.get(text) is None),
            tuple(part for part in parts if part not in self._parts),
        )


class RunTokenizer:
    """The tokenizer of one prompt: the same text has the same count as long as it lives, whatever is learned meanwhile.

    ``name`` tells how was counted so far, such as ``exact (llama.cpp /tokenize)`` or ``o200k_base x1.08``.
    """

    def __init__(self, estimates: Tokenizer, counts: ModelCounts) -> None:
        self._estimates = estimates
        self._counts = counts
        self._told: dict[str, int] = {}
        self._exact = False
        self.missing_texts: dict[str, None] = {}
        self.missing_parts: dict[Version, None] = {}

    @property
    def name(self) -> str:
        """How was counted."""
        if not self._exact:
            return self._estimates.name
        exact = f"exact ({self._counts.texts.way})"
        return (
            f"{self._estimates.name}, in part {exact}" if self.missing_texts or self.missing_parts else exact
        )

    @property
    def alike(self) -> object:
        """Tokenizers of which this is equal count alike: by the same estimates, with as much known from the server."""
        return self._estimates, self._counts, len(self._counts.texts)

    def count(self, text: str) -> int:
        """The number of tokens of *text*."""
        if not text:
            return 0
        told = self._told.get(text)
        if told is None:
            told = self._told[text] = self._look(text)
        return told

    def weigh(self, node: Node) -> int:
        """The number of tokens of a part, whose stored count is the estimate of all models."""
        if node.blank or not node.text_id:
            return node.tokens
        version = (node.id, node.text_id)
        known = None if version in self.missing_parts else self._counts.part(version)
        if known is not None:
            self._exact = True
            return known
        self.missing_parts[version] = None
        factor = getattr(self._estimates, "factor", 1.0)
        return round(node.tokens * factor)

    def _look(self, text: str) -> int:
        known = self._counts.texts.get(text)
        if known is not None:
            self._exact = True
            return known
        self.missing_texts[text] = None
        return self._estimates.count(text)


def longest_first(texts: Iterable[str]) -> list[str]:
    """*texts*, those first whose estimates are off by the most."""
    return sorted(texts, key=len, reverse=True)
