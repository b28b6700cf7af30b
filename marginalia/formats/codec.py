"""What a format has to know: how to be recognised, read, and written row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from marginalia.errors import FormatError
from marginalia.formats.base import Place, Shelf, Written
from marginalia.formats.coerce import Json, Object, is_list, is_object, obj, rows
from marginalia.lore.book import Entry, Lorebook

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where an entry is written to: beside which original, at which place, in which folder of the file."""

    raw: Object
    place: Place = None
    folder: str = ""
    fresh: bool = False


def _same(document: Json) -> Json:
    return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """A format of lore files.

    ``read`` gets the document and the file's name without its ending. ``path`` says where in a document the rows
    stand (an empty path: the document is the list of them). ``blank`` makes a document for lore of another origin;
    without it the format can only be written back to where it came from. ``head`` writes the lorebook's own name and
    settings; ``again`` reads one row as ``read`` would. ``opened`` and ``closed`` are for documents in which the rows
    stand in a text.
    """

    id: str
    title: str
    sees: Callable[[Json], bool]
    read: Callable[[Json, str], Shelf]
    path: Callable[[Json], Path]
    write: Callable[[Entry, Target], Written]
    again: Callable[[Object, Place], Entry]
    head: Callable[[Lorebook], Object] | None = None
    blank: Callable[[Lorebook], Json] | None = None
    opened: Callable[[Json], Json] = _same
    closed: Callable[[Json], Json] = _same
    ending: str = "json"


def container(document: Json, path: Path) -> Json:
    """What stands in *document* at *path*; ``None`` when nothing does."""
    for name in path:
        document = obj(document).get(name)
    return document


def with_container(document: Json, path: Path, value: Json) -> Json:
    """The document with *value* at *path*; missing objects on the way are made."""
    if not path:
        return value
    return {**obj(document), path[0]: with_container(obj(document).get(path[0]), path[1:], value)}


def without_container(document: Json, path: Path) -> Json:
    """The document with nothing at *path*; what is around it stays."""
    if not path:
        return None
    return with_container(document, path, None) if container(document, path) is not None else document


def placed_rows(found: Json) -> list[tuple[Place, Json]]:
    """The rows of a container with their places: names in an object, numbers in a list."""
    if is_object(found):
        return list(obj(found).items())
    return list(enumerate(rows(found)))


MOST_ENTRIES = 100_000


def checked(found: Json, what: str) -> list[tuple[Place, Json]]:
    """The rows of a container that has to be one; raises ``FormatError`` when it is none, or far too long."""
    if not (is_object(found) or is_list(found)):
        raise FormatError(f"It looks like {what}, but its entries are neither a list nor an object.")
    placed = placed_rows(found)
    if len(placed) > MOST_ENTRIES:
        raise FormatError(
            f"It has {len(placed):,} entries; {MOST_ENTRIES:,} can be taken at once. Split the file."
        )
    return placed
