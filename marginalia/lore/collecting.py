"""Which lorebooks a book uses, and their entries in the order in which they are looked at.

Rules: specification, step 3, 1 and 2; spec/semantics.md, B1 40, 41 and 43.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from marginalia.lore.book import Entry, FilledLorebook, Lorebook, effective_tags
from marginalia.lore.caching import IdentityCache
from marginalia.values import EPOCH, LorebookId

if TYPE_CHECKING:
    from datetime import datetime

Shelf: TypeAlias = Callable[[LorebookId], FilledLorebook | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An entry that activation decides about, and its lorebook. ``entry.tags`` include the tags of the lorebook."""

    entry: Entry
    lorebook: Lorebook


_orders: IdentityCache[tuple[Candidate, ...]] = IdentityCache(8)


def collect(root: LorebookId, shelf: Shelf) -> tuple[FilledLorebook, ...]:
    """The lorebook *root* and everything below it, breadth-first, each once.

    A lorebook that is disabled, or that *shelf* does not have, is dropped together with what only it leads to.
    """
    found: list[FilledLorebook] = []
    seen = {root}
    queue = deque([root])
    while queue:
        filled = shelf(queue.popleft())
        if filled is None or not filled.lorebook.enabled:
            continue
        found.append(filled)
        below = [each for each in dict.fromkeys(filled.lorebook.subbooks) if each not in seen]
        seen.update(below)
        queue.extend(below)
    return tuple(found)


def in_order(lorebooks: Sequence[FilledLorebook]) -> tuple[Candidate, ...]:
    """The entries of all *lorebooks* by ordinal, then creation (unknown last), then in the order given.

    The same lorebook objects give the same tuple again, so that :meth:`Matcher.of` knows it.
    """
    given = tuple(lorebooks)
    return _orders.get(given, lambda: tuple(sorted(_candidates(given), key=_place)))


def would_cycle(parent: LorebookId, child: LorebookId, shelf: Shelf) -> bool:
    """Whether *child* below *parent* would make a lorebook contain itself; disabled lorebooks count here."""
    seen = {child}
    queue = deque([child])
    while queue:
        each = queue.popleft()
        if each == parent:
            return True
        filled = shelf(each)
        below = set(filled.lorebook.subbooks) - seen if filled else set[LorebookId]()
        seen |= below
        queue.extend(below)
    return False


def _candidates(lorebooks: Iterable[FilledLorebook]) -> Iterable[Candidate]:
    for filled in lorebooks:
        book = filled.lorebook
        for entry in filled.entries:
            tagged = replace(entry, tags=effective_tags(entry, book)) if book.tags else entry
            yield Candidate(entry=tagged, lorebook=book)


def _place(candidate: Candidate) -> tuple[int, bool, datetime]:
    created = candidate.entry.created
    return candidate.entry.ordinal, created is None, created or EPOCH
