"""NovelAI's ``.lorebook``, versions 1 to 6.

Fields: research/others.md, 3.1. Categories become lorebooks below the first one, so that one that is switched off
switches off what is in it.
"""

from __future__ import annotations

from dataclasses import replace

import regex

from marginalia.formats.base import Note, Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Target, checked
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    is_object,
    number,
    obj,
    one_line,
    rows,
    text,
    texts,
    whole,
)
from marginalia.formats.expressions import slashed
from marginalia.formats.keys import as_key, tavern_pattern
from marginalia.formats.losses import Feature, always_there, unsaid
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    Filter,
    Lorebook,
    LoreSettings,
    Match,
    Pattern,
    Scope,
    When,
)

TITLE = "NovelAI lorebook"
RANGE = 1_000
_NEWEST = 6
_SAID: frozenset[Feature] = frozenset(
    {
        "state",
        "always",
        "commas",
        "expressions",
        "wildcards",
        "order",
        "secondary keys",
        "characters",
        "memory",
        "recursion",
        "reserve",
        "maximum",
        "priority",
    }
)
_AND = regex.compile(r"\s+&\s+")
_TOGETHER = regex.compile(r"\\A(?:\(\?=\.\*((?:\\.|[^\\()])+)\))+")
_ESCAPED = regex.compile(r"\\(.)")
_NO_BIAS = 0.0


def _read(document: Json, file: str) -> Shelf:
    return shelf_of(obj(document), file or "NovelAI lorebook", "novelai", TITLE, document)


def shelf_of(lore: Object, name: str, format_: str, title: str, document: Json) -> Shelf:
    """The lorebook in a document, with its categories."""
    categories = [obj(each) for each in rows(lore.get("categories")) if obj(each).get("id")]
    volumes = [Volume(name=name, settings=_SETTINGS, subbooks=tuple(range(1, len(categories) + 1)))]
    volumes += [_category(each) for each in categories]
    numbers = {each.key: at for at, each in enumerate(volumes)}
    found = checked(lore.get("entries") or [], TITLE)
    return Shelf(
        format=format_,
        title=title,
        volumes=volumes,
        rows=[_row(place, raw, numbers) for place, raw in found],
        document=document,
        notes=tuple(_category_notes(categories)),
    )


_SETTINGS = LoreSettings(dialect="novelai")


def _category(raw: Object) -> Volume:
    name = one_line(text(raw.get("name"))) or "Category"
    on = flag(raw.get("enabled"), default=True)
    return Volume(name=name, enabled=on, key=text(raw.get("id")), settings=_SETTINGS)


def _category_notes(categories: list[Object]) -> list[Note]:
    found: list[Note] = []
    for each in categories:
        remarks = Remarks()
        if flag(each.get("createSubcontext")):
            remarks.approximated("its entries were packed into one block there; here each stands for itself")
        if any(_biases(group) for group in rows(each.get("categoryBiasGroups"))):
            remarks.inactive("its phrase biases do nothing here")
        if remarks.lines:
            found.append(remarks.note("", one_line(text(each.get("name")))))
    return found


def _biases(group: Json) -> bool:
    return bool(rows(obj(group).get("phrases"))) and number(obj(group).get("bias"), _NO_BIAS) != _NO_BIAS


def _row(place: Place, raw: Json, numbers: dict[str, int]) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    volume = numbers.get(text(obj(raw).get("category")), 0) if obj(raw).get("category") else 0
    return Row(place=place, raw=raw, entry=entry, volume=volume, note=remarks.note(entry.name))


def _entry(raw: Object, remarks: Remarks) -> Entry:
    config = obj(raw.get("contextConfig"))
    keys = texts(rows(raw.get("keys")))
    always = flag(raw.get("forceActivation"))
    if not keys and not always:
        remarks.inactive("it has no keys and is not always on, so it is never called")
    prefix, suffix = _around(raw)
    order = whole(config.get("budgetPriority"), 0) if config else 100
    _unused(raw, config, remarks)
    entry = Entry(
        name=_name(raw, keys),
        payload=prefix + text(raw.get("text")) + suffix,
        enabled=flag(raw.get("enabled"), default=True),
        ordinal=order,
        match=_match(keys, remarks),
        when=When(always=always, never=not keys and not always),
        scope=_scope(raw),
        budget=_budget(config, order, remarks),
    )
    return replace(entry, note=remarks.text)


def _name(raw: Object, keys: tuple[str, ...]) -> str:
    candidates = (text(raw.get("displayName")), *keys[:1], text(raw.get("text"))[:60], "Entry")
    return next(name for each in candidates if (name := one_line(each)))


def _around(raw: Object) -> tuple[str, str]:
    """What is put around the text; the line break at its end is that of every block here."""
    config = obj(raw.get("contextConfig"))
    return text(config.get("prefix")), text(config.get("suffix")).removesuffix("\n")


