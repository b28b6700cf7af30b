"""The world info of KoboldAI: in saves of version 1 (also Lite's) and 2, and as Lite exports it by itself.

Fields: research/others.md, 2.2 and 3.2. Values that begin with ``base64:`` are pickled Python objects; they are kept as
the texts that they are and never opened.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from marginalia.formats.base import BookFields, Note, Place, Remarks, Row, Shelf, Volume, Written
from marginalia.formats.codec import Codec, Path, Target, checked
from marginalia.formats.coerce import (
    Json,
    Object,
    flag,
    is_list,
    is_object,
    number,
    obj,
    one_line,
    pick,
    rows,
    text,
)
from marginalia.formats.keys import as_key, key_list
from marginalia.formats.losses import always_there, unsaid
from marginalia.lore.book import Entry, Lorebook, LoreSettings, Match, Pattern, When

TITLE = "KoboldAI world info"
SAVE_TITLE = "KoboldAI save"
CHANCE = 100.0
PICKLED = "base64:"
CHARACTERS_PER_PART = 1_000
PARTS = 50
"""Parts that are looked at where there the whole story was; more would cost time at every keystroke."""
_SETTINGS = LoreSettings(scan_parts=PARTS, dialect="koboldai")


def _read_list(document: Json, file: str) -> Shelf:
    folder = Volume(name=file or TITLE, settings=_SETTINGS)
    found = [_row(place, raw, {}) for place, raw in checked(document, TITLE)]
    return Shelf(format="koboldai_worldinfo", title=TITLE, volumes=[folder], rows=found, document=document)


def _read_save(document: Json, file: str) -> Shelf:
    save = obj(document)
    settings = _settings(save)
    name = one_line(text(save.get("story_name"))) or file or SAVE_TITLE
    folders = _folders(save)
    below = tuple(range(1, len(folders) + 1))
    volumes = [Volume(name=name, settings=settings, subbooks=below)]
    volumes += [Volume(name=name, key=key, settings=settings) for key, name in folders.items()]
    numbers = {each.key: at for at, each in enumerate(volumes) if each.key}
    path = _path(document)
    entries = (
        obj(obj(save.get("worldinfo_v2")).get("entries"))
        if path[0] == "worldinfo_v2"
        else save.get("worldinfo")
    )
    fields = BookFields(
        name=name,
        first_message=text(save.get("prompt")),
        memory=text(save.get("memory")),
        authors_note=text(pick(save, "authorsnote", "authornote")),
    )
    return Shelf(
        format="koboldai",
        title=SAVE_TITLE,
        volumes=volumes,
        rows=[_row(place, raw, numbers) for place, raw in checked(entries or [], SAVE_TITLE)],
        document=document,
        notes=_save_notes(save),
        book_fields=fields,
        story_too=True,
    )


def _settings(save: Object) -> LoreSettings:
    """Lite counts in characters how far it looks back; 0 is the whole story."""
    characters = number(save.get("wisearchdepth"), 0)
    parts = min(PARTS, ceil(characters / CHARACTERS_PER_PART)) if characters > 0 else PARTS
    return LoreSettings(scan_parts=parts, dialect="koboldai")


def _save_notes(save: Object) -> list[Note]:
    found: list[Note] = []
    pickled = _pickled(save)
    if pickled:
        what = f"{pickled} pickled Python values (base64:...) are kept as texts and never opened"
        found.append(_not_understood(what))
    if obj(save.get("biases")):
        found.append(_inactive("its phrase biases are kept and do nothing here"))
    return found


def _not_understood(line: str) -> Note:
    remarks = Remarks()
    remarks.unknown(line)
    return remarks.note("")


def _inactive(line: str) -> Note:
    remarks = Remarks()
    remarks.inactive(line)
    return remarks.note("")


def _pickled(value: Json) -> int:
    if isinstance(value, str):
        return int(value.startswith(PICKLED))
    if is_object(value):
        return sum(_pickled(each) for each in obj(value).values())
    return sum(_pickled(each) for each in rows(value))


def _folders(save: Object) -> dict[str, str]:
    """The folders' names by what entries call them: Lite's tabs and newer folders by name, older ones by number."""
    if _path(save)[0] == "worldinfo_v2":
        named = obj(obj(save.get("worldinfo_v2")).get("folders"))
        found = {name: name for name in named if name != "root"}
    else:
        numbered = obj(save.get("wifolders_d"))
        tabs = (text(obj(each).get("wigroup")) for each in rows(save.get("worldinfo")))
        found = {key: text(obj(each).get("name")) for key, each in numbered.items()} | {
            tab: tab for tab in tabs
        }
    return {one_line(key): one_line(name) or "Folder" for key, name in found.items() if one_line(key)}


def _row(place: Place, raw: Json, numbers: dict[str, int]) -> Row:
    remarks = Remarks()
    if not is_object(raw):
        remarks.unknown("is no entry and is kept as it is")
        return Row(place=place, raw=raw, note=remarks.note(f"row {place}"))
    entry = _entry(obj(raw), remarks)
    folder = one_line(text(obj(raw).get("wigroup"))) or one_line(text(obj(raw).get("folder")))
    return Row(
        place=place, raw=raw, entry=entry, volume=numbers.get(folder, 0), note=remarks.note(entry.name)
    )


def _entry(raw: Object, remarks: Remarks) -> Entry:
    keys = key_list(raw.get("key"))
    always = flag(raw.get("constant"))
    if not keys and not always:
        remarks.inactive("it has no keys and is not always on, so it is never called")
    selective = flag(raw.get("selective"))
    also, none = (key_list(raw.get(name)) if selective else () for name in ("keysecondary", "keyanti"))
    content = (
        text(raw.get("manual_text")) if not text(raw.get("content")).strip() else text(raw.get("content"))
    )
    chance = max(0.0, min(CHANCE, float(number(raw.get("probability"), CHANCE))))
    if chance < CHANCE:
        remarks.kept(f"chance {chance:g} %")
    if flag(raw.get("use_wpp")):
        remarks.approximated("written from W++ attributes there; here its text stands as it was")
    title, comment = text(raw.get("title")), text(raw.get("comment"))
    names = (title, comment if not title else "", *keys[:1], content[:60], "Entry")
    entry = Entry(
        name=next(name for each in names if (name := one_line(each))),
        payload=content,
        enabled=not flag(raw.get("widisabled")),
        match=Match(any=_patterns(keys), also=_patterns(also), none=_patterns(none)),
        when=When(always=always, never=not keys and not always, chance=chance),
    )
    return replace(entry, note=remarks.text)


def _patterns(keys: tuple[str, ...]) -> tuple[Pattern, ...]:
    return tuple(Pattern(text=key.strip()) for key in keys)


def _write(entry: Entry, target: Target) -> Written:
    match = entry.match
    losses = unsaid(entry, {"state", "always", "chance", "secondary keys"})
    if match.all or match.not_all:
        losses.append("keys that are all needed cannot be said there")
    of_v2 = "title" in target.raw or "uid" in target.raw
    keys = {
        "key": [
            as_key(each, losses) for each in (*(() if entry.filter is None else (entry.filter,)), *match.any)
        ],
        "keysecondary": [as_key(each, losses) for each in match.also],
        "keyanti": [as_key(each, losses) for each in match.none],
    }
    row: Object = {
        name: each if isinstance(target.raw.get(name), list) else ",".join(each)
        for name, each in keys.items()
    }
    if of_v2 and "keyanti" not in target.raw and not match.none:
        row.pop("keyanti")
    row |= {
        "content": entry.payload,
        "constant": always_there(entry),
        "selective": bool(match.also or match.none),
        ("title" if of_v2 else "comment"): entry.name,
    }
    if "manual_text" in target.raw:
        row["manual_text"] = entry.payload
    if not entry.enabled or "widisabled" in target.raw or target.fresh:
        row["widisabled"] = not entry.enabled
    if entry.when.chance < CHANCE or "probability" in target.raw or target.fresh:
        row["probability"] = round(entry.when.chance)
    if target.folder or "wigroup" in target.raw or target.fresh:
        numbered = "wigroup" not in target.raw and target.folder.isdigit()
        named = "folder" if of_v2 or numbered else "wigroup"
        row[named] = int(target.folder) if numbered else target.folder
    return Written(row=row, losses=tuple(losses))


def _path(document: Json) -> Path:
    v2 = obj(obj(document).get("worldinfo_v2")).get("entries")
    return ("worldinfo_v2", "entries") if v2 else ("worldinfo",)


def _sees_save(document: Json) -> bool:
    save = obj(document)
    if "memoryTokens" in save or "scenarioVersion" in save:
        return False
    signs = (
        "gamestarted",
        "authorsnote",
        "authornote",
        "actions",
        "actions_metadata",
        "worldinfo",
        "worldinfo_v2",
    )
    return "prompt" in save and sum(name in save for name in signs) > 1


def _sees_list(document: Json) -> bool:
    found = [obj(each) for each in rows(document)]
    return bool(found) and all(isinstance(each.get("key"), str) and "content" in each for each in found)


def _blank_list(_: Lorebook) -> Json:
    return []


KOBOLDAI = Codec(
    id="koboldai",
    title=SAVE_TITLE,
    sees=_sees_save,
    read=_read_save,
    path=_path,
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
)
KOBOLDAI_LIST = Codec(
    id="koboldai_worldinfo",
    title=TITLE,
    sees=lambda document: is_list(document) and _sees_list(document),
    read=_read_list,
    path=lambda _: (),
    write=_write,
    again=lambda raw, _: _entry(raw, Remarks()),
    blank=_blank_list,
)
