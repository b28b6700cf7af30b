"""The answer as it grows: text, counts and times, at a cost per chunk that does not depend on how long it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from marginalia.prompt.tokens import Tokenizer
from marginalia.story.parts import Part, count_words


class Answer:
    """Collects the chunks of one part. Counts are approximate while it grows and exact in :meth:`counted`.

    Tokens are the sum of the chunks' counts; words are those of the whole text, kept up without reading it
    again: a chunk that goes on in the middle of a word adds one less (spec/semantics.md, B1 79 and 80).
    """

    def __init__(self, part: Part, tokenizer: Tokenizer) -> None:
        self._part = part
        self._tokenizer = tokenizer
        self.text = ""
        self.reasoning = ""
        self.tokens = 0
        self.reasoning_tokens = 0
        self.words = 0
        self.has_text = False
        self._first: datetime | None = None
        self._thought: datetime | None = None
        self._fresh = False

    def add_reasoning(self, text: str, now: datetime) -> None:
        """Append a piece of reasoning."""
        self._first = self._first or now
        self.reasoning += text
        self.reasoning_tokens += self._tokenizer.count(text)
        self._fresh = False

    def add_text(self, text: str, now: datetime) -> None:
        """Append a piece of text; the first one also ends the reasoning."""
        self._first = self._first or now
        self._thought = self._thought or now
        joined = bool(self.text) and _wordy(self.text[-1]) and bool(text) and _wordy(text[0])
        self.words += count_words(text) - joined
        self.tokens += self._tokenizer.count(text)
        self.has_text = self.has_text or bool(text.strip())
        self.text += text
        self._fresh = False

    @property
    def part(self) -> Part:
        """The part as it is now."""
        if not self._fresh:
            self._part = self._with(self.tokens, self.reasoning_tokens)
            self._fresh = True
        return self._part

    def counted(self, *, partial: bool) -> Part:
        """The part with exact counts of its texts as they are."""
        count = self._tokenizer.count
        return replace(
            self._with(count(self.text), count(self.reasoning)), words=count_words(self.text), partial=partial
        )

    def overrule(self, part: Part) -> None:
        """Take a part that a listener answered: its text and everything else, instead of what was collected."""
        self.text, self.reasoning = part.text, part.reasoning
        self.has_text = self.has_text or bool(part.text.strip())
        self._part, self._fresh = part, False

    def _with(self, tokens: int, reasoning_tokens: int) -> Part:
        return replace(
            self._part,
            text=self.text,
            reasoning=self.reasoning,
            tokens=tokens,
            reasoning_tokens=reasoning_tokens,
            words=self.words,
            first_token_time=self._first,
            reasoning_end_time=self._thought,
        )


def _wordy(character: str) -> bool:
    return character.isalnum() or character == "_"
