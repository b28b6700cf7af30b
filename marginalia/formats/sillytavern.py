"""SillyTavern's world info, and what its relatives make of it.

``{"entries": {"0": {...}}, "name"?}``: research/sillytavern.md, 4.1. What has to be survived is in
research/templates.md, 4.1.
"""

from __future__ import annotations

from dataclasses import replace

from marginalia.formats.base import Note, Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Path, Target, checked
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    is_list,
    is_object,
    obj,
    one_line,
    pick,
    rows,
    text,
    whole,
)
from marginalia.formats.losses import TAVERN, unsaid
from marginalia.formats.tavern import MESSAGES, Habits, read_entry
from marginalia.formats.tavern_out import NEW_ENTRY, tavern_fields
from marginalia.formats.tavern_shape import fields_of, of_card, row_of
from marginalia.lore.book import Entry, Lorebook, LoreSettings

TITLE = "SillyTavern world info"
_NO_UID = (1, 0.0)
_SIGNS = frozenset(
    {
        "key",
        "keys",
        "keywords",
        "triggers",
        "content",
        "entry",
        "comment",
        "uid",
        "keysecondary",
        "order",
        "insertion_order",
        "strategy",
    }
)


def read(document: Json, file: str) -> Shelf:
    """The lorebook in a world info file."""
    world = obj(document)
    placed = checked(document if is_list(document) else world.get("entries"), TITLE)
    found = [_row(place, raw) for place, raw in placed]
    order = sorted(range(len(found)), key=lambda at: _uid(placed[at][1], placed[at][0]))
    name = one_line(text(pick(world, "name"))) or file or "World info"
    notes = (
        ()
        if "originalData" not in world
        else (Note(remarks=("the second copy of the lorebook in originalData is kept and not taken twice",)),)
    )
    volume = Volume(
        name=name,
        description=text(world.get("description")),
        enabled=flag(world.get("enabled"), default=True),
        settings=_settings(world),
    )
    return Shelf(
        format="sillytavern",
        title=TITLE,
        volumes=[volume],
        rows=_created_in(found, order),
        document=document,
        notes=notes,
    )


def _created_in(found: list[Row], order: list[int]) -> list[Row]:
    """The rows in the order of their uids, which is the order of creation (spec/semantics.md, B1 103)."""
    return [found[at] for at in order]


def _settings(world: Object) -> LoreSettings:
    depth = pick(world, "scanDepth", "scan_depth")
    return LoreSettings(
        scan_parts=max(0, whole(depth, MESSAGES)),
        token_budget=max(0, whole(pick(world, "tokenBudget", "token_budget"), 0)),
        recursive=flag(pick(world, "recursiveScanning", "recursive_scanning")),
        dialect="sillytavern",
    )


def _uid(raw: Json, place: Place) -> tuple[int, float]:
    given = obj(raw).get("uid")
    number = whole(place if given is None else given, -1)
    return (0, number) if number >= 0 else _NO_UID


def _row(place: Place, raw: Json) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), place, remarks)
    return Row(place=place, raw=raw, entry=entry, note=remarks.note(entry.name))


def _entry(raw: Object, place: Place, remarks: Remarks) -> Entry:
    fields = fields_of(raw)
    fields.setdefault("uid", place)
    if isinstance(place, str) and not place.isdigit() and "key" not in raw:
        fields.setdefault("comment", place)
    habits = Habits(selective=not of_card(raw), keyless_fires="constant" not in raw)
    entry = read_entry(fields, remarks, habits)
    return replace(entry, note=remarks.text)


def _again(raw: Object, place: Place) -> Entry:
    return _entry(raw, place, Remarks())


def _write(entry: Entry, target: Target) -> Written:
    fields, of_keys = tavern_fields(entry)
    losses = (*of_keys, *unsaid(entry, TAVERN))
    if target.fresh:
        number = whole(target.place, 0)
        return Written(row={"uid": number, **NEW_ENTRY, **fields, "displayIndex": number}, losses=losses)
    return Written(row=row_of(fields, target.raw, card=of_card(target.raw)), losses=losses)


def _path(document: Json) -> Path:
    return () if is_list(document) else ("entries",)


def _blank(lorebook: Lorebook) -> Json:
    return {"entries": {}, "name": lorebook.name}


def _head(lorebook: Lorebook) -> Object:
    return {"name": lorebook.name}


def _sees(document: Json) -> bool:
    entries = document if is_list(document) else obj(document).get("entries")
    if is_object(entries):
        values = list(obj(entries).values())
        return not values or any(_is_entry(each) for each in values)
    return any(_is_entry(each) for each in rows(entries)) or (
        is_object(document) and is_list(entries) and not entries
    )


def _is_entry(value: Json) -> bool:
    return len(_SIGNS & obj(value).keys()) > 1 or (is_object(value) and not obj(value)) or "uid" in obj(value)


SILLYTAVERN = Codec(
    id="sillytavern",
    title=TITLE,
    sees=_sees,
    read=read,
    path=_path,
    write=_write,
    again=_again,
    head=_head,
    blank=_blank,
)
