"""One regular expression of a user, ready to search, and never for longer than it may."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import regex

from marginalia.lore.dialect import read_expression
from marginalia.lore.folding import clean
from marginalia.lore.linear import compile_linear

if TYPE_CHECKING:
    from marginalia.lore.linear import LinearPattern

LONGEST = 2_000
_AT_ONCE = 0.02
_STRIKES = 2
_BROKEN = (regex.error, RecursionError, OverflowError, ValueError, KeyError, IndexError)
# What google-re2 takes for a letter, digit or blank is right as long as a text has none of these.
_NOT_PLAIN = regex.compile(r"[\x0b\x1c-\x1f]|[^\x00-\x7f](?<=[\w\s])")
_TURKISH = str.maketrans("İı", "ii")


def plain_text(text: str) -> bool:
    """Whether all letters, digits and blanks of *text* are such in ASCII."""
    return _NOT_PLAIN.search(text) is None


def without_turkish(text: str) -> str:
    """The text with the dotless and the dotted i as plain ones, which is how relaxed forms are searched.

    In a text that this changes, what a relaxed form finds has to be looked at again.
    """
    return text if text.isascii() else text.translate(_TURKISH)


class TooSlow(Exception):
    """A search took longer than it may."""


class Expression:
    """A regular expression, found anywhere, the dot matching line breaks too.

    Upper and lower case count only with *case*.
    """

    def __init__(self, source: str, *, case: bool = False) -> None:
        self.source = source
        self._case = case
        self._forms = read_expression(clean(source)) if len(source) <= LONGEST else None
        self._strikes = 0

    @cached_property
    def problem(self) -> str | None:
        """What is wrong with the expression, in words that finish "this expression ..."; ``None`` when nothing is."""
        if self._forms is None:
            return f"is longer than {LONGEST:,} characters"
        if self.relaxed is not None:
            return None
        return None if self.exact is not None else self._complaint

    @property
    def given_up(self) -> bool:
        """Whether the expression took too long twice, so that it is not tried again until it is changed."""
        return self._strikes >= _STRIKES

    @cached_property
    def strict(self) -> str | None:
        """The form for google-re2 that means the same on a plain text, if there is one."""
        return self._linear[0]

    @cached_property
    def relaxed(self) -> str | None:
        """The form for google-re2 that finds at least as much on any text, if there is one."""
        return self._linear[1]

    @property
    def same(self) -> bool:
        """Whether the relaxed form finds exactly what the expression finds."""
        return self._forms is not None and self._forms.same and not self._case

    def find(self, text: str, start: int, seconds: float) -> tuple[int, int] | None:
        """The leftmost place from *start* on; raises ``TooSlow`` when *seconds* do not suffice."""
        if self._forms is None:
            return None
        searcher = self._searcher(text)
        if searcher is not None:
            found = searcher.search(text, start)
            return found.span() if found else None
        return self._find_exactly(text, start, seconds)

    def _find_exactly(self, text: str, start: int, seconds: float) -> tuple[int, int] | None:
        if self.exact is None:
            return None
        if self.given_up or seconds <= 0:
            raise TooSlow
        try:
            found = self.exact.search(text, start, timeout=min(seconds, _AT_ONCE), concurrent=True)
        except TimeoutError:
            self._strikes += 1
            raise TooSlow from None
        return found.span() if found else None

    def _searcher(self, text: str) -> LinearPattern | None:
        if self.relaxed is None:
            return None
        if plain_text(text):
            return self._searchers[0]
        return self._searchers[1] if self.same and without_turkish(text) == text else None

    @cached_property
    def _searchers(self) -> tuple[LinearPattern | None, LinearPattern | None]:
        return compile_linear(self.strict or ""), compile_linear(self.relaxed or "")

    @cached_property
    def _linear(self) -> tuple[str | None, str | None]:
        forms = self._forms
        if forms is None or forms.strict is None or forms.relaxed is None:
            return None, None
        flags = "s" if self._case else "is"
        strict, relaxed = f"(?{flags}:{forms.strict})", f"(?{flags}:{forms.relaxed})"
        takes = compile_linear(forms.strict) is not None and compile_linear(relaxed) is not None
        return (strict, relaxed) if takes else (None, None)

    @cached_property
    def exact(self) -> regex.Pattern[str] | None:
        """The expression as the ``regex`` library has it; ``None`` when it is broken."""
        return self._compiled[0]

    @property
    def _complaint(self) -> str:
        return self._compiled[1]

    @cached_property
    def _compiled(self) -> tuple[regex.Pattern[str] | None, str]:
        exactly = regex.VERSION0 | regex.DOTALL
        flags = exactly if self._case else exactly | regex.IGNORECASE
        try:
            return regex.compile(self._forms.exact if self._forms else "(*", flags), ""
        except _BROKEN as error:
            return None, f"cannot be read: {error}"
