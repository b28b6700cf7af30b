"""Marginalia's own lorebook files: versions 1 and 2 of the Java original, and version 2 with what ours has beyond it.

::

    {"format": "marginalia-lorebook", "version": 2, "root": uuid, "lorebooks": [
        {"uuid", "name", "enabled", "tags": [], "subbooks": [uuid], "entries": [
            {"name", "payload", "comment", "enabled", "order", "filtering", "filteringMode": "TEXT" | "REGEX",
             "insertionMode": "IN_LORE_BLOCK" | "BEFORE_USER_PROMPT", "tags": [], "negativeTags": [],
             "marginalia": {"match", "scope", "when", "where", "budget", "insertion", "syntax"}}],
         "marginalia": {"description", "settings"}}]}

The two ``marginalia`` objects are only there when they have something to say, so that a file without them is what the
original reads and writes. Version 1 is one lorebook without ``root`` and ``lorebooks``. What is missing has the value
of a new entry; a lorebook may be below itself (spec/semantics.md, B1 104; research/others.md, 3.7).
"""

from __future__ import annotations

from dataclasses import replace

from marginalia.errors import FormatError
from marginalia.formats.base import Note, Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Target, checked
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    is_list,
    is_object,
    obj,
    one_line,
    rows,
    text,
    texts,
    whole,
)
from marginalia.formats.entries import built, extras, settings_of, with_extras
from marginalia.lore.book import Entry, Filter, Insertion, Lorebook, LoreSettings, RegexFilter, TextFilter
from marginalia.lore.filters import with_keys

FORMAT = "marginalia-lorebook"
TITLE = "Marginalia lorebook"
EXTRAS = "marginalia"
VERSION = 2
_BLOCK, _BEFORE = "IN_LORE_BLOCK", "BEFORE_USER_PROMPT"


def _sees(document: Json) -> bool:
    return obj(document).get("format") == FORMAT


def _read(document: Json, file: str) -> Shelf:
    file_ = obj(document)
    version = whole(file_.get("version"), 1 if "lorebooks" not in file_ else VERSION)
    if version > VERSION:
        raise FormatError(
            f"It is a {TITLE} of version {version}; version {VERSION} is the newest that can be read."
        )
    books = [file_] if "lorebooks" not in file_ else [obj(each) for each in rows(file_["lorebooks"])]
    root = 0 if "lorebooks" not in file_ else _root(file_, books)
    order = [root, *(at for at in range(len(books)) if at != root)]
    numbers = {text(books[at].get("uuid")): number for number, at in reversed(list(enumerate(order)))}
    notes: list[Note] = []
    volumes = [replace(_volume(books[at], file, numbers, notes), key=str(at)) for at in order]
    found = [row for number, at in enumerate(order) for row in _rows(books[at], number)]
    return Shelf(format=EXTRAS, title=TITLE, volumes=volumes, rows=found, document=document, notes=notes)


def _root(file: Object, books: list[Object]) -> int:
    wanted = file.get("root")
    found = next(
        (at for at, each in enumerate(books) if wanted is not None and each.get("uuid") == wanted), None
    )
    if found is None:
        raise FormatError(f"It is a {TITLE} whose first lorebook, {text(wanted, 'root')!r}, is not in it.")
    return found


def _volume(raw: Object, file: str, numbers: dict[str, int], notes: list[Note]) -> Volume:
    more = obj(raw.get(EXTRAS))
    name = one_line(text(raw.get("name"))) or file or "Lorebook"
    below = [text(each) for each in rows(raw.get("subbooks"))]
    missing = [each for each in below if each not in numbers]
    if missing:
        what = f"{len(missing)} lorebooks below it are not in the file"
        notes.append(Note(lorebook=name, remarks=(what,)))
    return Volume(
        name=name,
        uid=text(raw.get("uuid")),
        description=text(more.get("description")),
        enabled=flag(raw.get("enabled"), default=True),
        tags=texts(rows(raw.get("tags"))),
        subbooks=tuple(dict.fromkeys(numbers[each] for each in below if each in numbers)),
        settings=built(LoreSettings, obj(more.get("settings"))),
    )


