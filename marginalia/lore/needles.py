"""What is looked for: a filter or a key of an entry, in the form in which it is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import regex

from marginalia.lore.book import Pattern, RegexFilter, TextFilter
from marginalia.lore.expressions import Expression
from marginalia.lore.folding import Folded, clean, fold, plain, simple_fold, whole_word

if TYPE_CHECKING:
    from marginalia.lore.book import Filter

_BORDER = regex.compile(r"[\w*?]")
_KIND = {"plain": "key", "wildcard": "expression", "regex": "expression"}


class Needle:
    """A filter or key as it is searched: a ``text`` character by character, a folded ``key``, or an ``expression``."""

    __slots__ = ("_as_typed", "_whole_word", "expression", "kind", "label", "looked_for")

    def __init__(self, source: Filter | Pattern) -> None:
        self.kind: Literal["text", "key", "expression"] = "text"
        self.label = source.pattern if isinstance(source, RegexFilter) else source.text
        self.expression: Expression | None = None
        self.looked_for = ""
        self._as_typed: str | None = None
        self._whole_word = False
        if isinstance(source, TextFilter):
            self.looked_for = simple_fold(clean(source.text))
        elif isinstance(source, RegexFilter):
            self.kind, self.expression = "expression", Expression(source.pattern)
        else:
            self._key(source)

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in words that finish "this key ..."; ``None`` when nothing is."""
        return self.expression.problem if self.expression else None

    @property
    def exacting(self) -> bool:
        """Whether a place has to be looked at before it counts."""
        return self._whole_word or self._as_typed is not None

    def accepts(self, text: Folded, start: int, end: int) -> bool:
        """Whether the key may stand at this place of the folded text, by its word borders, upper and lower case."""
        if self._whole_word and not whole_word(text.folded, start, end):
            return False
        if self._as_typed is None:
            return True
        first, last = text.back(start, end)
        return plain(text.text[first:last]) == self._as_typed

    def _key(self, pattern: Pattern) -> None:
        text = clean(pattern.text)
        if pattern.kind == "plain":
            self.kind, self.looked_for = "key", fold(text)
            self._whole_word = pattern.whole_word
            self._as_typed = plain(text) if pattern.case else None
            return
        self.kind = "expression"
        source = text if pattern.kind == "regex" else _wildcard(text, whole=pattern.whole_word)
        self.expression = Expression(source, case=pattern.case)


def blank(source: Filter | Pattern | None) -> bool:
    """Whether there is nothing to look for; a blank filter is none (spec/semantics.md, B1 44)."""
    if source is None:
        return True
    return not (source.pattern if isinstance(source, RegexFilter) else source.text).strip()


def _wildcard(text: str, *, whole: bool) -> str:
    """A pattern with ``*`` for any run of letters and ``?`` for one, as a regular expression."""
    parts: list[str] = []
    for character in plain(text):
        special = {"*": r"\w*", "?": r"\w", " ": r"\s", "'": "['\u2018\u2019\u02bc]"}.get(character)
        parts.append(special or regex.escape(character))
    body = "".join(parts)
    if not whole:
        return body
    before = r"\b" if _BORDER.match(text[0]) else ""
    after = r"\b" if _BORDER.match(text[-1]) else ""
    return f"{before}{body}{after}"
