"""What every format speaks: what a file was read as, entry by entry, and how faithfully."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from marginalia.formats.coerce import Json, Object
from marginalia.lore.book import Entry, LoreSettings

Place: TypeAlias = str | int | None
PLAIN = LoreSettings()


class Fidelity(StrEnum):
    """How well something of a file came in, from best to worst; the original is kept in every case."""

    TAKEN = "taken"
    APPROXIMATED = "approximated"
    INACTIVE = "kept but inactive"
    NOT_UNDERSTOOD = "not understood"


_WORSE = list(Fidelity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What became of one entry (``entry`` is empty for the file as a whole), and why, in plain sentences."""

    lorebook: str = ""
    entry: str = ""
    fidelity: Fidelity = Fidelity.TAKEN
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"{self.entry}: " if self.entry else ""
        return f"{where}{self.fidelity}{''.join(f'; {each}' for each in self.remarks)}"


class Remarks:
    """Collects what there is to say about one entry while it is read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.fidelity = Fidelity.TAKEN
        self._mentioned: list[str] = []

    @property
    def text(self) -> str:
        """What is worth keeping in the note of the entry itself."""
        return "; ".join(line for line in self.lines if line not in self._mentioned)

    def mention(self, line: str) -> None:
        """Something for the report alone."""
        self._mentioned.append(line)
        self._say(line, Fidelity.TAKEN)

    def kept(self, line: str) -> None:
        """Something that is worth knowing and was taken as it is."""
        self._say(line, Fidelity.TAKEN)

    def approximated(self, line: str) -> None:
        """Something that acts here nearly as it did there."""
        self._say(line, Fidelity.APPROXIMATED)

    def inactive(self, line: str) -> None:
        """Something that is kept and does nothing here."""
        self._say(line, Fidelity.INACTIVE)

    def unknown(self, line: str) -> None:
        """Something that nobody here knows."""
        self._say(line, Fidelity.NOT_UNDERSTOOD)

    def note(self, entry: str, lorebook: str = "") -> Note:
        """All of it as a note."""
        return Note(lorebook=lorebook, entry=entry, fidelity=self.fidelity, remarks=tuple(self.lines))

    def _say(self, line: str, fidelity: Fidelity) -> None:
        self.lines.append(line)
        if _WORSE.index(fidelity) > _WORSE.index(self.fidelity):
            self.fidelity = fidelity


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a file: its place in the container, the original, and the entry it was read as (if it is one).

    ``volume`` is the number of the lorebook that the entry belongs to, ``note`` what there is to say about it.
    """

    place: Place
    raw: Json
    entry: Entry | None = None
    volume: int = 0
    note: Note | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A lorebook of a file. ``subbooks`` are numbers of other volumes, ``key`` is how the file calls it."""

    name: str
    uid: str = ""
    description: str = ""
    enabled: bool = True
    tags: tuple[str, ...] = ()
    subbooks: tuple[int, ...] = ()
    settings: LoreSettings = PLAIN
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookFields:
    """What a character card or scenario says about a story, offered for a book; never applied by an import."""

    name: str = ""
    description: str = ""
    scenario: str = ""
    first_message: str = ""
    greetings: tuple[str, ...] = ()
    memory: str = ""
    authors_note: str = ""
    instructions: str = ""

    def __bool__(self) -> bool:
        return self != BookFields()


NO_FIELDS = BookFields()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A file of lore, read: its volumes (the first is the root), its rows in the order of creation, the whole document.

    ``story_too`` says that it holds a story as well.
    """

    format: str
    title: str
    volumes: Sequence[Volume]
    rows: Sequence[Row] = ()
    document: Json = None
    notes: Sequence[Note] = ()
    book_fields: BookFields = NO_FIELDS
    story_too: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An entry as a row of a format, and what of it the format cannot say."""

    row: Object
    losses: tuple[str, ...] = ()
