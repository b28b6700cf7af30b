r"""Filters and keys in the editor: what is wrong with one, and generated filters turned back into keys.

The Java original stores an imported entry's keys as one expression: ``(?s)^(?=.*(?:\Qa\E|\Qb\E))(?=.*(?:\Qc\E))`` asks
for a or b, and for c (research/templates.md, 3.2). As keys and logic again it is fast, and can be edited and exported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import regex

from marginalia.lore.book import Match, Pattern, RegexFilter, TextFilter
from marginalia.lore.expressions import Expression
from marginalia.lore.needles import Needle
from marginalia.lore.verdicts import sentence

if TYPE_CHECKING:
    from marginalia.lore.book import Entry, Filter

_HEAD = regex.compile(r"(?:\(\?[a-zA-Z]+\))?\^?(?=\(\?[=!])")
_QUOTE = regex.compile(r"(\\b|\(\?<!\\w\))?\\Q(.*?)\\E(\\b|\(\?!\\w\))?", regex.DOTALL)
_ALTERNATIVES = regex.compile(r"\((?:\?:)?(.*)\)", regex.DOTALL)
_PIECE = regex.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", regex.DOTALL)
_TAIL = frozenset({"", ".*", ".*$", "$"})


def problem(source: Filter | Pattern) -> str | None:
    """What is wrong with a filter or key, as a sentence; ``None`` when nothing is."""
    blank = not (source.pattern if isinstance(source, RegexFilter) else source.text).strip()
    if blank:
        return (
            None if isinstance(source, TextFilter | RegexFilter) else "This key is empty, so it is left out."
        )
    fault = Needle(source).problem
    return sentence(f"this expression {fault}, so it never matches") if fault else None


def with_keys(entry: Entry) -> Entry:
    """The entry with a generated filter turned into keys; the same entry when its filter is anything else."""
    if entry.match != Match() or not isinstance(entry.filter, RegexFilter):
        return entry
    match = keys_of(entry.filter)
    return entry if match is None else replace(entry, filter=None, match=match)


def keys_of(filter_: RegexFilter) -> Match | None:
    """The keys and logic of a generated filter; ``None`` when it was not generated, or asks for more than keys can."""
    pattern = filter_.pattern
    head = _HEAD.match(pattern)
    if head is None:
        keys = _keys(pattern) if r"\Q" in pattern else None
        return Match(any=keys) if keys and all(key.kind == "plain" for key in keys) else None
    match: Match | None = Match()
    at = head.end()
    while match is not None and pattern.startswith(("(?=", "(?!"), at):
        end = _closing(pattern, at)
        if end is None:
            return None
        match = _with_condition(match, pattern[at + 3 : end], positive=pattern[at + 2] == "=")
        at = end + 1
    return match if match is not None and match.any and pattern[at:] in _TAIL else None


def _with_condition(match: Match, body: str, *, positive: bool) -> Match | None:
    if not positive and body.startswith("(?="):
        together = _together(body)
        return replace(match, not_all=together) if together and not match.not_all else None
    keys = _keys(body.removeprefix(".*")) if body.startswith(".*") else None
    if not keys:
        return None
    if not positive:
        return replace(match, none=(*match.none, *keys))
    if not match.any:
        return replace(match, any=keys)
    if len(keys) == 1:
        return replace(match, all=(*match.all, *keys))
    return None if match.also else replace(match, also=keys)


def _together(body: str) -> tuple[Pattern, ...] | None:
    """The keys of lookaheads in a row, each with one key."""
    found: list[Pattern] = []
    at = 0
    while body.startswith("(?=.*", at):
        end = _closing(body, at)
        keys = _keys(body[at + 5 : end]) if end is not None else None
        if end is None or not keys or len(keys) != 1:
            return None
        found += keys
        at = end + 1
    return tuple(found) if body[at:] in _TAIL else None


def _keys(body: str) -> tuple[Pattern, ...] | None:
    group = _ALTERNATIVES.fullmatch(body)
    if group and _closing(body, 0) == len(body) - 1 and not body.startswith(("(?=", "(?!", "(?<", "(?>")):
        body = group[1]
    keys = [_key(each) for each in _split(body)]
    return tuple(key for key in keys if key) if all(keys) else None


def _key(text: str) -> Pattern | None:
    group = _ALTERNATIVES.fullmatch(text)
    quote = _QUOTE.fullmatch(group[1] if group and r"\Q" in text else text)
    if quote and r"\E" not in quote[2]:
        return Pattern(text=quote[2], whole_word=bool(quote[1] and quote[3]))
    return Pattern(text=text, kind="regex") if text and Expression(text).problem is None else None


def _split(body: str) -> list[str]:
    """The alternatives of *body* on its outermost level."""
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(body):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if piece == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _closing(pattern: str, start: int) -> int | None:
    """Where the group that opens at *start* closes."""
    depth = 0
    for piece in _PIECE.finditer(pattern, start):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if not depth:
            return piece.start()
    return None
