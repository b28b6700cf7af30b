"""SillyTavern's entry, which cards share, as an entry that fires as its author meant.

Field by field: research/sillytavern.md, 1.1; the rules of the original importer: spec/semantics.md, B1 101 and 102.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from marginalia.formats.base import Remarks
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    number,
    obj,
    one_line,
    pick,
    rows,
    text,
    texts,
    whole,
)
from marginalia.formats.keys import key_list, regex_pattern, tavern_pattern
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    Filter,
    Insertion,
    Match,
    Pattern,
    Scope,
    TextFilter,
    When,
    Where,
)
from marginalia.values import Role

MESSAGES = 2
"""SillyTavern's own scan depth, in messages; one message is one part here, beside the request."""
DEFAULT_ORDER = 100
CHANCE = 100.0

_BEFORE, _AFTER, _NOTE_TOP, _NOTE_BOTTOM, _AT_DEPTH, _EXAMPLES_TOP, _EXAMPLES_BOTTOM, _OUTLET = range(8)
_POSITIONS = {
    "before_char": _BEFORE,
    "after_char": _AFTER,
    "before_char_defs": _BEFORE,
    "after_char_defs": _AFTER,
    "before_character_definition": _BEFORE,
    "after_character_definition": _AFTER,
    "before_author_note": _NOTE_TOP,
    "after_author_note": _NOTE_BOTTOM,
    "at_depth": _AT_DEPTH,
    "at_depth_as_system": _AT_DEPTH,
    "before_example_messages": _EXAMPLES_TOP,
    "after_example_messages": _EXAMPLES_BOTTOM,
    "outlet": _OUTLET,
}
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")
_ALSO, _NOT_ALL, _NONE, _ALL = range(4)
_SOURCES = (
    "matchPersonaDescription",
    "matchCharacterDescription",
    "matchCharacterPersonality",
    "matchCharacterDepthPrompt",
    "matchScenario",
    "matchCreatorNotes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What a kind of file means when it does not say it: are secondary keys looked at, are keys expressions."""

    selective: bool = True
    expressions: bool | None = None
    keyless_fires: bool = False


def read_entry(fields: Object, remarks: Remarks, habits: Habits) -> Entry:
    """The entry that SillyTavern's *fields* describe; ``uid`` and ``created`` are not set."""
    keys = key_list(fields.get("key"))
    filter_, match = _calls(fields, keys, remarks, habits)
    when = _when(fields, remarks, keyless=not keys, habits=habits)
    insertion, where = _place(fields, remarks)
    tags, negative = _characters(fields)
    _unused(fields, remarks)
    depth = pick(fields, "scanDepth")
    if _looks_nowhere(depth) and not when.always:
        remarks.kept("a scan depth of 0: only other lore calls it")
    return Entry(
        name=entry_name(fields, keys),
        payload=text(fields.get("content")),
        enabled=not flag(fields.get("disable")),
        ordinal=whole(fields.get("order"), DEFAULT_ORDER),
        filter=filter_ if not when.always else None,
        match=match if not (when.always and filter_) else Match(any=_one(filter_)),
        insertion=insertion,
        where=where,
        when=when,
        scope=_scope(fields, depth),
        budget=EntryBudget(ignore=flag(fields.get("ignoreBudget"))),
        tags=tags,
        negative_tags=negative,
    )


def entry_name(fields: Object, keys: tuple[str, ...]) -> str:
    """A name for an entry: its title, else its first key, else the beginning of its text, else its number."""
    number_ = text(pick(fields, "uid", "id"))
    candidates = (
        text(fields.get("comment")),
        *keys[:1],
        text(fields.get("content"))[:60],
        f"Entry {number_}",
    )
    return next(name for each in candidates if (name := one_line(each)))


def _calls(
    fields: Object, keys: tuple[str, ...], remarks: Remarks, habits: Habits
) -> tuple[Filter | None, Match]:
    case, words = flag(fields.get("caseSensitive")), flag(fields.get("matchWholeWords"))
    any_ = _patterns(keys, remarks, habits, case=case, whole_word=words)
    if not any_:
        return None, Match()
    second: tuple[Pattern, ...] = ()
    if flag(fields.get("selective"), default=habits.selective):
        others = key_list(fields.get("keysecondary"))
        second = _patterns(others, remarks, habits, case=case, whole_word=words)
    if not second:
        if len(any_) == 1 and any_[0] == Pattern(text=any_[0].text):
            return TextFilter(any_[0].text), Match()
        return None, Match(any=any_)
    logic = whole(fields.get("selectiveLogic"), _ALSO)
    if logic not in range(4):
        remarks.unknown(f"the logic {logic} of its secondary keys is not known; one of them is enough")
        logic = _ALSO
    return None, Match(
        any=any_,
        also=second if logic == _ALSO else (),
        not_all=second if logic == _NOT_ALL else (),
        none=second if logic == _NONE else (),
        all=second if logic == _ALL else (),
    )


def _patterns(
    keys: tuple[str, ...], remarks: Remarks, habits: Habits, *, case: bool, whole_word: bool
) -> tuple[Pattern, ...]:
    if habits.expressions is False:
        return tuple(Pattern(text=key.strip(), case=case, whole_word=whole_word) for key in keys)
    if habits.expressions:
        return tuple(regex_pattern(key, remarks, case=case) for key in keys)
    return tuple(tavern_pattern(key, remarks, case=case, whole_word=whole_word) for key in keys)


def _when(fields: Object, remarks: Remarks, *, keyless: bool, habits: Habits) -> When:
    always = flag(fields.get("constant"))
    never = keyless and not always and not habits.keyless_fires and "constant" in fields
    if never:
        remarks.inactive("it has no keys and is not always on, so it is never called")
    elif keyless and not always:
        remarks.mention("it has no keys, so it is always there")
    return When(
        always=always,
        never=never,
        chance=_chance(fields, remarks),
        after=_count(fields, "delay", remarks),
        sticky=_count(fields, "sticky", remarks),
        cooldown=_count(fields, "cooldown", remarks),
        groups=_groups(fields, remarks),
        group_weight=max(0, whole(fields.get("groupWeight"), 100)),
        group_priority=flag(fields.get("groupOverride")),
        group_scoring=flag(fields.get("useGroupScoring")),
    )


def _chance(fields: Object, remarks: Remarks) -> float:
    percent = max(0.0, min(CHANCE, float(number(fields.get("probability"), CHANCE))))
    used = fields.get("useProbability")
    if isinstance(used, int | float) and not isinstance(used, bool):
        # Converters from RisuAI put the percentage itself here, and nothing beside it.
        percent = max(0.0, min(CHANCE, float(used))) if percent == CHANCE and used > 1 else percent
    elif not flag(used, default=True):
        return CHANCE
    if percent < CHANCE:
        remarks.kept(f"probability {percent:g} %")
    return percent


def _count(fields: Object, name: str, remarks: Remarks) -> int:
    count = max(0, whole(fields.get(name), 0))
    if count:
        remarks.kept(f"{name} {count} (messages there, parts here)")
    return count


def _groups(fields: Object, remarks: Remarks) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text(fields.get("group")).split(",") if name.strip())
    if names:
        remarks.kept(f"group {', '.join(names)}")
    return names


