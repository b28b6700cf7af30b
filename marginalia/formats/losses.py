"""What an entry says that a format has no words for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

from marginalia.formats.coerce import Json
from marginalia.lore.book import Entry, Insertion, Match, RegexFilter, TextFilter

Feature: TypeAlias = Literal[
    "state",
    "always",
    "order",
    "secondary keys",
    "edges of keys",
    "commas",
    "expressions",
    "wildcards",
    "case",
    "whole words",
    "after",
    "every",
    "chance",
    "timed",
    "groups",
    "parts",
    "characters",
    "memory",
    "recursion",
    "priority",
    "reserve",
    "maximum",
    "before the prompt",
    "depth",
    "slot",
]

TAVERN: frozenset[Feature] = frozenset(
    {
        "state",
        "always",
        "order",
        "secondary keys",
        "commas",
        "expressions",
        "wildcards",
        "case",
        "whole words",
        "after",
        "chance",
        "timed",
        "groups",
        "parts",
        "recursion",
        "depth",
        "slot",
    }
)
"""What SillyTavern's entries can say."""


def always_there(entry: Entry) -> bool:
    """Whether an entry needs nothing to be found: it says so, or it has nothing to look for."""
    waits = entry.scope.only_recursive or entry.scope.recursion_level > 0
    asked = entry.filter is not None or entry.match != Match() or waits or entry.when.never
    return entry.when.always or not asked


def unsaid(entry: Entry, said: Collection[Feature]) -> list[str]:
    """A sentence for everything in *entry* that a format cannot say which has words for what is in *said*."""
    found = [what for feature, there, what in _features(entry) if there and feature not in said]
    if entry.tags or entry.negative_tags:
        found.append(f"its tags: {', '.join((*entry.tags, *(f'not {tag}' for tag in entry.negative_tags)))}")
    if not entry.scope.request:
        found.append("that it does not look at the request")
    if entry.syntax == "jinja":
        found.append("that its text is a Jinja template")
    return [f"cannot be said there: {what}" for what in found]


def _features(entry: Entry) -> Iterator[tuple[Feature, Json, str]]:
    when, scope, budget, match = entry.when, entry.scope, entry.budget, entry.match
    yield "state", not entry.enabled, "that it is switched off"
    yield "always", always_there(entry), "that it is always there"
    yield "order", entry.ordinal not in {0, 100}, f"its place in the order, {entry.ordinal}"
    yield "secondary keys", match.also or match.all or match.none or match.not_all, "its secondary keys"
    yield from _of_keys(entry)
    yield "after", when.after, f"not before part {when.after}"
    yield "every", when.every, f"only every {when.every} parts"
    yield "chance", when.chance < 100, f"its chance of {when.chance:g} %"  # noqa: PLR2004 - percent
    yield "timed", when.sticky or when.cooldown, "how long it stays, and rests"
    yield "groups", when.groups, f"its groups: {', '.join(when.groups)}"
    yield "parts", scope.parts, f"how far back it looks: {scope.parts} parts"
    yield "characters", scope.characters, f"how far back it looks: {scope.characters} characters"
    yield "memory", scope.memory, "that it looks at memory too"
    called = scope.recursive or scope.only_recursive or scope.no_recursion or scope.recursion_level
    recursive = called or not scope.calls_others
    yield "recursion", recursive, "how it calls other entries, and is called by them"
    yield "priority", budget.priority, f"its priority, {budget.priority}"
    yield "reserve", budget.reserve, f"its reserved {budget.reserve} tokens"
    yield "maximum", budget.maximum, f"its maximum of {budget.maximum} tokens"
    before = entry.insertion is Insertion.BEFORE_USER_PROMPT
    yield "before the prompt", before, "that it goes before the user prompt"
    yield "depth", entry.insertion is Insertion.DEPTH, f"its depth, {entry.where.depth}"
    yield "slot", entry.insertion is Insertion.SLOT, f"its slot, {entry.where.slot}"


def _of_keys(entry: Entry) -> Iterator[tuple[Feature, Json, str]]:
    match = entry.match
    keys = (*match.any, *match.also, *match.all, *match.none, *match.not_all)
    plain = [key for key in keys if key.kind == "plain"]
    regexes = isinstance(entry.filter, RegexFilter) or any(key.kind == "regex" for key in keys)
    words = [key.text for key in plain] + (
        [entry.filter.text] if isinstance(entry.filter, TextFilter) else []
    )
    yield "edges of keys", any(each != each.strip() for each in words), "blanks at the edge of a key"
    yield "commas", any("," in each for each in words), "a comma inside of a key"
    yield "expressions", regexes, "that a key is a regular expression"
    yield "wildcards", any(key.kind == "wildcard" for key in keys), "that a key has wildcards"
    yield "case", any(key.case for key in plain), "that upper and lower case count"
    yield "whole words", any(key.whole_word for key in plain), "that keys are whole words"
