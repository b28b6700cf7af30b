"""Agnai's memory book: research/others.md, 2.4 and 3.4."""

from __future__ import annotations

from dataclasses import replace

from marginalia.formats.base import Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Target, checked
from marginalia.formats.coerce import Json, Object, flag, is_object, obj, one_line, text, whole
from marginalia.formats.keys import as_key, key_list
from marginalia.formats.losses import always_there, unsaid
from marginalia.lore.book import Entry, EntryBudget, Lorebook, LoreSettings, Match, Pattern, When

TITLE = "Agnai memory book"
_EVERYTHING = "*"


def _read(document: Json, file: str) -> Shelf:
    book = obj(document)
    remarks = Remarks()
    if whole(book.get("tokenBudget"), 0) > 0:
        remarks.kept("its token budget is kept; Agnai does not use it either")
    settings = LoreSettings(scan_parts=max(0, whole(book.get("scanDepth"), 0)), dialect="agnai")
    return Shelf(
        format="agnai",
        title=TITLE,
        volumes=[
            Volume(
                name=one_line(text(book.get("name"))) or file or "Memory book",
                description=text(book.get("description")),
                settings=settings,
            )
        ],
        rows=[_row(place, raw) for place, raw in checked(book.get("entries") or [], TITLE)],
        document=document,
        notes=(remarks.note(""),) if remarks.lines else (),
    )


def _row(place: Place, raw: Json) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    return Row(place=place, raw=raw, entry=entry, note=remarks.note(entry.name))


def _entry(raw: Object, remarks: Remarks) -> Entry:
    keys = tuple(key.strip() for key in key_list(raw.get("keywords")))
    always = _EVERYTHING in keys
    if always:
        remarks.kept("the keyword * fits every text, so it is always there")
    elif not keys:
        remarks.inactive("it has no keywords, so it is never called")
    names = (text(raw.get("name")), *keys[:1], text(raw.get("entry"))[:60], "Entry")
    entry = Entry(
        name=next(name for each in names if (name := one_line(each))),
        payload=text(raw.get("entry")),
        enabled=flag(raw.get("enabled"), default=True),
        ordinal=whole(raw.get("weight"), 0),
        match=Match(any=tuple(_pattern(key) for key in keys)),
        when=When(always=always, never=not keys),
        budget=EntryBudget(priority=whole(raw.get("priority"), 0)),
    )
    return replace(entry, note=remarks.text)


def _pattern(key: str) -> Pattern:
    return Pattern(text=key, kind="wildcard" if "*" in key or "?" in key else "plain", whole_word=True)


def _write(entry: Entry, target: Target) -> Written:
    losses = unsaid(entry, {"state", "always", "commas", "order", "priority", "wildcards", "whole words"})
    sources = [*(() if entry.filter is None else (entry.filter,)), *entry.match.any]
    keywords = [
        each.text if isinstance(each, Pattern) and each.kind == "wildcard" else as_key(each, losses)
        for each in sources
    ]
    if always_there(entry) and _EVERYTHING not in keywords:
        keywords.append(_EVERYTHING)
    row: Object = {
        "name": entry.name,
        "entry": entry.payload,
        "keywords": keywords,
        "priority": entry.budget.priority,
        "weight": entry.ordinal,
        "enabled": entry.enabled,
    }
    if isinstance(target.raw.get("keywords"), str):
        row["keywords"] = ", ".join(keywords)
    return Written(row=row, losses=tuple(losses))


def _head(lorebook: Lorebook) -> Object:
    return {"name": lorebook.name, "description": lorebook.description}


AGNAI = Codec(
    id="agnai",
    title=TITLE,
    sees=lambda document: obj(document).get("kind") == "memory",
    read=_read,
    path=lambda _: ("entries",),
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
    head=_head,
    blank=lambda lorebook: {"kind": "memory", **_head(lorebook), "entries": []},
)
