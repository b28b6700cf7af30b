"""Copies of a book: backups, and the exported story."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import marginalia as mg
from tests.conformance import observing
from tests.conformance.recorder import failure
from tests.conformance.seen import MISSING
from tests.conformance.world import NotBuiltYetError, World, needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from marginalia.values import BookId
    from tests.conformance.case import Json
    from tests.conformance.observing import Observers

_NOBODY = 987_654_321


async def take_backup(world: World, op: Json) -> Observers:
    """Copy a book out of the studio; the labels of its parts go with it."""
    book = world.book_named(op.get("book"))
    raw: bytes = needed(world.studio.books, "backup")(book)
    world.made[f"backup {op['as']}"] = raw
    world.made[f"labels {op['as']}"] = [world.label(part.id) for part in world.studio.story.parts(book)]
    found: dict[str, Callable[[], Any]] = {"bytes": lambda: len(raw), "text": lambda: _text(raw)}
    return observing.state_observers(world) | found


async def apply_backup(world: World, op: Json) -> Observers:
    """Put a backup in the place of a book's story, or of all of it."""
    book = world.book_named(op.get("book"))
    others = {each.id: _whole(world, each) for each in world.studio.books.all() if each.id != book.id}
    raw = world.made[f"backup {op['backup']}"]
    if op.get("edit"):
        raw = _edited(raw, op["edit"], world.made[f"labels {op['backup']}"])
    error: Exception | None = None
    try:
        needed(world.studio.books, "restore")(book, raw, story_only=op.get("messages_only", False))
        _relabel(world, book.id, op["backup"])
    except mg.MarginaliaError as caught:
        error = caught
    changed = [
        known for known, whole in others.items() if _whole(world, world.studio.books.get(known)) != whole
    ]
    found: dict[str, Callable[[], Any]] = {
        "other_book_unchanged": lambda: f"changed: {changed}" if changed else world.book.name,
        "error": lambda: failure(str(error), error) if error else MISSING,
    }
    return observing.state_observers(world, book.id) | found


async def clone_backup(world: World, op: Json) -> Observers:
    """Make a new book of a backup."""
    made = needed(world.studio.books, "clone")(world.made[f"backup {op['backup']}"], name=op["name"])
    world.books[op["name"]] = made.id
    return observing.state_observers(world, made.id)


def _whole(world: World, book: mg.Book) -> tuple[mg.Book, tuple[mg.Part, ...]]:
    return book, world.studio.story.parts(book)


def _relabel(world: World, book_id: BookId, backup: str) -> None:
    """The labels go to the parts that stand in the restored ones' places, in the order of creation."""
    parts = world.studio.story.parts(book_id)
    labels = world.made[f"labels {backup}"]
    world.parts.update({label: part.id for label, part in zip(labels, parts, strict=False) if label})


def _members(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _text(raw: bytes) -> str:
    return "\n".join(content.decode(errors="replace") for content in _members(raw).values())


def _edited(raw: bytes, edit: Json, labels: list[str | None]) -> bytes:
    """A backup as somebody's hand or another program changed it: a zip of JSON, with a fingerprint of each member."""
    members = _members(raw)
    parts = [json.loads(line) for line in members["parts.jsonl"].splitlines()]
    live = [part for part in parts if part.get("deleted") is None]
    heads = json.loads(members["book.json"])
    for what, value in edit.items():
        if what == "parent_of":
            live[labels.index(value[0])]["parent"] = _number(live, labels, value[1])
        elif what == "active_leaf":
            heads["book"]["active_part"] = _number(live, labels, value)
        else:
            message = f"an edit of a backup: {what}"
            raise NotBuiltYetError(message)
    members["parts.jsonl"] = b"\n".join(json.dumps(part).encode() for part in parts)
    members["book.json"] = json.dumps(heads).encode()
    return _packed(members)


def _number(live: list[dict[str, Any]], labels: list[str | None], label: str | None) -> int | None:
    """The number of a part inside the backup; a label that nobody has gets one that nobody has."""
    if label is None:
        return None
    return int(live[labels.index(label)]["id"]) if label in labels else _NOBODY


def _packed(members: dict[str, bytes]) -> bytes:
    manifest = json.loads(members.pop("manifest.json"))
    manifest["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in {"manifest.json": json.dumps(manifest).encode(), **members}.items():
            archive.writestr(name, content)
    return packed.getvalue()


async def export_story(world: World, op: Json) -> Observers:
    """Export the active branch as a file."""
    export = needed(world.studio.story, "export")
    options = {"title": op.get("title"), "author": op.get("author"), "title_page": op.get("title_page", True)}
    raw: bytes = export(world.book, format=op["format"], first=op.get("from"), last=op.get("to"), **options)
    return {"bytes": lambda: len(raw), "text": lambda: raw.decode(errors="replace")}


OPERATIONS = {each.__name__: each for each in (take_backup, apply_backup, clone_backup, export_story)}
