"""Decorators: the ``@@name value`` lines at the head of an entry's text, which must never reach a model.

Rules: the table of the version 3 cards and RisuAI's own additions (research/others.md, 3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TypeAlias, cast

from marginalia.formats.base import Remarks
from marginalia.formats.coerce import number, whole
from marginalia.formats.keys import split_keys
from marginalia.lore.book import Entry, Insertion, Pattern, TextFilter
from marginalia.values import Role

FOREVER = 1_000_000
"""Parts that an effect lasts when it never ends."""
DROPPED_FIRST = -1_000

Handler: TypeAlias = Callable[[Entry, str], Entry | None]


@dataclass(frozen=True, slots=True)
class Decorator:
    """One decorator with the ones to try when it is not known."""

    name: str
    value: str
    fallbacks: tuple[Decorator, ...] = ()

    def __str__(self) -> str:
        return f"@@{self.name} {self.value}".rstrip()


def lines_of(decorator: Decorator) -> list[str]:
    """A decorator with its fallbacks, as it is written."""
    return [str(decorator), *(f"@{each}" for each in decorator.fallbacks)]


def split(content: str) -> tuple[str, str]:
    """The decorator lines at the head of a content, as they are, and what the model is to read."""
    lines = content.splitlines(keepends=True)
    head = next((at for at, line in enumerate(lines) if not line.lstrip().startswith("@@")), len(lines))
    return "".join(lines[:head]), "".join(lines[head:])


def parse(head: str) -> tuple[Decorator, ...]:
    """The decorators in the lines that :func:`split` gave."""
    found: list[Decorator] = []
    for line in head.splitlines():
        mark, _, rest = line.strip().partition("@@")
        name, _, value = rest.removeprefix("@").partition(" ")
        fresh = Decorator(name.strip().lower(), value.strip())
        if rest.startswith("@") and found and not mark:
            found[-1] = replace(found[-1], fallbacks=(*found[-1].fallbacks, fresh))
        elif fresh.name:
            found.append(fresh)
    return tuple(found)


def decorated(entry: Entry, decorators: tuple[Decorator, ...], remarks: Remarks) -> Entry:
    """The entry with its decorators in effect."""
    placed = any(each.name == "position" for each in decorators)
    for decorator in decorators:
        if decorator.name in {"depth", "reverse_depth"} and placed:
            remarks.inactive(f"{decorator} stands beside a position, which wins")
            continue
        entry = _with(entry, decorator, remarks)
    return entry


def _with(entry: Entry, decorator: Decorator, remarks: Remarks) -> Entry:
    for each in (decorator, *decorator.fallbacks):
        handler = _HANDLERS.get(each.name)
        changed = handler(entry, each.value) if handler else None
        if changed is not None:
            remarks.kept(str(each))
            return changed
    if decorator.name in _INACTIVE:
        remarks.inactive(f"{decorator} has no counterpart here")
    else:
        remarks.unknown(f"{decorator} is not known here")
    return entry


def _after(entry: Entry, value: str) -> Entry | None:
    parts = whole(value, -1)
    return None if parts < 0 else replace(entry, when=replace(entry.when, after=parts))


def _every(entry: Entry, value: str) -> Entry | None:
    parts = whole(value, 0)
    return None if parts <= 0 else replace(entry, when=replace(entry.when, every=parts))


def _chance(entry: Entry, value: str) -> Entry | None:
    percent = number(value, -1)
    return (
        None if percent < 0 else replace(entry, when=replace(entry.when, chance=min(100.0, float(percent))))
    )


def _depth(entry: Entry, value: str) -> Entry | None:
    depth = whole(value, -1)
    if depth < 0:
        return None
    return replace(entry, insertion=Insertion.DEPTH, where=replace(entry.where, depth=depth))


def _role(entry: Entry, value: str) -> Entry | None:
    if value not in {"system", "user", "assistant"}:
        return None
    return replace(entry, where=replace(entry.where, role=cast("Role", value)))


def _scan_depth(entry: Entry, value: str) -> Entry | None:
    parts = whole(value, 0)
    return None if parts <= 0 else replace(entry, scope=replace(entry.scope, parts=parts))


def _additional(entry: Entry, value: str) -> Entry | None:
    keys = _patterns(value)
    if not keys:
        return None
    match = entry.match
    if not match.also:
        return replace(entry, match=replace(match, also=keys))
    return replace(entry, match=replace(match, all=(*match.all, *keys))) if len(keys) == 1 else None


def _exclude(entry: Entry, value: str) -> Entry | None:
    keys = _patterns(value)
    return replace(entry, match=replace(entry.match, none=(*entry.match.none, *keys))) if keys else None


def _exclude_all(entry: Entry, value: str) -> Entry | None:
    keys = _patterns(value)
    return (
        replace(entry, match=replace(entry.match, not_all=keys)) if keys and not entry.match.not_all else None
    )


def _patterns(value: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text=key) for key in split_keys(value))


def _position(entry: Entry, value: str) -> Entry | None:
    if value in {"before_desc", "after_desc", "personality", "scenario"}:
        return replace(entry, insertion=Insertion.LORE_BLOCK)
    if value.startswith("pt_"):
        slot = replace(entry.where, slot=value.removeprefix("pt_"))
        return replace(entry, insertion=Insertion.SLOT, where=slot)
    return None


def _priority(entry: Entry, value: str) -> Entry | None:
    if not isfinite(number(value, nan)):
        return None
    return replace(entry, budget=replace(entry.budget, priority=whole(value, 0)))


def _words(*, whole_word: bool) -> Handler:
    def change(entry: Entry, _value: str) -> Entry:
        match = entry.match
        keys = tuple(replace(key, whole_word=whole_word) for key in match.any)
        if isinstance(entry.filter, TextFilter) and whole_word:
            own = (Pattern(text=entry.filter.text, whole_word=True), *keys)
            return replace(entry, filter=None, match=replace(match, any=own))
        return replace(entry, match=replace(match, any=keys))

    return change


_HANDLERS: Mapping[str, Handler] = {
    "activate": lambda entry, _: replace(entry, when=replace(entry.when, always=True)),
    "dont_activate": lambda entry, _: replace(entry, when=replace(entry.when, never=True)),
    "activate_only_after": _after,
    "activate_only_every": _every,
    "keep_activate_after_match": lambda entry, _: replace(entry, when=replace(entry.when, sticky=FOREVER)),
    "dont_activate_after_match": lambda entry, _: replace(entry, when=replace(entry.when, cooldown=FOREVER)),
    "probability": _chance,
    "depth": _depth,
    "role": _role,
    "scan_depth": _scan_depth,
    "additional_keys": _additional,
    "exclude_keys": _exclude,
    "exclude_keys_all": _exclude_all,
    "position": _position,
    "priority": _priority,
    "ignore_on_max_context": lambda entry, _: _priority(entry, str(DROPPED_FIRST)),
    "end": lambda entry, _: replace(entry, insertion=Insertion.BEFORE_USER_PROMPT),
    "recursive": lambda entry, _: replace(entry, scope=replace(entry.scope, recursive=True)),
    "unrecursive": lambda entry, _: replace(entry, scope=replace(entry.scope, calls_others=False)),
    "no_recursive_search": lambda entry, _: replace(entry, scope=replace(entry.scope, no_recursion=True)),
    "match_full_word": _words(whole_word=True),
    "match_partial_word": _words(whole_word=False),
}
_INACTIVE = frozenset(
    {
        "reverse_depth",
        "instruct_depth",
        "reverse_instruct_depth",
        "instruct_scan_depth",
        "is_greeting",
        "disable_ui_prompt",
        "is_user_icon",
        "inject_at",
        "inject_lore",
        "inject_replace",
        "inject_prepend",
        "position",
    }
)


def known(name: str) -> bool:
    """Whether a decorator takes effect here, so that it is written anew when its entry was edited."""
    return name in _HANDLERS


def said(entry: Entry) -> list[str]:
    """What is left for decorators to say of an entry: secondary keys and other fields say the rest."""
    lines: list[str] = []
    when, match = entry.when, entry.match
    if when.every:
        lines.append(f"@@activate_only_every {when.every}")
    if when.after:
        lines.append(f"@@activate_only_after {when.after}")
    if when.sticky >= FOREVER:
        lines.append("@@keep_activate_after_match")
    if when.cooldown >= FOREVER:
        lines.append("@@dont_activate_after_match")
    kinds: list[list[tuple[str, tuple[Pattern, ...]]]] = [
        [("additional_keys", match.also)],
        [("exclude_keys_all", match.not_all)],
        [("exclude_keys", match.none)],
        [("additional_keys", (key,)) for key in match.all],
    ]
    used = [kind for kind in kinds if any(keys for _, keys in kind)]
    for kind in used[1:]:
        lines += [f"@@{name} {','.join(key.text for key in keys)}" for name, keys in kind]
    return lines
