"""Lore and stories of every tool, in and out: formats are told by content, originals are kept, losses are said."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from marginalia.errors import FormatError
from marginalia.formats.base import BookFields, Fidelity, Note, Remarks, Shelf
from marginalia.formats.codec import Codec
from marginalia.formats.intake import open_document, stem
from marginalia.formats.keeping import Bound, all_notes, bind, notes_from_json
from marginalia.formats.registry import CODECS, codec, recognised
from marginalia.formats.writing import Exported, write_lore

__all__ = [
    "CODECS",
    "BookFields",
    "Bound",
    "Exported",
    "Fidelity",
    "LoreFile",
    "Note",
    "notes_from_json",
    "read_lore",
    "write_lore",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreFile:
    """A file of lore that was read and not stored yet."""

    file: str
    shelf: Shelf
    codec: Codec

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there is to say about the file, then about every row."""
        return all_notes(self.shelf)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lorebooks that would be made, the first one's first."""
        return tuple(each.name for each in self.shelf.volumes)

    def bind(
        self, *, new_uid: Callable[[], str], taken: Container[str] = (), name: str | None = None
    ) -> tuple[Bound, ...]:
        """The lorebooks to be stored; see :func:`marginalia.formats.keeping.bind`."""
        return bind(self.shelf, self.codec, file=self.file, new_uid=new_uid, taken=taken, name=name)


def read_lore(data: bytes, file: str = "", *, format: str | None = None) -> LoreFile:  # noqa: A002 - the public word for it
    """The lore in a file of any known format, or of *format* alone.

    *file* is its name: for sentences, and for a lorebook that has no name of its own.

    Raises:
        FormatError: it is no such file; the sentence says what it is, and where it is broken.
        InvalidInput: there is no format of that name.
    """
    wanted = codec(format) if format else None
    called = f"{file!r}" if file else "This file"
    opened = open_document(data, file)
    found = recognised(opened.document, called) if wanted is None else wanted
    if wanted is not None and not wanted.sees(opened.document):
        raise FormatError(f"{called} is no {wanted.title}.")
    try:
        shelf = found.read(found.opened(opened.document), stem(file))
    except FormatError as error:
        raise FormatError(f"{called} cannot be imported. {error}") from None
    shelf = replace(
        shelf, document=opened.document, notes=(*_repairs(opened.repairs, opened.wrapping), *shelf.notes)
    )
    return LoreFile(file=file, shelf=shelf, codec=found)


def _repairs(lines: tuple[str, ...], wrapping: str) -> tuple[Note, ...]:
    remarks = Remarks()
    for line in lines:
        remarks.approximated(line)
    if wrapping in {"png", "charx"}:
        remarks.kept("the pictures beside the card are not kept")
    return (remarks.note(""),) if remarks.lines else ()
