"""A mikupad session, whose values are JSON texts: its world info. Fields: research/others.md, 3.5."""

from __future__ import annotations

import json
from dataclasses import replace

from marginalia.formats.base import BookFields, Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Target, checked
from marginalia.formats.coerce import Json, Object, is_object, obj, one_line, rows, text, texts, whole
from marginalia.formats.keys import as_key, regex_pattern
from marginalia.formats.losses import always_there, unsaid
from marginalia.lore.book import Entry, LoreSettings, Match, Scope, When

TITLE = "mikupad session"
RANGE = 2_048
_ANYTHING = "[^]"
_AS_IT_WAS = "worldInfo as it was"
_SETTINGS = LoreSettings(dialect="mikupad")


def value_of(session: Object, name: str) -> Json:
    """A value of a session, read from the JSON text that it is; ``None`` when there is none, or it is broken."""
    given = session.get(name)
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return None


def _opened(document: Json) -> Json:
    """The session with its world info opened, so that its entries can be put back."""
    session = obj(document)
    return {**session, "worldInfo": value_of(session, "worldInfo"), _AS_IT_WAS: session.get("worldInfo")}


def _closed(document: Json) -> Json:
    """The session as mikupad has it; a text that says the same stays letter for letter."""
    session = obj(document)
    before = session.pop(_AS_IT_WAS, None)
    if value_of({"": before}, "") == session.get("worldInfo"):
        return {**session, "worldInfo": before} if before is not None else session
    return {**session, "worldInfo": json.dumps(session.get("worldInfo"), ensure_ascii=False)}


def _read(document: Json, file: str) -> Shelf:
    session = obj(document)
    name = one_line(text(value_of(session, "name"))) or file or TITLE
    world = obj(session.get("worldInfo"))
    fields = BookFields(
        name=name,
        first_message="".join(text(obj(each).get("content")) for each in rows(value_of(session, "prompt"))),
        memory=text(obj(value_of(session, "memoryTokens")).get("text")),
        authors_note=text(obj(value_of(session, "authorNoteTokens")).get("text")),
    )
    return Shelf(
        format="mikupad",
        title=TITLE,
        volumes=[Volume(name=name, settings=_SETTINGS)],
        rows=[_row(place, raw) for place, raw in checked(world.get("entries") or [], TITLE)],
        document=document,
        book_fields=fields,
        story_too=bool(fields.first_message.strip()),
    )


def _row(place: Place, raw: Json) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    return Row(place=place, raw=raw, entry=entry, note=remarks.note(entry.name))


def _entry(raw: Object, remarks: Remarks) -> Entry:
    keys = tuple(regex_pattern(key, remarks, case=False) for key in texts(rows(raw.get("keys"))))
    characters = whole(raw.get("search"), RANGE) if text(raw.get("search")).strip() else RANGE
    never = characters <= 0 or not keys
    if never:
        why = "it has no keys" if not keys else "its search range is 0"
        remarks.inactive(f"{why}, so it is never called")
    names = (
        text(raw.get("displayName")),
        *(key.text for key in keys[:1]),
        text(raw.get("text"))[:60],
        "Entry",
    )
    entry = Entry(
        name=next(name for each in names if (name := one_line(each))),
        payload=text(raw.get("text")),
        match=Match(any=keys),
        when=When(never=never),
        scope=Scope(characters=max(0, characters)),
    )
    return replace(entry, note=remarks.text)


def _write(entry: Entry, _: Target) -> Written:
    losses = unsaid(entry, {"state", "always", "commas", "characters", "expressions", "wildcards"})
    off = not entry.enabled or entry.when.never
    sources = [*(() if entry.filter is None else (entry.filter,)), *entry.match.any]
    row: Object = {
        "displayName": entry.name,
        "text": entry.payload,
        "keys": [_ANYTHING] if always_there(entry) else [as_key(each, losses) for each in sources],
        "search": "0" if off else str(entry.scope.characters or RANGE),
    }
    return Written(row=row, losses=tuple(losses))


def _sees(document: Json) -> bool:
    session = obj(document)
    return "memoryTokens" in session and "prompt" in session


MIKUPAD = Codec(
    id="mikupad",
    title=TITLE,
    sees=_sees,
    read=_read,
    path=lambda _: ("worldInfo", "entries"),
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
    opened=_opened,
    closed=_closed,
)
