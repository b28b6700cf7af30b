"""The books as their page shows them: rows, new ones, files that come in and go out. These calls block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from marginalia.errors import FormatError, InvalidInput
from marginalia.export import FORMATS
from marginalia.store.backup_file import is_backup
from marginalia.studio.names import file_name
from marginalia.ui.preferences import read_preferences
from marginalia.ui.words import ago, count
from marginalia.values import untold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from marginalia.studio import Studio
    from marginalia.studio.lorebooks import Upload
    from marginalia.ui.reading import Library
    from marginalia.values import Book, BookId, Progress

_OPENED = "books.opened"
_BACKUP = ".marginalia"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What became of one file: a sentence, and the first book that came of it."""

    file: str
    text: str
    book: BookId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A file to download."""

    name: str
    data: bytes


def book_rows(studio: Studio, now: datetime) -> list[dict[str, Any]]:
    """Every book, the one opened last first."""
    opened = _opened(studio)
    books = sorted(studio.books.all(), key=lambda each: _last(each, opened), reverse=True)
    return [
        _row(studio, each, _last(each, opened), now) | {"verb": "opened" if each.uid in opened else "changed"}
        for each in books
    ]


def trash_rows(studio: Studio) -> list[list[Any]]:
    """The books in the trash, the newest first: id and name."""
    return [[each.id, each.name] for each in reversed(studio.books.trash())]


def note_opened(studio: Studio, book: BookId, now: datetime) -> None:
    """Keep when a book was opened last."""
    kept = {each.uid for each in (*studio.books.all(), *studio.books.trash())}
    opened = {uid: when for uid, when in _opened(studio).items() if uid in kept}
    studio.settings.set(_OPENED, opened | {studio.books.get(book).uid: now.isoformat()})


def next_book(studio: Studio, book: BookId) -> BookId | None:
    """What to open in the place of a book that goes: the one opened last among the others."""
    opened = _opened(studio)
    others = (each for each in studio.books.all() if each.id != book)
    found = max(others, key=lambda each: _last(each, opened), default=None)
    return None if found is None else found.id


def new_book(studio: Studio, name: str, like: Book | None, library: Library) -> Book:
    """An empty book, written by what the user set for new books, else as *like* is, else by the first there are."""
    provider, protocol = usual(studio, like, library)
    return studio.books.create(name=name, provider=provider, protocol=protocol)


def usual(studio: Studio, like: Book | None, library: Library) -> tuple[int | None, int | None]:
    """The model and the protocol that a new book gets, see :func:`new_book`."""
    set_, (providers, protocols) = read_preferences(studio), (library.providers, library.protocols)
    provider = set_.provider_id if _there(set_.provider_id, providers) else like.provider_id if like else None
    protocol = set_.protocol_id if _there(set_.protocol_id, protocols) else like.protocol_id if like else None
    return _living(provider, providers), _living(protocol, protocols)


def rename(studio: Studio, book: BookId, name: str) -> Book:
    """Give a book another name; raises ``InvalidInput`` for a blank one."""
    return studio.books.save(replace(studio.books.get(book), name=name))


def duplicate(studio: Studio, book: BookId) -> Book:
    """A second book that has everything the first has."""
    return studio.books.clone(book, name=f"{studio.books.get(book).name} (copy)")


def formats(studio: Studio) -> list[tuple[str, str]]:
    """What a story can be exported as: key and name, those of extensions last."""
    own = [(each.key, each.name) for each in FORMATS.values()]
    return own + [(each.key, each.name) for each in studio.extensions.exporters]


def exported(
    studio: Studio,
    book: BookId,
    form: str,
    options: Mapping[str, Any] | None = None,
    progress: Progress = untold,
) -> Departure:
    """The story of a book as a file; raises ``InvalidInput`` for a format that there is not, or a range that cannot be.

    *options* are what the page's form has: ``first``, ``last``, ``author`` as texts, the rest as switches.
    """
    suffixes = {each.key: each.suffix for each in FORMATS.values()}
    suffixes |= {each.key: each.suffix for each in studio.extensions.exporters}
    if form not in suffixes:
        raise InvalidInput("This format is no longer there: the extension that wrote it is switched off.")
    name = file_name(studio.books.get(book).name)
    return Departure(
        name=name + suffixes[form],
        data=studio.story.export(book, form, progress=progress, **_export_options(options or {})),
    )


def _export_options(said: Mapping[str, Any]) -> dict[str, Any]:
    ends = {name: _part_number(str(said.get(name) or "")) for name in ("first", "last")}
    switches = {name: bool(said[name]) for name in ("title_page", "contents", "breaks") if name in said}
    return {**ends, **switches, "author": str(said.get("author") or "").strip() or None}


def _part_number(typed: str) -> int | None:
    text = typed.strip()
    if text and not text.isdecimal():
        raise InvalidInput(f"{text!r} is no number of a part. Leave it empty for the whole story.")
    return int(text) if text else None


def backed_up(studio: Studio, book: BookId, progress: Progress = untold) -> Departure:
    """Everything a book has, as one file."""
    data = studio.books.backup(book, progress=progress)
    return Departure(name=file_name(studio.books.get(book).name) + _BACKUP, data=data)


def inside(studio: Studio, upload: Upload) -> list[str]:
    """What a backup holds, in sentences, before it replaces anything; raises ``FormatError``."""
    if not is_backup(upload.data):
        raise FormatError(f"{upload.file!r} is no backup of a book; use Import for stories and cards.")
    found = studio.books.contents(upload.data)
    facts = [count(found.parts, "part"), count(found.words, "word")]
    facts += [count(found.summaries, "summary").replace("summarys", "summaries")] if found.summaries else []
    facts += [count(len(found.lorebooks), "lorebook")] if found.lorebooks else []
    made = f"{found.created.day} {found.created:%B %Y, %H:%M}"
    return [f"The backup of {found.name!r}, made on {made}: {', '.join(facts)}.", *found.notes]


def take_in(studio: Studio, upload: Upload, like: Book | None, library: Library) -> Arrival:
    """Make a book of a file: a backup, a story of another tool, or a character card with its lore.

    Raises ``FormatError`` for everything else; nothing was stored then.
    """
    if is_backup(upload.data):
        book = studio.books.clone(upload.data)
        return Arrival(file=upload.file, text=f"The backup of {book.name!r} is a book again.", book=book.id)
    try:
        report = studio.import_story(upload)
    except FormatError:
        fields = studio.lorebooks.preview_import(upload).book_fields
        if not fields:
            raise
        book = new_book(studio, fields.name.strip() or upload.file, like, library)
        return Arrival(file=upload.file, text=_with_lore(studio, book, upload), book=book.id)
    for each in report.books:
        studio.books.save(_furnished(each, like, library))
    lore = f" {_with_lore(studio, studio.books.get(report.book), upload)}" if report.lore_too else ""
    return Arrival(file=upload.file, text=f"{report}{lore}", book=report.book.id)


def _with_lore(studio: Studio, book: Book, upload: Upload) -> str:
    """Give a book the lore that came in the same file, and what a card says of itself; in a sentence, what came of it.

    The book is there already, so what goes wrong with its lore is told and takes nothing away.
    """
    try:
        report = studio.lorebooks.import_file(upload)
    except FormatError as error:
        return f"Its lore could not be read: {error}"
    fields, lore = report.book_fields, report.lorebooks[0]
    texts = (fields.description, fields.scenario, fields.memory, fields.instructions)
    described = "\n\n".join(text.strip() for text in texts if text.strip())
    studio.books.save(replace(book, description=book.description or described, lorebook_id=lore.id))
    entries = count(len(studio.lorebooks.entries(lore)), "lore entry").replace("entrys", "entries")
    return f"{book.name!r} draws on {entries} that came with it."


def _furnished(book: Book, like: Book | None, library: Library) -> Book:
    """An imported book with a model and a protocol, where its file named none."""
    provider, protocol = (like.provider_id, like.protocol_id) if like is not None else (None, None)
    return replace(
        book,
        provider_id=book.provider_id or cast("Any", _living(provider, library.providers)),
        protocol_id=book.protocol_id or cast("Any", _living(protocol, library.protocols)),
    )


def _living(wanted: int | None, pairs: tuple[tuple[int, str], ...]) -> int | None:
    """*wanted* where it still exists, else the first there is."""
    return wanted if _there(wanted, pairs) else next((each for each, _ in pairs), None)


def _there(wanted: int | None, pairs: tuple[tuple[int, str], ...]) -> bool:
    return any(each == wanted for each, _ in pairs)


def _row(studio: Studio, book: Book, last: datetime, now: datetime) -> dict[str, Any]:
    branch, whole = studio.story.statistics(book)
    return {
        "id": book.id,
        "name": book.name,
        "tags": list(book.tags),
        "description": book.description,
        "words": branch.words,
        "parts": branch.parts,
        "all_parts": whole.parts,
        "when": ago(last, now),
        "exact": f"{last.astimezone():%d %B %Y, %H:%M}",
    }


def _last(book: Book, opened: Mapping[str, str]) -> datetime:
    """When a book was opened last, or changed where nobody opened it."""
    try:
        when = datetime.fromisoformat(opened[book.uid])
    except (KeyError, ValueError, TypeError):
        return book.updated
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def _opened(studio: Studio) -> dict[str, str]:
    kept: object = studio.settings.get(_OPENED)
    return cast("dict[str, str]", kept) if isinstance(kept, dict) else {}