def _place(fields: Object, remarks: Remarks) -> tuple[Insertion, Where]:
    given = fields.get("position")
    position = (
        _POSITIONS.get(given.strip().lower(), _odd(given))
        if isinstance(given, str)
        else whole(given, _BEFORE)
    )
    role = _role(fields.get("role"))
    if position in {_BEFORE, _AFTER}:
        return Insertion.LORE_BLOCK, Where()
    if position in {_NOTE_TOP, _NOTE_BOTTOM}:
        remarks.approximated("stood at the author's note, and goes before the user prompt here")
        return Insertion.BEFORE_USER_PROMPT, Where()
    if position == _AT_DEPTH:
        return _at_depth(fields, role, remarks)
    if position == _OUTLET and text(fields.get("outletName")).strip():
        name = text(fields.get("outletName")).strip()
        remarks.kept(f"outlet {name}: a template fills it")
        return Insertion.SLOT, Where(slot=name)
    if position in {_EXAMPLES_TOP, _EXAMPLES_BOTTOM}:
        remarks.approximated("stood at the example messages, and goes into the lore block here")
    else:
        remarks.unknown(f"the position {text(given, 'given')} is not known; it goes into the lore block")
    return Insertion.LORE_BLOCK, Where()


def _odd(given: str) -> int:
    return whole(given, -1) if given.strip() else _BEFORE


def _at_depth(fields: Object, role: Role, remarks: Remarks) -> tuple[Insertion, Where]:
    if pick(fields, "depth") is None:
        remarks.approximated(
            "stood at a depth that the file does not say, and goes before the user prompt here"
        )
        return Insertion.BEFORE_USER_PROMPT, Where(role=role)
    depth = max(0, whole(fields.get("depth"), 4))
    remarks.kept(f"at depth {depth} as {role}")
    return Insertion.DEPTH, Where(depth=depth, role=role)


def _role(value: Json) -> Role:
    if isinstance(value, str) and value.strip().lower() in _ROLES:
        return cast("Role", value.strip().lower())
    at = whole(value, 0)
    return _ROLES[at] if at in range(len(_ROLES)) else "system"


def _scope(fields: Object, depth: Json) -> Scope:
    delay = fields.get("delayUntilRecursion")
    return Scope(
        parts=max(0, whole(depth, 0)),
        calls_others=not flag(fields.get("preventRecursion")),
        only_recursive=_looks_nowhere(depth),
        no_recursion=flag(fields.get("excludeRecursion")),
        recursion_level=max(int(flag(delay)), whole(delay, 0)),
    )


def _looks_nowhere(depth: Json) -> bool:
    """Whether an entry looks at no message: its documentation says that other lore may call it all the same."""
    return depth is not None and whole(depth, 1) <= 0


def _characters(fields: Object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    chosen = obj(fields.get("characterFilter"))
    if not chosen:
        return (), ()
    named = dict.fromkeys(
        each.strip() for each in texts([*rows(chosen.get("names")), *rows(chosen.get("tags"))])
    )
    return ((), tuple(named)) if flag(chosen.get("isExclude")) else (tuple(named), ())


def _unused(fields: Object, remarks: Remarks) -> None:
    if flag(fields.get("vectorized")):
        remarks.inactive("called by likeness of meaning there; here only its keys call it")
    if any(flag(fields.get(each)) for each in _SOURCES):
        remarks.inactive("also looked at the texts of the character card there")
    if rows(fields.get("triggers")) and "key" in fields:
        remarks.inactive("only for some kinds of generation there; here for all")
    if text(fields.get("automationId")).strip():
        remarks.inactive(f"starts the script {text(fields.get('automationId'))} there")
    if text(fields.get("group")).strip() and flag(fields.get("groupOverride")):
        remarks.kept("goes first in its group")


def _one(filter_: Filter | None) -> tuple[Pattern, ...]:
    return (Pattern(text=filter_.text),) if isinstance(filter_, TextFilter) else ()
