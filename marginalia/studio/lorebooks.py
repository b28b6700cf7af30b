"""The lorebooks of a studio: the store's, and how they come in from files of any tool and go out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from marginalia.errors import FormatError, MarginaliaError
from marginalia.formats import (
    BookFields,
    Exported,
    Fidelity,
    LoreFile,
    Note,
    notes_from_json,
    read_lore,
    write_lore,
)
from marginalia.formats.base import NO_FIELDS
from marginalia.formats.intake import MOST_BYTES
from marginalia.lore.book import Entry, FilledLorebook, Lorebook
from marginalia.lore.calm import without_collections
from marginalia.store import Store
from marginalia.store.lorebooks import Lorebooks
from marginalia.store.planting import Seedling, plant, taken_uids
from marginalia.studio.lore_edits import LoreEdit, edit_entries, remove_entries
from marginalia.studio.lore_exploring import Activated, Looked, LoreExploring, World
from marginalia.studio.lore_replay import Replay
from marginalia.studio.names import BookLike
from marginalia.values import LorebookId


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is not on this disk: its name, for sentences and for lore without a name, and its bytes."""

    file: str
    data: bytes


Source: TypeAlias = str | Path | bytes | Upload
Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a file.

    ``lorebooks`` are the new ones, the first leads to the others (empty for a preview, and when the file was refused);
    ``names`` are what they are or would be called. ``notes`` says for every entry how faithfully it came in, and why;
    a note without ``entry`` is on the file as a whole. ``book_fields`` is what a card or scenario says about a story,
    for the writer to take or leave; with ``story_too`` the file holds a story that ``studio.import_story`` reads.
    ``problem`` is why a file among many was refused.
    """

    file: str = ""
    format: str = ""
    title: str = ""
    lorebooks: tuple[Lorebook, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    book_fields: BookFields = NO_FIELDS
    story_too: bool = False
    problem: str = ""

    def count(self, fidelity: Fidelity) -> int:
        """How many entries came in like that."""
        return sum(each.fidelity is fidelity for each in self.notes if each.entry)

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        counts = ", ".join(f"{number} {each}" for each in Fidelity if (number := self.count(each)))
        return f"{self.title} {self.names[0]!r}: {counts or 'no entries'}."


class LoreShelf(Lorebooks):
    """``studio.lorebooks``: everything that ``store.Lorebooks`` does, and files of every known tool, in and out.

    Importing is a plain call that reads, then stores everything in one transaction; call it in a thread where somebody
    waits for a loop.
    """

    def __init__(self, store: Store, exploring: LoreExploring) -> None:
        super().__init__(store.desk)
        self.exploring = exploring

    def activate(self, world: World, looked_at: Looked, book: BookLike | None = None) -> Activated:
        """The verdict on every entry of *world* for a text or a turn, as a preview would give it; stores nothing.

        *world* is a lorebook (with those below it, as a book would use it) or entries. *looked_at* stands for the
        request: a text as it is, or a turn, rendered by the book's template. A *book* lends its tags, its story,
        summaries, timed effects, limits and dice; without one there is nothing but the request. In a notebook the
        answer is a table; its ``replay(book)`` goes over a whole branch.

        Raises:
            NotFound: there is no such lorebook or book.
            TemplateError: the book's template for the request cannot be rendered.
        """
        return self.exploring.activate(world, looked_at, book)

    def replay(self, book: BookLike, world: World | None = None) -> Replay:
        """What every entry of *world* (or of the book's own lore) would have done at every part of the active branch.

        Timed effects run through from the first part on, chance is the one that each part was written with. Stores
        nothing. In a notebook the answer is a map of entries by parts; ``frame`` is a table. Raises ``NotFound``.
        """
        return self.exploring.replay(book, world)

    def edit_entries(
        self,
        entries: Iterable[Entry],
        *,
        enabled: bool | None = None,
        tag: str = "",
        untag: str = "",
        lorebook: Lorebook | int | None = None,
    ) -> LoreEdit:
        """Switch entries on or off, give or take a tag, move them to a lorebook: what is given, in one transaction.

        The answer says what was done, and its ``undo()`` takes it back. Raises ``NotFound``, or ``InvalidInput`` when
        nothing is to be changed.
        """
        return edit_entries(self, entries, enabled=enabled, tag=tag, untag=untag, lorebook=lorebook)

    def remove_entries(self, entries: Iterable[Entry]) -> LoreEdit:
        """Move entries to the trash in one transaction; ``undo()`` brings all of them back. Raises ``NotFound``."""
        return remove_entries(self, entries)

    def import_file(
        self,
        source: Source,
        name: str | None = None,
        *,
        format: str | None = None,  # noqa: A002 - the public word for it
    ) -> ImportReport:
        """Take in the lore of a file (a path, its bytes, or an upload) of any known format, told by its content.

        Always makes new lorebooks. *name* is what the first one is called; *format* accepts no other one.

        Raises:
            FormatError: the file is no lore, broken, or cannot be read. Nothing was stored.
            InvalidInput: there is no format of that name.
        """
        with without_collections():
            file = _read(source, format)
            taken = taken_uids(self._desk, [each.uid for each in file.shelf.volumes if each.uid])
            bound = file.bind(new_uid=self._desk.new_uid, taken=taken, name=name)
            stored = plant(self._desk, [Seedling(each.lorebook, each.entries, each.below) for each in bound])
            return replace(_report(file), lorebooks=stored, names=tuple(each.name for each in stored))

    def import_files(
        self, sources: Iterable[Source], *, progress: Progress | None = None
    ) -> tuple[ImportReport, ...]:
        """Take in many files, each by itself: one that is refused keeps no other out, and says so in its report.

        ``progress(done, of, file)`` is called before each file.
        """
        given = list(sources)
        reports: list[ImportReport] = []
        for done, source in enumerate(given):
            file = source_name(source)
            if progress is not None:
                progress(done, len(given), file)
            try:
                reports.append(self.import_file(source))
            except MarginaliaError as error:
                reports.append(ImportReport(file=file, problem=str(error)))
        return tuple(reports)

    def preview_import(
        self,
        source: Source,
        name: str | None = None,
        *,
        format: str | None = None,  # noqa: A002 - the public word for it
    ) -> ImportReport:
        """What :meth:`import_file` would do, without storing anything. Raises the same."""
        with without_collections():
            report = _report(_read(source, format))
        return replace(report, names=(name, *report.names[1:])) if name else report

    def report(self, lorebook: Lorebook | int) -> ImportReport | None:
        """What the import that made a lorebook said, as it was kept with it; ``None`` for lore that was written here.

        Raises ``NotFound``.
        """
        record = self.filled(lorebook).lorebook
        if "notes" not in record.raw:
            return None
        return ImportReport(
            file=str(record.raw.get("file", "")),
            format=str(record.raw["format"]),
            title=str(record.raw.get("title", "")),
            lorebooks=(record,),
            names=(record.name,),
            notes=notes_from_json(record.raw["notes"]),
        )

    def export(self, lorebook: Lorebook | int, format: str = "marginalia") -> Exported:  # noqa: A002 - the public word for it
        """The lorebook and those below it as a file; its ``losses`` say what the format cannot say.

        What came from a file of that format goes back onto it, so that everything nobody touched is as it was.

        Raises:
            NotFound: there is no such lorebook.
            InvalidInput: there is no such format, or it only takes back what came from it.
        """
        with without_collections():
            return write_lore(self._family(lorebook), format)

    def _family(self, lorebook: Lorebook | int) -> tuple[FilledLorebook, ...]:
        """The lorebook and those below it, breadth-first, each once; deleted ones are left out."""
        first = self.filled(lorebook)
        mine = {each.id for each in self.all()}
        found = [first]
        seen: set[LorebookId] = {first.lorebook.id}
        for each in found:
            for below in each.lorebook.subbooks:
                if below in mine and below not in seen:
                    seen.add(below)
                    found.append(self.filled(below))
        return tuple(found)


def _report(file: LoreFile) -> ImportReport:
    return ImportReport(
        file=file.file,
        format=file.codec.id,
        title=file.shelf.title,
        names=file.names,
        notes=file.notes,
        book_fields=file.shelf.book_fields,
        story_too=file.shelf.story_too,
    )


def source_name(source: Source) -> str:
    """The name of the file, as far as it is known."""
    if isinstance(source, Upload):
        return source.file
    return "" if isinstance(source, bytes) else Path(source).name


def _read(source: Source, format_: str | None) -> LoreFile:
    return read_lore(contents(source), source_name(source), format=format_)


def contents(source: Source) -> bytes:
    """The bytes of a source; raises ``FormatError`` for a path that cannot be read, or a file that is far too large."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, Upload):
        return source.data
    path = Path(source)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"{path.name!r} has {path.stat().st_size:,} bytes; {MOST_BYTES:,} can be read.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise FormatError(
            f"{path.name!r} cannot be read: {why or 'it has no name that a file can have'}."
        ) from None
