"""The lorebook of a character card: of version 2 and 3, inside of a card, by itself, or as ``lorebook_v3``.

Fields: research/sillytavern.md, 4.2 and research/others.md, 3.9.
"""

from __future__ import annotations

from dataclasses import replace

from marginalia.formats.base import Place, Remarks, Row, Shelf, Volume, Written
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
from marginalia.formats.decorators import DROPPED_FIRST, decorated, known, lines_of, parse, said, split
from marginalia.formats.keys import is_expression
from marginalia.formats.losses import TAVERN, Feature, unsaid
from marginalia.formats.tavern import MESSAGES, Habits, read_entry
from marginalia.formats.tavern_out import tavern_fields
from marginalia.formats.tavern_shape import fields_of, of_card, row_of
from marginalia.lore.book import Entry, Lorebook, LoreSettings

BOOK_TITLE = "the lorebook of a character card"
_TAVERN_SIGNS = frozenset(
    {"selectiveLogic", "display_index", "exclude_recursion", "useProbability", "position"}
)


def volume(book: Object, name: str) -> Volume:
    """The lorebook with its own settings; *name* is for one that has none."""
    return Volume(
        name=one_line(text(book.get("name"))) or name or "Lorebook",
        description=text(book.get("description")),
        enabled=flag(book.get("enabled"), default=True),
        settings=LoreSettings(
            scan_parts=max(0, whole(pick(book, "scan_depth", "scanDepth"), MESSAGES)),
            token_budget=max(0, whole(pick(book, "token_budget", "tokenBudget"), 0)),
            recursive=flag(pick(book, "recursive_scanning", "recursiveScanning")),
            dialect="character_card",
        ),
    )


def read_rows(entries: Json) -> list[Row]:
    """The entries of a character book."""
    return [_row(place, raw) for place, raw in checked(entries, BOOK_TITLE)]


def _row(place: Place, raw: Json) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = read_row(obj(raw), remarks)
    return Row(place=place, raw=raw, entry=entry, note=remarks.note(entry.name))


def read_row(raw: Object, remarks: Remarks) -> Entry:
    """One entry of a character book, its decorators in effect and out of its text."""
    fields = fields_of(raw)
    fields.setdefault("uid", raw.get("id"))
    head, payload = split(text(fields.get("content")))
    expressions = fields.get("use_regex")
    habits = Habits(
        selective=not of_card(raw),
        expressions=None if expressions is None or _by_sillytavern(raw) else flag(expressions),
        keyless_fires="constant" not in raw,
    )
    entry = read_entry(fields | {"content": payload}, remarks, habits)
    priority = whole(raw.get("priority"), 0)
    if priority:
        entry = replace(entry, budget=replace(entry.budget, priority=priority))
    entry = decorated(entry, parse(head), remarks)
    return replace(entry, note=remarks.text)


def _by_sillytavern(raw: Object) -> bool:
    """SillyTavern writes that all keys are expressions, whatever they are, and goes by the slashes itself."""
    return bool(_TAVERN_SIGNS & obj(raw.get("extensions")).keys())


def write_row(entry: Entry, target: Target) -> Written:
    """An entry of ours as one of a character book."""
    fields, losses = tavern_fields(entry)
    fields["content"] = _head_of(entry, target.raw) + entry.payload
    fields["selective"] = bool(fields["keysecondary"])
    row = row_of(fields, target.raw, card=True)
    if target.fresh:
        row |= {"id": whole(target.place, 0), "name": entry.name}
    if target.fresh or "use_regex" in target.raw:
        keys = (*(() if entry.filter is None else (entry.filter,)), *entry.match.any, *entry.match.also)
        row["use_regex"] = any(map(is_expression, keys))
    if entry.budget.priority not in {0, DROPPED_FIRST} or "priority" in target.raw:
        row["priority"] = entry.budget.priority
    of_keys = tuple(each for each in losses if not each.startswith("its secondary keys have more"))
    return Written(row=row, losses=(*of_keys, *unsaid(entry, _SAID)))


_SAID: frozenset[Feature] = TAVERN | frozenset[Feature](("every", "priority"))


def _head_of(entry: Entry, raw: Object) -> str:
    """The decorator lines: those of the original as long as nothing that they say was edited."""
    kept = split(text(fields_of(raw).get("content")))[0]
    if kept:
        before = read_row(raw, Remarks())
        if _decorable(before) == _decorable(entry):
            return kept
    foreign = [line for each in parse(kept) if not known(each.name) for line in lines_of(each)]
    return "".join(f"{line}\n" for line in (*said(entry), *foreign))


def _decorable(entry: Entry) -> tuple[object, ...]:
    return entry.when, entry.match, entry.where, entry.insertion, entry.scope, entry.budget


def again(raw: Object, _: Place) -> Entry:
    """The entry that a row was read as."""
    return read_row(raw, Remarks())


def head(lorebook: Lorebook) -> Object:
    """What a lorebook says about itself in a card."""
    settings = lorebook.settings
    return {
        "name": lorebook.name,
        "description": lorebook.description,
        "scan_depth": settings.scan_parts,
        "token_budget": settings.token_budget,
        "recursive_scanning": settings.recursive,
    }


def blank_book(lorebook: Lorebook) -> Object:
    """A lorebook without entries."""
    return {**head(lorebook), "extensions": {}, "entries": []}


def _read_bare(document: Json, file: str) -> Shelf:
    book = obj(document)
    entries = document if is_list(document) else book.get("entries")
    return Shelf(
        format="character_book",
        title=BOOK_TITLE,
        volumes=[volume(book, file)],
        rows=read_rows(entries),
        document=document,
    )


def _sees_bare(document: Json) -> bool:
    entries = rows(document if is_list(document) else obj(document).get("entries"))
    return any("keys" in obj(each) and "content" in obj(each) for each in entries)


def _read_v3(document: Json, file: str) -> Shelf:
    book = obj(obj(document).get("data"))
    return Shelf(
        format="lorebook_v3",
        title="lorebook of the card specification, version 3",
        volumes=[volume(book, file)],
        rows=read_rows(book.get("entries")),
        document=document,
    )


def _bare_path(document: Json) -> Path:
    return () if is_list(document) else ("entries",)


BARE_BOOK = Codec(
    id="character_book",
    title=BOOK_TITLE,
    sees=_sees_bare,
    read=_read_bare,
    path=_bare_path,
    write=write_row,
    again=again,
    head=head,
    blank=blank_book,
)
LOREBOOK_V3 = Codec(
    id="lorebook_v3",
    title="lorebook of the card specification, version 3",
    sees=lambda document: obj(document).get("spec") == "lorebook_v3",
    read=_read_v3,
    path=lambda _: ("data", "entries"),
    write=write_row,
    again=again,
    head=lambda lorebook: {"data": head(lorebook)},
    blank=lambda lorebook: {"spec": "lorebook_v3", "data": blank_book(lorebook)},
)
