"""RisuAI's lorebook with folders and decorators: research/others.md, 2.3 and 3.3.

Folders become lorebooks below the first one. The format has no way to switch an entry off, so one that is off is
written with ``@@dont_activate``.
"""

from __future__ import annotations

from dataclasses import replace

from marginalia.formats.base import Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Target, checked
from marginalia.formats.coerce import Json, Object, flag, is_object, number, obj, one_line, text, whole
from marginalia.formats.decorators import decorated, known, lines_of, parse, said, split
from marginalia.formats.keys import as_key, is_expression, one_expression, regex_pattern, split_keys
from marginalia.formats.losses import Feature, always_there, unsaid
from marginalia.lore.book import Entry, Insertion, LoreSettings, Match, Pattern, When

TITLE = "RisuAI lorebook"
CHANCE = 100.0
SCAN_DEPTH = 5
_SAID: frozenset[Feature] = frozenset(
    {
        "state",
        "always",
        "expressions",
        "wildcards",
        "order",
        "secondary keys",
        "after",
        "every",
        "chance",
        "parts",
        "priority",
        "before the prompt",
        "depth",
    }
)
_SETTINGS = LoreSettings(scan_parts=SCAN_DEPTH, recursive=True, dialect="risuai")


def _read(document: Json, file: str) -> Shelf:
    found = checked(obj(document).get("data"), TITLE)
    folders = [obj(raw) for _, raw in found if obj(raw).get("mode") == "folder"]
    below = tuple(range(1, len(folders) + 1))
    volumes = [Volume(name=file or TITLE, settings=_SETTINGS, subbooks=below)]
    volumes += [
        Volume(
            name=one_line(text(each.get("comment"))) or "Folder",
            key=text(each.get("key")),
            settings=_SETTINGS,
        )
        for each in folders
    ]
    numbers = {each.key: at for at, each in enumerate(volumes) if each.key}
    rows_ = [_row(place, raw, numbers) for place, raw in found]
    return Shelf(format="risuai", title=TITLE, volumes=volumes, rows=rows_, document=document)


def _row(place: Place, raw: Json, numbers: dict[str, int]) -> Row:
    remarks = Remarks()
    mode = text(obj(raw).get("mode"))
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
    elif mode == "folder":
        remarks.kept("is a folder: a lorebook below this one")
    elif mode == "child":
        remarks.inactive("is the place of an entry that stands elsewhere, and is kept as it is")
    else:
        entry = _entry(obj(raw), remarks)
        volume = numbers.get(text(obj(raw).get("folder")), 0)
        return Row(place=place, raw=raw, entry=entry, volume=volume, note=remarks.note(entry.name))
    return Row(
        place=place, raw=raw, note=remarks.note(one_line(text(obj(raw).get("comment"))) or f"row {place}")
    )


def _entry(raw: Object, remarks: Remarks) -> Entry:
    head, payload = split(text(raw.get("content")))
    any_, also = _keys(raw, remarks)
    always = flag(raw.get("alwaysActive")) or raw.get("mode") == "constant"
    if not any_ and not always:
        remarks.inactive("it has no keys and is not always on, so it is never called")
    chance = max(0.0, min(CHANCE, float(number(raw.get("activationPercent"), CHANCE))))
    if chance < CHANCE:
        remarks.kept(f"chance {chance:g} %")
    names = (text(raw.get("comment")), *split_keys(text(raw.get("key")))[:1], payload[:60], "Entry")
    entry = Entry(
        name=next(name for each in names if (name := one_line(each))),
        payload=payload,
        ordinal=whole(raw.get("insertorder"), 100),
        match=Match(any=any_, also=also),
        when=When(always=always, never=not any_ and not always, chance=chance),
    )
    entry = decorated(entry, parse(head), remarks)
    return replace(entry, note=remarks.text)


def _keys(raw: Object, remarks: Remarks) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
    case = flag(obj(raw.get("extentions")).get("risu_case_sensitive"))
    first, second = text(raw.get("key")), text(raw.get("secondkey"))
    any_: tuple[Pattern, ...]
    also: tuple[Pattern, ...]
    if flag(raw.get("useRegex")):
        any_ = (regex_pattern(first.strip(), remarks, case=case),) if first.strip() else ()
        also = (regex_pattern(second.strip(), remarks, case=case),) if second.strip() else ()
    else:
        any_ = tuple(Pattern(text=key, case=case) for key in split_keys(first))
        also = tuple(Pattern(text=key, case=case) for key in split_keys(second))
    return any_, also if flag(raw.get("selective")) else ()


def _write(entry: Entry, target: Target) -> Written:
    losses = unsaid(entry, _SAID)
    match = entry.match
    sources = [*(() if entry.filter is None else (entry.filter,)), *match.any]
    expressions = any(map(is_expression, (*sources, *match.also)))
    if expressions:
        key, second = one_expression(sources, losses), one_expression(match.also, losses)
    else:
        key, second = (",".join(as_key(each, losses) for each in keys) for keys in (sources, match.also))
    row: Object = {
        "key": key,
        "secondkey": second,
        "comment": entry.name,
        "content": _head_of(entry, target.raw) + entry.payload,
        "insertorder": entry.ordinal,
        "alwaysActive": always_there(entry),
        "selective": bool(second),
        "useRegex": expressions,
        "activationPercent": entry.when.chance,
    }
    if target.folder or "folder" in target.raw:
        row["folder"] = target.folder
    if target.fresh:
        row |= {"mode": "normal", "bookVersion": 2}
        if entry.when.chance == CHANCE:
            row.pop("activationPercent")
    return Written(row=row, losses=tuple(losses))


def _head_of(entry: Entry, raw: Object) -> str:
    kept = split(text(raw.get("content")))[0]
    before = _entry(raw, Remarks())
    if _decorable(before) == _decorable(entry):
        return kept
    foreign = [line for each in parse(kept) if not known(each.name) for line in lines_of(each)]
    own = said(replace(entry, match=replace(entry.match, any=())))
    if entry.insertion is Insertion.DEPTH:
        own += [f"@@depth {entry.where.depth}", f"@@role {entry.where.role}"]
    if entry.insertion is Insertion.BEFORE_USER_PROMPT:
        own.append("@@end")
    if not entry.scope.calls_others:
        own.append("@@unrecursive")
    if entry.scope.parts:
        own.append(f"@@scan_depth {entry.scope.parts}")
    if entry.budget.priority:
        own.append(f"@@priority {entry.budget.priority}")
    if not entry.match.also:
        own += _first_kind(entry)
    if not entry.enabled or (entry.when.never and entry.match.any):
        own.append("@@dont_activate")
    return "".join(f"{line}\n" for line in (*own, *foreign))


def _first_kind(entry: Entry) -> list[str]:
    """The one kind of secondary keys that other formats have a field for, and this one has not."""
    match = entry.match
    if match.not_all:
        return [f"@@exclude_keys_all {','.join(key.text for key in match.not_all)}"]
    if match.none:
        return [f"@@exclude_keys {','.join(key.text for key in match.none)}"]
    return [f"@@additional_keys {key.text}" for key in match.all]


def _decorable(entry: Entry) -> tuple[object, ...]:
    return entry.enabled, entry.when, entry.match, entry.where, entry.insertion, entry.scope, entry.budget


RISUAI = Codec(
    id="risuai",
    title=TITLE,
    sees=lambda document: obj(document).get("type") == "risu",
    read=_read,
    path=lambda _: ("data",),
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
    blank=lambda _: {"type": "risu", "ver": 1, "data": []},
)