def _rows(book: Object, number: int) -> list[Row]:
    return [_row(place, raw, number) for place, raw in checked(book.get("entries") or [], TITLE)]


def _row(place: Place, raw: Json, volume: int) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, volume=volume, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    return Row(place=place, raw=raw, entry=entry, volume=volume, note=remarks.note(entry.name))


def _entry(raw: Object, remarks: Remarks) -> Entry:
    names = (text(raw.get("name")), text(raw.get("filtering")), text(raw.get("payload"))[:60], "Entry")
    entry = Entry(
        name=next(name for each in names if (name := one_line(each, 1_000))),
        payload=text(raw.get("payload")),
        note=text(raw.get("comment")),
        enabled=flag(raw.get("enabled"), default=True),
        ordinal=whole(raw.get("order"), 100),
        filter=_filter(raw, remarks),
        insertion=_insertion(raw, remarks),
        tags=texts(rows(raw.get("tags"))),
        negative_tags=texts(rows(raw.get("negativeTags"))),
    )
    entry = with_extras(entry, obj(raw.get(EXTRAS)))
    keyed = with_keys(entry)
    if keyed is not entry:
        remarks.kept("its generated expression was turned back into keys")
    return keyed


def _filter(raw: Object, remarks: Remarks) -> Filter | None:
    given, mode = raw.get("filtering"), text(raw.get("filteringMode"), "TEXT").upper()
    if not isinstance(given, str):
        return None
    if mode not in {"TEXT", "REGEX"}:
        remarks.approximated(f"the filtering mode {mode} is not known; it is looked for as text")
    return RegexFilter(given) if mode == "REGEX" else TextFilter(given)


def _insertion(raw: Object, remarks: Remarks) -> Insertion:
    mode = text(raw.get("insertionMode"), _BLOCK).upper()
    if mode not in {_BLOCK, _BEFORE}:
        remarks.approximated(f"the insertion mode {mode} is not known; it goes into the lore block")
    return Insertion.BEFORE_USER_PROMPT if mode == _BEFORE else Insertion.LORE_BLOCK


def write_entry(entry: Entry, _target: Target | None = None) -> Written:
    """An entry as the original writes it, with what it cannot say in an object of its own."""
    in_block = entry.insertion in {Insertion.LORE_BLOCK, Insertion.SLOT}
    more = extras(entry)
    losses = tuple(f"the Java original does not know its {name}" for name in more)
    row: Object = {
        "name": entry.name,
        "payload": entry.payload,
        "comment": entry.note or None,
        "enabled": entry.enabled,
        "order": entry.ordinal,
        "filtering": _filtering(entry.filter),
        "filteringMode": "REGEX" if isinstance(entry.filter, RegexFilter) else "TEXT",
        "insertionMode": _BLOCK if in_block else _BEFORE,
        "tags": list(entry.tags),
        "negativeTags": list(entry.negative_tags),
    }
    return Written(row=row | {EXTRAS: more} if more else row, losses=losses)


def _filtering(filter_: Filter | None) -> str | None:
    return filter_.pattern if isinstance(filter_, RegexFilter) else None if filter_ is None else filter_.text


def head(lorebook: Lorebook) -> Object:
    """What a file says about a lorebook beside its entries and the lorebooks below it."""
    more: Object = {}
    if lorebook.description:
        more["description"] = lorebook.description
    if settings := settings_of(lorebook.settings):
        more["settings"] = settings
    if tests := lorebook.raw.get("lore_tests"):
        more["lore_tests"] = tests
    found: Object = {
        "uuid": lorebook.uid,
        "name": lorebook.name,
        "enabled": lorebook.enabled,
        "tags": list(lorebook.tags),
    }
    return found | {EXTRAS: more} if more else found


def again(raw: Object, _: Place = None) -> Entry:
    """The entry that a row was read as."""
    return _entry(raw, Remarks())


MARGINALIA = Codec(
    id=EXTRAS,
    title=TITLE,
    sees=_sees,
    read=_read,
    path=lambda document: ("lorebooks",) if is_list(obj(document).get("lorebooks")) else ("entries",),
    write=write_entry,
    again=again,
    head=head,
)
