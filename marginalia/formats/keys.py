"""Keys of other tools as patterns, and patterns as their keys."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from marginalia.formats.base import Remarks
from marginalia.formats.coerce import Json, is_list, rows, text, texts
from marginalia.formats.expressions import escaped, from_javascript, slashed, to_javascript
from marginalia.lore.book import Pattern, RegexFilter, TextFilter

LONGEST_KEY = 2_000

_ITEM = regex.compile(r"\s*(?:(/(?:[^\\/]|\\.)+/[a-z]*)\s*(?:,|\Z)|([^,]*)(?:,|\Z))", regex.DOTALL)
_META = regex.compile(r"[\\^$.|?*+()\[\]{}]")


def key_list(value: Json) -> tuple[str, ...]:
    """The keys of a list, or of one text with commas; a regular expression between slashes keeps its commas."""
    if is_list(value):
        return texts(rows(value))
    return split_keys(text(value))


def split_keys(joined: str) -> tuple[str, ...]:
    """The keys in a text with commas, without the blanks around them."""
    found: list[str] = []
    at = 0
    while at < len(joined) and (item := _ITEM.match(joined, at)) is not None and item.end() > at:
        at = item.end()
        found.append((item[1] or item[2] or "").strip())
    return tuple(key for key in found if key)


def tavern_pattern(key: str, remarks: Remarks, *, case: bool, whole_word: bool) -> Pattern:
    """A key as SillyTavern reads it: between slashes an expression that minds the case, unless it is broken."""
    if "{{" in key:
        remarks.inactive(f"the key {key} holds a macro, which is not filled in here")
    parts = slashed(key.strip()) if "/" in key else None
    if parts is None or len(key) > LONGEST_KEY:
        return Pattern(text=key.strip(), case=case, whole_word=whole_word)
    source = from_javascript(*parts)
    if source is None:
        remarks.approximated(f"the key {key} is no valid regular expression and is looked for as plain text")
        return Pattern(text=key.strip(), case=case, whole_word=whole_word)
    return Pattern(text=source, kind="regex", case="i" not in parts[1])


def regex_pattern(key: str, remarks: Remarks, *, case: bool) -> Pattern:
    """A key of an entry all of whose keys are expressions; one without any sign of an expression is plain words."""
    if slashed(key.strip()):
        return tavern_pattern(key, remarks, case=case, whole_word=False)
    if not _META.search(key):
        return Pattern(text=key.strip(), case=case)
    source = from_javascript(key.strip())
    if source is None:
        remarks.approximated(f"the key {key} is no valid regular expression and is looked for as plain text")
        return Pattern(text=key.strip(), case=case)
    return Pattern(text=source, kind="regex", case=case)


def is_pattern(key: str) -> bool:
    """Whether a key has a sign that only regular expressions have."""
    return _META.search(key) is not None


def as_key(source: TextFilter | RegexFilter | Pattern, losses: list[str]) -> str:
    """A filter or pattern as a key that SillyTavern understands; what gets lost is added to *losses*."""
    if isinstance(source, TextFilter):
        return _plain(source.text, case=False)
    if isinstance(source, RegexFilter):
        return _expression(source.pattern, losses, case=False)
    if source.kind == "regex":
        return _expression(source.text, losses, case=source.case)
    if source.kind == "wildcard":
        body = "".join({"*": r"\w*", "?": r"\w"}.get(each) or escaped(each) for each in source.text)
        border = r"\b" if source.whole_word else ""
        return f"/{border}{body}{border}/{'' if source.case else 'i'}"
    return _plain(source.text, case=source.case)


def _plain(key: str, *, case: bool) -> str:
    """Plain words; between slashes they would be taken for an expression, so they become one that finds just them."""
    return f"/{escaped(key)}/{'' if case else 'i'}" if slashed(key.strip()) else key


def is_expression(source: TextFilter | RegexFilter | Pattern) -> bool:
    """Whether it is more than plain words."""
    return isinstance(source, RegexFilter) or (isinstance(source, Pattern) and source.kind != "plain")


def one_expression(sources: Sequence[TextFilter | RegexFilter | Pattern], losses: list[str]) -> str:
    """All of them as one expression between slashes that finds any; empty when there are none."""
    keys = [as_key(each, losses) for each in sources]
    if len(keys) == 1 and is_expression(sources[0]):
        return keys[0]
    bodies = [parts[0] if (parts := slashed(key)) else escaped(key) for key in keys]
    return f"/{'|'.join(f'(?:{body})' for body in bodies)}/is" if bodies else ""


def _expression(source: str, losses: list[str], *, case: bool) -> str:
    key = to_javascript(source, case=case)
    if key is None:
        losses.append(f"the expression {source} has no counterpart there and is written as it is")
        return source
    return key
