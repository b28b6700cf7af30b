"""Where the fields of a SillyTavern entry stand: under their own names, those of cards, or those of other dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from marginalia.formats.coerce import Json, Object, flag, is_object, obj, text

Fields: TypeAlias = Mapping[str, Json]

_ROOT: Mapping[str, tuple[str, ...]] = {
    "key": ("key", "keys", "keywords", "triggers", "primaryKeys", "primary_keys"),
    "keysecondary": ("keysecondary", "secondary_keys", "secondaryKeys", "keySecondary"),
    "content": ("content", "entry", "text", "value"),
    "comment": ("comment", "name", "title", "displayName"),
    "order": ("order", "insertion_order", "insertionOrder"),
    "disable": ("disable", "disabled"),
    "probability": ("probability",),
    "useProbability": ("useProbability", "use_probability"),
    "selectiveLogic": ("selectiveLogic", "selective_logic"),
    "caseSensitive": ("caseSensitive", "case_sensitive"),
    "matchWholeWords": ("matchWholeWords", "match_whole_words"),
    "scanDepth": ("scanDepth", "scan_depth"),
    "excludeRecursion": ("excludeRecursion", "exclude_recursion"),
    "preventRecursion": ("preventRecursion", "prevent_recursion"),
    "delayUntilRecursion": ("delayUntilRecursion", "delay_until_recursion"),
    "outletName": ("outletName", "outlet_name"),
    "groupOverride": ("groupOverride", "group_override"),
    "groupWeight": ("groupWeight", "group_weight"),
    "useGroupScoring": ("useGroupScoring", "use_group_scoring"),
    "ignoreBudget": ("ignoreBudget", "ignore_budget"),
    "automationId": ("automationId", "automation_id"),
}
_CARD: Mapping[str, str] = {
    "key": "keys",
    "keysecondary": "secondary_keys",
    "content": "content",
    "comment": "comment",
    "order": "insertion_order",
    "constant": "constant",
    "selective": "selective",
}
_IN_EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    name: tuple(dict.fromkeys((*names[1:], names[0])))
    for name, names in _ROOT.items()
    if name not in {*_CARD, "disable", "probability", "useProbability", "selectiveLogic"}
} | {
    "probability": ("probability",),
    "useProbability": ("useProbability", "use_probability"),
    "selectiveLogic": ("selectiveLogic", "selective_logic"),
    **{
        name: (name,)
        for name in (
            "position",
            "depth",
            "role",
            "group",
            "sticky",
            "cooldown",
            "delay",
            "vectorized",
            "triggers",
        )
    },
}


def of_card(raw: Object) -> bool:
    """Whether an entry has the shape of a character book's."""
    return "keys" in raw and ("extensions" in raw or "insertion_order" in raw or "enabled" in raw)


def fields_of(raw: Object) -> Object:
    """The entry with SillyTavern's own names; what it does not have is left out."""
    found = _at_root(raw)
    if of_card(raw):
        inside = obj(raw.get("extensions"))
        for name, names in _IN_EXTENSIONS.items():
            here = next((inside[each] for each in names if inside.get(each) is not None), None)
            if here is not None:
                found[name] = here
        if not text(found.get("comment")).strip() and raw.get("name"):
            found["comment"] = raw["name"]
    if "disable" not in found and "enabled" in raw:
        found["disable"] = not flag(raw["enabled"], default=True)
    if is_object(found.get("position")):
        found |= _placed(obj(found["position"]))
    if is_object(raw.get("strategy")):
        found = _by_strategy(raw) | found
    return found


def _by_strategy(raw: Object) -> Object:
    """The fields of scripts' own dialect, in which an entry has a strategy, a recursion and an effect."""
    strategy, recursion, effect = obj(raw["strategy"]), obj(raw.get("recursion")), obj(raw.get("effect"))
    second = obj(strategy.get("keys_secondary"))
    logic = text(second.get("logic"))
    depth = strategy.get("scan_depth")
    return {
        "key": strategy.get("keys"),
        "keysecondary": second.get("keys"),
        "selectiveLogic": _LOGICS.index(logic) if logic in _LOGICS else 0,
        "constant": strategy.get("type") == "constant",
        "vectorized": strategy.get("type") == "vectorized",
        "scanDepth": depth if isinstance(depth, int) else None,
        "excludeRecursion": recursion.get("prevent_incoming"),
        "preventRecursion": recursion.get("prevent_outgoing"),
        "delayUntilRecursion": recursion.get("delay_until"),
        **{name: effect.get(name) for name in ("sticky", "cooldown", "delay")},
    }


_LOGICS = ("and_any", "not_all", "not_any", "and_all")


def _at_root(raw: Object) -> Object:
    found = dict(raw)
    for name, names in _ROOT.items():
        if raw.get(name) is not None:
            continue
        value = next((raw[each] for each in names if each in raw), None)
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    if "triggers" in raw and not any(each in raw for each in _ROOT["key"] if each != "triggers"):
        # They were the keys; SillyTavern's own triggers are kinds of generation.
        found.pop("triggers")
        found.setdefault("content", raw.get("description"))
    return found


def _placed(position: Object) -> Object:
    found = {name: position[name] for name in ("depth", "role", "order") if name in position}
    return found | {"position": position.get("type")}


def row_of(fields: Object, raw: Object, *, card: bool) -> Object:
    """SillyTavern's fields under the names that *raw* uses, or, where it has none, those of its kind of file."""
    row: Object = {}
    inside: Object = {}
    kept = obj(raw.get("extensions"))
    for name, value in fields.items():
        here = next((each for each in _ROOT.get(name, (name,)) if each in raw), None)
        there = next((each for each in _IN_EXTENSIONS.get(name, ()) if each in kept), None)
        if name == "disable" and here is None and (card or "enabled" in raw):
            row["enabled"] = not value
        elif name == "position" and card:
            row["position"] = "before_char" if value == 0 else "after_char"
            inside["position"] = value
        elif card and there is not None:
            inside[there] = value
        elif here is not None:
            row[here] = _like(raw[here], value)
        elif card and name in _IN_EXTENSIONS:
            inside[_IN_EXTENSIONS[name][0]] = value
        else:
            row[_CARD.get(name, name) if card else name] = value
    if card:
        row["extensions"] = inside
        if "name" in raw and row.get("comment") is not None:
            row["name"] = row["comment"]
    return row


def _like(raw: Json, value: Json) -> Json:
    """Keys go back into one text where they came from one."""
    if isinstance(raw, str) and isinstance(value, list):
        return ", ".join(str(each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - keys
    return value
