"""Lorebooks and their entries.

The everyday entry is the specification's: tags, negative tags, one text or regex filter, where it goes, its
ordinal. ``match``, ``scope``, ``when``, ``where`` and ``budget`` hold the rest, so that an entry of another tool comes
in without loss; their defaults change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from marginalia.values import EPOCH, NOTHING, EntryId, LorebookId, Role, Syntax


@dataclass(frozen=True, slots=True)
class TextFilter:
    """The entry is called when the rendered request contains this text, upper or lower case."""

    text: str


@dataclass(frozen=True, slots=True)
class RegexFilter:
    """The entry is called when this expression is found in the request; case is ignored, the dot matches all."""

    pattern: str


Filter: TypeAlias = TextFilter | RegexFilter


class Insertion(StrEnum):
    """Where an entry's payload goes."""

    LORE_BLOCK = "lore_block"
    BEFORE_USER_PROMPT = "before_user_prompt"
    DEPTH = "depth"
    SLOT = "slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One key: plain words, a wildcard pattern (``*`` and ``?``) or a regular expression."""

    text: str
    kind: Literal["plain", "wildcard", "regex"] = "plain"
    case: bool = False
    whole_word: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What must be found; an empty tuple asks for nothing.

    At least one of ``any``, at least one of ``also``, every one of ``all``, none of ``none``, not all of ``not_all``.
    """

    any: tuple[Pattern, ...] = ()
    also: tuple[Pattern, ...] = ()
    all: tuple[Pattern, ...] = ()
    none: tuple[Pattern, ...] = ()
    not_all: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is searched: the request, the last ``parts`` parts, memory texts, other active lore.

    ``characters`` limits how far back from its end the story is read (0: no limit; with 0 parts, as many parts as that
    takes). ``recursive``: this entry may be called by other active lore; ``calls_others``: its own text may call
    others; ``only_recursive``: nothing else calls it, it looks at neither the request nor the story; ``no_recursion``:
    no other lore calls it, whatever its lorebook says. With a ``recursion_level`` it looks at what it always does, but
    waits until other active lore has been read and the lower levels are done; 0 waits for nothing.
    """

    request: bool = True
    parts: int = 0
    characters: int = 0
    memory: bool = False
    recursive: bool = False
    calls_others: bool = True
    only_recursive: bool = False
    no_recursion: bool = False
    recursion_level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Conditions beside the match: ``chance`` in percent, part counts, timed effects (in parts), inclusion groups."""

    always: bool = False
    never: bool = False
    chance: float = 100.0
    after: int = 0
    every: int = 0
    sticky: int = 0
    cooldown: int = 0
    groups: tuple[str, ...] = ()
    group_weight: int = 100
    group_priority: bool = False
    group_scoring: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where the payload goes beyond ``Insertion``: depth counted in messages from the end, its role, a named slot."""

    depth: int = 0
    role: Role = "system"
    slot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBudget:
    """Who is kept when lore has a limit: higher ``priority`` first; ``reserve``, ``maximum`` are tokens (0: none)."""

    priority: int = 0
    reserve: int = 0
    maximum: int = 0
    ignore: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a lorebook. ``payload`` is a template; ``raw`` the object of an import, never interpreted."""

    id: EntryId = EntryId(0)
    uid: str = ""
    lorebook_id: LorebookId = LorebookId(0)
    name: str = ""
    payload: str = ""
    enabled: bool = True
    ordinal: int = 100
    filter: Filter | None = None
    insertion: Insertion = Insertion.LORE_BLOCK
    tags: tuple[str, ...] = ()
    negative_tags: tuple[str, ...] = ()
    note: str = ""
    match: Match = Match()
    scope: Scope = Scope()
    when: When = When()
    where: Where = Where()
    budget: EntryBudget = EntryBudget()
    syntax: Syntax = "macros"
    raw: Mapping[str, Any] | None = None
    created: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreSettings:
    """How a lorebook's entries are scanned when they do not say it themselves; 0 stands for "no limit of its own"."""

    scan_parts: int = 0
    token_budget: int = 0
    recursive: bool = False
    recursion_limit: int = 3
    dialect: str = "marginalia"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lorebook:
    """A lorebook: a name, tags that its own entries inherit, the lorebooks below it, settings for scanning."""

    id: LorebookId = LorebookId(0)
    uid: str = ""
    owner: str = "local"
    name: str = ""
    description: str = ""
    enabled: bool = True
    tags: tuple[str, ...] = ()
    subbooks: tuple[LorebookId, ...] = ()
    settings: LoreSettings = LoreSettings()
    raw: Mapping[str, Any] = NOTHING
    created: datetime = EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledLorebook:
    """A lorebook with its entries, in the order of their creation."""

    lorebook: Lorebook
    entries: tuple[Entry, ...] = ()


def effective_tags(entry: Entry, lorebook: Lorebook) -> tuple[str, ...]:
    """An entry's own tags and those of its lorebook, each once; an alternative, not an extra condition."""
    return tuple(dict.fromkeys((*entry.tags, *lorebook.tags)))
