"""Entries, lorebooks and turns, short to write."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook, Lorebook, Match, Pattern, RegexFilter, TextFilter
from marginalia.lore.collecting import Candidate, in_order
from marginalia.lore.scan import Scan
from marginalia.values import EntryId, LorebookId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.lore.verdicts import Verdict

_ids = count(1)


def entry(name: str = "entry", **fields: Any) -> Entry:
    """An entry that is told apart by its name; its payload is its name, too, unless given."""
    fields.setdefault("payload", f"[{name}]")
    return Entry(id=EntryId(next(_ids)), uid=name, name=name, **fields)


def text(words: str) -> TextFilter:
    return TextFilter(words)


def expression(pattern: str) -> RegexFilter:
    return RegexFilter(pattern)


def key(words: str, **fields: Any) -> Pattern:
    return Pattern(text=words, **fields)


def any_of(*words: str, **fields: Any) -> Match:
    return Match(any=tuple(key(each, **fields) for each in words))


def candidates(*entries: Entry, **lorebook: Any) -> tuple[Candidate, ...]:
    book = Lorebook(id=LorebookId(1), name="World", **lorebook)
    return in_order((FilledLorebook(lorebook=book, entries=entries),))


def verdicts(*entries: Entry, **scan: Any) -> tuple[Verdict, ...]:
    return activate(candidates(*entries), Scan(**scan))


def verdict(only: Entry, **scan: Any) -> Verdict:
    (found,) = verdicts(only, **scan)
    return found


def active(found: Iterable[Verdict]) -> list[str]:
    return [each.entry.name for each in found if each.active]


def words(payload: str) -> int:
    """Counts words, so that a test can see at once what a payload costs."""
    return len(payload.split())
