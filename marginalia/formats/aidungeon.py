"""AI Dungeon's story cards, and the world info of its older files: research/others.md, 3.6.

A blank at the edge of a trigger counts, so nothing is trimmed. The older files of its script writers have one regular
expression where others have triggers, with switches of their scripts behind it (``#[t=5]``).
"""

from __future__ import annotations

from dataclasses import replace

import regex

from marginalia.formats.base import Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Path, Target, checked
from marginalia.formats.coerce import Json, Object, is_list, is_object, obj, one_line, rows, text, texts
from marginalia.formats.expressions import from_javascript
from marginalia.formats.keys import as_key
from marginalia.formats.losses import unsaid
from marginalia.lore.book import Entry, Lorebook, LoreSettings, Match, Pattern, When

TITLE = "AI Dungeon story cards"
_SETTINGS = LoreSettings(scan_parts=2, dialect="aidungeon")
_SWITCHES = regex.compile(r"#?\[(?:[a-zA-Z]=?[\d.]*)*\]\s*\Z|#\S*\Z")
_SIGNS = regex.compile(r"#\[|[|()*+?\\\[\]]")


def _read(document: Json, file: str) -> Shelf:
    path = _path(document)
    entries = document if not path else obj(document)[path[0]]
    return Shelf(
        format="aidungeon",
        title=TITLE,
        volumes=[Volume(name=file or TITLE, settings=_SETTINGS)],
        rows=[_row(place, raw) for place, raw in checked(entries, TITLE)],
        document=document,
    )


def _row(place: Place, raw: Json) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    return Row(place=place, raw=raw, entry=entry, note=remarks.note(entry.name))


def _entry(raw: Object, remarks: Remarks) -> Entry:
    patterns = _keys(raw.get("keys"), remarks)
    if not patterns:
        remarks.inactive("it has no triggers, so it is never called")
    content = text(raw.get("value")) if "value" in raw else text(raw.get("entry"))
    first = patterns[0].text if patterns else ""
    names = (
        text(raw.get("title")),
        text(raw.get("id")) if "value" not in raw else "",
        first,
        content[:60],
        "Card",
    )
    entry = Entry(
        name=next(name for each in names if (name := one_line(each))),
        payload=content,
        match=Match(any=patterns),
        when=When(never=not patterns),
    )
    return replace(entry, note=remarks.text)


def _keys(value: Json, remarks: Remarks) -> tuple[Pattern, ...]:
    if is_list(value):
        return tuple(Pattern(text=key) for key in texts(rows(value)))
    joined = text(value)
    if _SIGNS.search(joined):
        return _expression(joined, remarks)
    return tuple(Pattern(text=key) for key in _triggers(joined))


def _triggers(joined: str) -> list[str]:
    # What follows a comma is written with a blank by habit; a blank at the very front is part of the trigger.
    first, *others = joined.split(",")
    return [key for key in (first, *(each.removeprefix(" ") for each in others)) if key.strip()]


def _expression(joined: str, remarks: Remarks) -> tuple[Pattern, ...]:
    bare = _SWITCHES.sub("", joined)
    if bare != joined:
        remarks.unknown(f"the switches {joined[len(bare) :].strip()} of a script are not known here")
    if not bare.strip():
        return ()
    source = from_javascript(bare, "s")
    if source is None:
        remarks.approximated(f"the key {bare} is no valid regular expression and is looked for as plain text")
        return (Pattern(text=bare),)
    return (Pattern(text=source, kind="regex"),)


def _write(entry: Entry, target: Target) -> Written:
    losses = unsaid(entry, {"edges of keys"})
    sources = [*(() if entry.filter is None else (entry.filter,)), *entry.match.any]
    keys = [each.text if isinstance(each, Pattern) else as_key(each, losses) for each in sources]
    content = "entry" if "entry" in target.raw and "value" not in target.raw else "value"
    row: Object = {
        "keys": keys if is_list(target.raw.get("keys")) else ",".join(keys),
        content: entry.payload,
    }
    if target.fresh:
        row |= {"type": "", "description": "", "useForCharacterCreation": False}
    if "title" in target.raw or target.fresh:
        row["title"] = entry.name
    return Written(row=row, losses=tuple(losses))


def _path(document: Json) -> Path:
    if is_list(document):
        return ()
    return next(((name,) for name in ("worldInfo", "worldInfos", "storyCards") if name in obj(document)), ())


def _sees(document: Json) -> bool:
    path = _path(document)
    if not path and not is_list(document):
        return False
    found = rows(obj(document)[path[0]] if path else document)
    return bool(found) and all(
        "keys" in obj(each) and ("value" in obj(each) or "entry" in obj(each)) for each in found
    )


def _blank(_: Lorebook) -> Json:
    return []


AI_DUNGEON = Codec(
    id="aidungeon",
    title=TITLE,
    sees=_sees,
    read=_read,
    path=_path,
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
    blank=_blank,
)
