"""An entry of ours in SillyTavern's fields, and what of it cannot be said there."""

from __future__ import annotations

from collections.abc import Sequence

from marginalia.formats.coerce import Object
from marginalia.formats.keys import as_key
from marginalia.formats.losses import always_there
from marginalia.lore.book import Entry, Insertion, Match, Pattern, RegexFilter, TextFilter

_ANYTHING = "/[^]/"
_ROLES = ("system", "user", "assistant")


def tavern_fields(entry: Entry) -> tuple[Object, tuple[str, ...]]:
    """The fields, and a sentence for what these fields cannot hold of the keys; the rest is the caller's."""
    losses: list[str] = []
    fields = {
        **_keys(entry, losses),
        "comment": entry.name,
        "content": entry.payload,
        "constant": always_there(entry),
        "disable": not entry.enabled or (entry.when.never and bool(_any(entry))),
        "order": entry.ordinal,
        **_place(entry),
        **_when(entry),
        "scanDepth": entry.scope.parts or None,
        "preventRecursion": not entry.scope.calls_others,
        "excludeRecursion": entry.scope.no_recursion,
        "delayUntilRecursion": _delay(entry, losses),
        "ignoreBudget": entry.budget.ignore,
    }
    return fields, tuple(losses)


def _delay(entry: Entry, losses: list[str]) -> bool | int:
    """For which round of recursion it waits: any, or one from the second on."""
    level = entry.scope.recursion_level
    if entry.scope.only_recursive:
        losses.append("only other lore calls it; there it looks at the messages too, once other lore is in")
        level = level or 1
    return level if level > 1 else bool(level)


def _any(entry: Entry) -> tuple[TextFilter | RegexFilter | Pattern, ...]:
    first = (entry.filter,) if entry.filter is not None else ()
    return (*first, *entry.match.any)


def _keys(entry: Entry, losses: list[str]) -> Object:
    primary: Sequence[TextFilter | RegexFilter | Pattern] = _any(entry)
    if entry.filter is not None and entry.match.any:
        losses.append("the filter and the keys would both be needed; there one of them is enough")
    second, logic = _second(entry.match, losses)
    if not primary and second and logic in {0, 3}:
        primary, second = second[:1] if logic else second, second[1:] if logic else ()
    keys = [as_key(each, losses) for each in primary]
    if not keys and second:
        keys = [_ANYTHING]
    plain = [each for each in (*primary, *second) if isinstance(each, Pattern) and each.kind == "plain"]
    return {
        "key": keys,
        "keysecondary": [as_key(each, losses) for each in second],
        "selective": True,
        "selectiveLogic": logic,
        "caseSensitive": _common([each.case for each in plain], "upper and lower case", losses),
        "matchWholeWords": _common([each.whole_word for each in plain], "whole words", losses),
    }


def _second(match: Match, losses: list[str]) -> tuple[Sequence[Pattern], int]:
    kinds = [(match.also, 0), (match.not_all, 1), (match.none, 2), (match.all, 3)]
    used = [(keys, logic) for keys, logic in kinds if keys]
    if len(used) > 1:
        losses.append("its secondary keys have more than one rule; there they have one")
    return used[0] if used else ((), 0)


def _common(values: list[bool], what: str, losses: list[str]) -> bool | None:
    if len(set(values)) > 1:
        losses.append(f"some of its keys mind {what} and some do not; there all do or none")
    return True if any(values) else None


def _place(entry: Entry) -> Object:
    depth = 4
    if entry.insertion is Insertion.BEFORE_USER_PROMPT:
        position, depth = 4, 1
    elif entry.insertion is Insertion.DEPTH:
        position, depth = 4, entry.where.depth
    else:
        position = 7 if entry.insertion is Insertion.SLOT else 0
    return {
        "position": position,
        "depth": depth,
        "role": _ROLES.index(entry.where.role),
        "outletName": entry.where.slot,
    }


def _when(entry: Entry) -> Object:
    when = entry.when
    return {
        "probability": round(when.chance, 3) if when.chance % 1 else int(when.chance),
        "useProbability": True,
        "group": ", ".join(when.groups),
        "groupOverride": when.group_priority,
        "groupWeight": when.group_weight,
        "useGroupScoring": when.group_scoring or None,
        "sticky": when.sticky or None,
        "cooldown": when.cooldown or None,
        "delay": when.after or None,
    }


NEW_ENTRY: Object = {
    "vectorized": False,
    "addMemo": True,
    "matchPersonaDescription": False,
    "matchCharacterDescription": False,
    "matchCharacterPersonality": False,
    "matchCharacterDepthPrompt": False,
    "matchScenario": False,
    "matchCreatorNotes": False,
    "automationId": "",
    "triggers": [],
}
"""What SillyTavern's own entries have beside what ours can say."""
