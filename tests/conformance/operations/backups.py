"""Copies of a book: backups, and the exported story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance import observing
from tests.conformance.world import NotBuiltYetError, World, needed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.case import Json, Value
    from tests.conformance.observing import Observers


async def take_backup(world: World, op: Json) -> Observers:
    """Copy a book out of the studio."""
    world.made[f"backup {op['as']}"] = needed(world.studio.books, "backup")(world.book_named(op.get("book")))
    return observing.state_observers(world)


async def apply_backup(world: World, op: Json) -> Observers:
    """Put a backup in the place of a book's story, or of all of it."""
    if op.get("edit"):
        message = "a documented file format of backups, to edit one"
        raise NotBuiltYetError(message)
    book = world.book_named(op.get("book"))
    restore = needed(world.studio.books, "restore")
    restore(book, world.made[f"backup {op['backup']}"], story_only=op.get("messages_only", False))
    _relabel(world, book.id)
    found: dict[str, Callable[[], Any]] = dict(observing.state_observers(world, book.id))
    return found | {"other_book_unchanged": lambda: world.book.name}


async def clone_backup(world: World, op: Json) -> Observers:
    """Make a new book of a backup."""
    made = needed(world.studio.books, "clone")(world.made[f"backup {op['backup']}"], name=op["name"])
    world.books[op["name"]] = made.id
    return observing.state_observers(world, made.id)


def _relabel(world: World, book_id: Value) -> None:
    """The labels go to the parts that stand in the restored ones' places, in the order of creation."""
    labels = [each["part"] for each in world.case.given.get("parts") or ()]
    parts = world.studio.story.parts(book_id)
    world.parts |= {label: part.id for label, part in zip(labels, parts, strict=False)}


async def export_story(world: World, op: Json) -> Observers:
    """Export the active branch as a file."""
    export = needed(world.studio.story, "export")
    options = {"title": op.get("title"), "author": op.get("author"), "title_page": op.get("title_page", True)}
    raw: bytes = export(world.book, format=op["format"], first=op.get("from"), last=op.get("to"), **options)
    return {"bytes": lambda: len(raw), "text": lambda: raw.decode(errors="replace")}


OPERATIONS = {each.__name__: each for each in (take_backup, apply_backup, clone_backup, export_story)}
