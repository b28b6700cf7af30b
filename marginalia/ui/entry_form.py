"""A lore entry as the explorer's editor has it: the everyday fields, its keys as chips, and all else under More."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import param

from marginalia.lore.book import Entry, Match, Pattern
from marginalia.lore.filters import problem
from marginalia.models import EntryModel
from marginalia.models.base import Model
from marginalia.ui.forms import described, fill
from marginalia.ui.nested import names_of, read, show
from marginalia.values import Role, Syntax

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said

Kind = Literal["plain", "wildcard", "regex"]
ROLES: Mapping[str, str] = {
    "any": "any of these",
    "also": "and any of these",
    "all": "and all of these",
    "none": "and none of these",
    "not_all": "and not all of these",
}
_WIDE = ("name", "payload", "filter_text")
_GROUPS = ("scope", "when", "where", "budget")


class MoreModel(Model):
    """What an entry has beyond its everyday fields; the names are those of the parts of ``Entry``, with their place."""

    scope_request = param.Boolean(
        default=True, label="Looks at the request", doc="What is typed for the next part."
    )
    scope_parts = param.Integer(
        default=0,
        bounds=(0, None),
        label="Parts looked at",
        doc="How many of the last parts are searched too.",
    )
    scope_characters = param.Integer(
        default=0, bounds=(0, None), label="Characters looked at",
        doc="How far back from its end the story is read. 0: no limit.",
    )  # fmt: skip
    scope_memory = param.Boolean(
        default=False, label="Looks at summaries", doc="Memory texts are searched too."
    )
    scope_recursive = param.Boolean(
        default=False, label="Lore may call it", doc="Other lore that is in may call this entry."
    )
    scope_calls_others = param.Boolean(
        default=True, label="Calls lore", doc="The text of this entry may call other entries."
    )
    scope_only_recursive = param.Boolean(
        default=False, label="Only lore calls it", doc="Nothing but other lore calls this entry."
    )
    scope_no_recursion = param.Boolean(
        default=False, label="No lore calls it", doc="Not even where its lorebook lets lore call lore."
    )
    scope_recursion_level = param.Integer(
        default=0,
        bounds=(0, None),
        label="Waits for other lore",
        doc="1: until other lore that is in has been read; 2 and up: later. 0: at once.",
    )
    when_always = param.Boolean(default=False, label="Always in", doc="No key is needed; tags still count.")
    when_never = param.Boolean(default=False, label="Never in", doc="Kept, and never used.")
    when_chance = param.Number(
        default=100.0,
        bounds=(0, 100),
        label="Chance",
        doc="In percent, drawn once per turn when it is called.",
    )
    when_after = param.Integer(
        default=0,
        bounds=(0, None),
        label="From part",
        doc="How many parts there must be before it can come in.",
    )
    when_every = param.Integer(
        default=0, bounds=(0, None), label="Every so many parts", doc="Only at each n-th part. 0: at all."
    )
    when_sticky = param.Integer(
        default=0, bounds=(0, None), label="Stays for", doc="Parts for which it stays in once it was called."
    )
    when_cooldown = param.Integer(
        default=0, bounds=(0, None), label="Rests for", doc="Parts for which it cannot be called after that."
    )
    when_groups = param.List(
        default=[], item_type=str, label="Groups", doc="Of the entries in a group, one comes in at a time."
    )
    when_group_weight = param.Integer(
        default=100,
        bounds=(0, None),
        label="Weight in the group",
        doc="How likely it is chosen among the others.",
    )
    when_group_priority = param.Boolean(
        default=False, label="By order", doc="In its group, order decides instead of the weight."
    )
    when_group_scoring = param.Boolean(
        default=False, label="By matches", doc="In its group, the most keys found decide."
    )
    where_depth = param.Integer(
        default=0, bounds=(0, None), label="Depth", doc="Place depth: messages from the end."
    )
    where_role: param.Selector[str] = param.Selector(
        default="system", objects=list(get_args(Role)), label="Role", doc="Place depth: whose message it is."
    )
    where_slot = param.String(default="", label="Slot", doc="Place slot: the name that the template uses.")
    budget_priority = param.Integer(
        default=0, label="Priority", doc="When lore has a limit, higher numbers stay."
    )
    budget_reserve = param.Integer(
        default=0, bounds=(0, None), label="Tokens kept free", doc="Room that is kept for it in any case."
    )
    budget_maximum = param.Integer(
        default=0,
        bounds=(0, None),
        label="Tokens at most",
        doc="A longer text does not come in. 0: no limit.",
    )
    budget_ignore = param.Boolean(
        default=False, label="Outside the limit", doc="The limit of lore does not count."
    )
    syntax: param.Selector[str] = param.Selector(
        default="macros", objects=list(get_args(Syntax)), label="Language", doc="What the text is written in."
    )
    note = param.String(default="", label="Note", doc="For you alone; the model never reads it.")

    def take(self, entry: Entry) -> None:
        """Show *entry*."""
        show(self, entry, _GROUPS)

    def freeze(self, entry: Entry) -> Entry:
        """*entry* with what stands here."""
        return read(self, entry, _GROUPS)

    def names(self) -> list[str]:
        """The fields."""
        return names_of(self)


def fields_of(entry: Entry) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The everyday fields and those under More, as the browser's form takes them."""
    everyday, more = EntryModel(), MoreModel()
    everyday.take(entry)
    more.take(entry)
    return (
        described(everyday, wide=_WIDE, areas=("payload",)),
        described(more, only=more.names(), areas=("note",)),
    )


def keys_of(entry: Entry) -> list[dict[str, Any]]:
    """The keys of an entry in the order in which they are asked for."""
    return [
        {"role": role, "text": key.text, "kind": key.kind, "case": key.case, "word": key.whole_word}
        for role in ROLES
        for key in cast("tuple[Pattern, ...]", getattr(entry.match, role))
    ]


def entry_from(said: Said, entry: Entry) -> tuple[Entry, dict[str, str]]:
    """*entry* with what a form sent, and what of that cannot be used, by field."""
    values: Mapping[str, Any] = dict(said.get("values") or {})
    everyday, more = EntryModel(), MoreModel()
    everyday.take(entry)
    more.take(entry)
    beyond = {name: values[name] for name in more.names() if name in values}
    errors = fill(everyday, values) | fill(more, beyond)
    made = more.freeze(everyday.freeze(entry))
    keys = said.get("keys")
    return (made if keys is None else replace(made, match=_match(keys))), errors


def problems_of(entry: Entry) -> dict[str, Any]:
    """What is wrong with the filter and with each key (by its place among them), as sentences."""
    found = problem(entry.filter) if entry.filter is not None else None
    keys = [key for role in ROLES for key in cast("tuple[Pattern, ...]", getattr(entry.match, role))]
    faults = {str(at): fault for at, key in enumerate(keys) if (fault := problem(key))}
    return {"filter": found or "", "keys": faults}


def _match(keys: Iterable[Mapping[str, Any]]) -> Match:
    found: dict[str, list[Pattern]] = {role: [] for role in ROLES}
    for key in keys:
        text, role, kind = str(key.get("text", "")), str(key.get("role")), str(key.get("kind"))
        if not text.strip() or role not in found:
            continue
        known = cast("Kind", kind) if kind in get_args(Kind) else "plain"
        found[role].append(
            Pattern(text=text, kind=known, case=bool(key.get("case")), whole_word=bool(key.get("word")))
        )
    return Match(**{role: tuple(each) for role, each in found.items()})
