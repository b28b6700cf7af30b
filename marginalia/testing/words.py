"""A tokenizer whose counts can be checked by eye."""

from __future__ import annotations


class WordTokenizer:
    """Counts runs of non-whitespace, one token each (spec/semantics.md, section 0)."""

    name = "words"

    def count(self, text: str) -> int:
        """The number of runs of non-whitespace in *text*."""
        return len(text.split())