def _match(keys: tuple[str, ...], remarks: Remarks) -> Match:
    joined = [
        _AND.split(key.strip()) for key in keys if slashed(key.strip()) is None and _AND.search(key.strip())
    ]
    single = [key for key in keys if slashed(key.strip()) is not None or not _AND.search(key.strip())]
    if not joined:
        return Match(any=tuple(_pattern(key, remarks) for key in single))
    if not single and len(joined) == 1:
        return Match(all=tuple(_pattern(key, remarks) for key in joined[0]))
    together = tuple(Pattern(text=_all_of(keys), kind="regex") for keys in joined)
    return Match(any=(*(_pattern(key, remarks) for key in single), *together))


def _all_of(keys: list[str]) -> str:
    """An expression that finds a text with every key in it, whatever the order."""
    return r"\A" + "".join(f"(?=.*{regex.escape(key)})" for key in keys)


def _key(source: Filter | Pattern, losses: list[str]) -> str:
    together = (
        _TOGETHER.fullmatch(source.text) if isinstance(source, Pattern) and source.kind == "regex" else None
    )
    if together is None:
        return as_key(source, losses)
    return " & ".join(_ESCAPED.sub(r"\1", each) for each in together.captures(1))


def _pattern(key: str, remarks: Remarks) -> Pattern:
    # A dollar before the first slash lets placeholders expand in the expression.
    return tavern_pattern(
        key.removeprefix("$") if key.startswith("$/") else key, remarks, case=False, whole_word=False
    )


def _scope(raw: Object) -> Scope:
    cascading = flag(raw.get("nonStoryActivatable"))
    characters = max(0, whole(raw.get("searchRange"), RANGE))
    return Scope(characters=characters, memory=cascading, recursive=cascading)


def _budget(config: Object, priority: int, remarks: Remarks) -> EntryBudget:
    most, least = number(config.get("tokenBudget"), 1), number(config.get("reservedTokens"), 0)
    # Newer files write 1 for everything and shares below, older ones tokens.
    for share, what in ((most, "at most"), (least, "reserved")):
        if 0 < share < 1:
            remarks.approximated(f"{what} {share:.0%} of the context there; shares do nothing here")
    if least == 1:
        remarks.approximated("all of it was reserved there")
    reserve = round(least) if least > 1 else 0
    return EntryBudget(priority=priority, maximum=round(most) if most > 1 else 0, reserve=reserve)


def _unused(raw: Object, config: Object, remarks: Remarks) -> None:
    if flag(raw.get("keyRelative")):
        remarks.approximated("stood beside its key in the story there; here it stands in the lore block")
    if rows(raw.get("advancedConditions")):
        remarks.inactive("its advanced conditions are kept; here only its keys call it")
    if any(_biases(group) for group in rows(raw.get("loreBiasGroups"))):
        remarks.inactive("its phrase biases do nothing here")
    if whole(config.get("insertionPosition"), -1) not in {-1, 0}:
        place = whole(config.get("insertionPosition"), -1)
        remarks.approximated(f"stood at position {place} there; here it stands in the lore block")


def write(entry: Entry, target: Target) -> Written:
    """An entry of ours as one of NovelAI's."""
    losses = unsaid(entry, _SAID)
    prefix, suffix = _around(target.raw)
    payload = entry.payload.removeprefix(prefix)
    payload = payload.removesuffix(suffix) if suffix else payload
    config: Object = {"budgetPriority": entry.ordinal}
    config["tokenBudget"] = entry.budget.maximum or 1
    config["reservedTokens"] = entry.budget.reserve
    row: Object = {
        "text": payload,
        "displayName": entry.name,
        "keys": _keys(entry, losses),
        "enabled": entry.enabled,
        "forceActivation": always_there(entry),
        "searchRange": entry.scope.characters or RANGE,
        "nonStoryActivatable": entry.scope.recursive or entry.scope.memory,
        "contextConfig": config,
    }
    if target.folder or "category" in target.raw or target.fresh:
        row["category"] = target.folder
    return Written(
        row=row if not target.fresh else _NEW | row | {"contextConfig": _NEW_CONFIG | config},
        losses=tuple(losses),
    )


def _keys(entry: Entry, losses: list[str]) -> list[str]:
    match = entry.match
    first = () if entry.filter is None else (entry.filter,)
    if match.all and not match.any and not first:
        return [" & ".join(as_key(each, losses) for each in match.all)]
    if match.also or match.all or match.none or match.not_all:
        losses.append("cannot be said there: its secondary keys")
    return [_key(each, losses) for each in (*first, *match.any)]


_NEW_CONFIG: Object = {
    "prefix": "",
    "suffix": "\n",
    "trimDirection": "trimBottom",
    "insertionType": "newline",
    "maximumTrimType": "sentence",
    "insertionPosition": -1,
}
_NEW: Object = {"keyRelative": False, "loreBiasGroups": [], "hidden": False, "advancedConditions": []}


def _blank(_: Lorebook) -> Json:
    return {
        "lorebookVersion": _NEWEST,
        "entries": [],
        "settings": {"orderByKeyLocations": False},
        "categories": [],
    }


def again(raw: Object, _: Place) -> Entry:
    """The entry that a row was read as."""
    return _entry(raw, Remarks())


NOVELAI = Codec(
    id="novelai",
    title=TITLE,
    sees=lambda document: "lorebookVersion" in obj(document),
    read=_read,
    path=lambda _: ("entries",),
    write=write,
    again=again,
    blank=_blank,
    ending="lorebook",
)
