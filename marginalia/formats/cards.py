"""Character cards of version 1 to 3: their lorebook, and what they say about a story as fields for a book."""

from __future__ import annotations

from marginalia.formats.base import BookFields, Note, Shelf
from marginalia.formats.books import again, blank_book, head, read_rows, volume, write_row
from marginalia.formats.codec import Codec, Path
from marginalia.formats.coerce import Json, Object, is_object, obj, one_line, pick, rows, text, texts
from marginalia.lore.book import Lorebook

_V1 = (
    "description",
    "personality",
    "scenario",
    "first_mes",
    "firstMessage",
    "mes_example",
    "exampleDialogue",
)
_TITLES = {"chara_card_v2": "character card, version 2", "chara_card_v3": "character card, version 3"}
_NOT_LORE = (
    ("system_prompt", "its system prompt"),
    ("post_history_instructions", "its post-history instructions"),
    ("mes_example", "its example messages"),
    ("assets", "its pictures and other assets"),
)


def _data(document: Json) -> Object:
    card = obj(document)
    return obj(card["data"]) if is_object(card.get("data")) else card


def _sees(document: Json) -> bool:
    card, data = obj(document), _data(document)
    if text(card.get("spec")) in _TITLES:
        return True
    if text(card.get("spec")).startswith("lorebook"):
        return False
    if data is not card:
        return "name" in data and sum(name in data for name in (*_V1, "character_book")) >= 1
    return (
        "name" in card and "entries" not in card and sum(isinstance(card.get(name), str) for name in _V1) > 1
    )


def _read(document: Json, file: str) -> Shelf:
    card, data = obj(document), _data(document)
    name = one_line(text(data.get("name"))) or file or "Character"
    book = obj(data.get("character_book"))
    remarks: list[str] = []
    if not book:
        remarks.append("the card has no lorebook; the new lorebook is empty and keeps the card")
    if not text(data.get("name")).strip():
        remarks.append("the card has no name; the file's is used")
    if text(card.get("spec")) not in _TITLES:
        remarks.append("the card does not say its version")
    remarks += [f"{what} are kept with the lorebook" for key, what in _NOT_LORE if data.get(key)]
    entries = book.get("entries")
    return Shelf(
        format="card",
        title=_TITLES.get(text(card.get("spec")), "character card"),
        volumes=[volume(book, name)],
        rows=read_rows(entries) if entries is not None else (),
        document=document,
        notes=(Note(remarks=tuple(remarks)),) if remarks else (),
        book_fields=book_fields(data),
    )


def book_fields(data: Object) -> BookFields:
    """What the card's own fields say about a story."""
    return BookFields(
        name=one_line(text(data.get("name"))),
        description=text(data.get("description")),
        scenario=text(data.get("scenario")),
        first_message=text(pick(data, "first_mes", "firstMessage")),
        greetings=texts(rows(pick(data, "alternate_greetings", "alternateGreetings"))),
        instructions=text(pick(data, "system_prompt", "systemPrompt")),
    )


def _path(document: Json) -> Path:
    inside = ("character_book", "entries")
    return ("data", *inside) if is_object(obj(document).get("data")) else inside


def _blank(lorebook: Lorebook) -> Json:
    data: Object = {
        "name": lorebook.name,
        "description": lorebook.description,
        "personality": "",
        "scenario": "",
        "first_mes": "",
        "mes_example": "",
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "group_only_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "",
        "extensions": {},
        "character_book": blank_book(lorebook),
    }
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


CARD = Codec(
    id="card",
    title="character card",
    sees=_sees,
    read=_read,
    path=_path,
    write=write_row,
    again=again,
    head=lambda lorebook: {"data": {"character_book": head(lorebook)}},
    blank=_blank,
)
