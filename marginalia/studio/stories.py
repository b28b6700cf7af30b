"""Stories of other tools as books of a studio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime

from marginalia.formats import BookFields, Note
from marginalia.formats.base import NO_FIELDS
from marginalia.formats.stories import KEPT, Leaf, StoryFile, read_stories
from marginalia.lore.calm import without_collections
from marginalia.prompt.tokens import Tokenizer
from marginalia.store import Store
from marginalia.store.backup import Backups
from marginalia.store.backup_check import checked
from marginalia.store.backup_records import BookBackup, BookRow, PartRow, VersionRow
from marginalia.story.parts import count_words
from marginalia.studio.lorebooks import Source, contents, source_name
from marginalia.values import Book


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryReport:
    """What became of a story file: the new books, how many parts and branches they have, and what else it held.

    ``fields`` is what the file says about the first story beside it, for the writer to take or leave; with ``lore_too``
    the file holds a lorebook that ``studio.lorebooks.import_file`` reads.
    """

    file: str
    format: str
    title: str
    books: tuple[Book, ...]
    parts: int
    branches: int
    notes: tuple[Note, ...] = ()
    fields: BookFields = NO_FIELDS
    lore_too: bool = False

    @property
    def book(self) -> Book:
        """The book, or the first of several."""
        return self.books[0]

    def __str__(self) -> str:
        parts = "1 part" if self.parts == 1 else f"{self.parts:,} parts"
        branches = "1 branch" if self.branches == 1 else f"{self.branches:,} branches"
        return f"{self.title} {self.book.name!r}: {parts}, {branches}."


class StoryImports:
    """Reads story files into new books, each in one transaction."""

    def __init__(self, store: Store) -> None:
        self._desk = store.desk
        self._backups = Backups(self._desk)

    def import_file(self, source: Source, name: str | None = None) -> StoryReport:
        """Make a book of the story in a file (a path, its bytes, or an upload), with all its branches and versions.

        Every part keeps what the file knows of it under ``attributes["import"]``. *name* is what the first book is
        called.

        Raises:
            FormatError: the file is no story, broken, or cannot be read. Nothing was stored.
        """
        file = source_name(source)
        with without_collections():
            stories = read_stories(contents(source), file)
            books = tuple(
                self._backups.plant(checked(self._backup(each, name if not number else None)))
                for number, each in enumerate(stories)
            )
        return StoryReport(
            file=file,
            format=stories[0].format,
            title=stories[0].title,
            books=books,
            parts=sum(len(each.leaves) for each in stories),
            branches=sum(_branches(each) for each in stories),
            notes=tuple(note for each in stories for note in each.notes),
            fields=stories[0].fields,
            lore_too=any(each.lore_too for each in stories),
        )

    def _backup(self, story: StoryFile, name: str | None) -> BookBackup:
        now, numbers = self._desk.clock(), {each.key: at for at, each in enumerate(story.leaves, 1)}
        parts = tuple(_part(leaf, numbers, self._desk.new_uid, now) for leaf in story.leaves)
        versions = tuple(
            _version(leaf, part, self._desk.tokenizer, now)
            for leaf, part in zip(story.leaves, parts, strict=True)
        )
        row = BookRow(
            uid=self._desk.new_uid(),
            name=(name or story.name).strip(),
            settings={
                "description": story.description,
                "tags": list(story.tags),
                "settings": {KEPT: {"format": story.format, **story.kept}},
            },
            created=now,
            active_part=numbers.get(story.active) if story.active else None,
        )
        return BookBackup(book=row, parts=parts, versions=versions)


def _branches(story: StoryFile) -> int:
    """How many ends the story has."""
    return len(story.leaves) - len({each.parent for each in story.leaves} - {None})


def _part(leaf: Leaf, numbers: dict[str, int], new_uid: Callable[[], str], now: datetime) -> PartRow:
    number = numbers[leaf.key]
    parent = None if leaf.parent is None else numbers[leaf.parent]
    return PartRow(id=number, uid=new_uid(), parent=parent, version=number, created=now)


def _version(leaf: Leaf, part: PartRow, tokenizer: Tokenizer, now: datetime) -> VersionRow:
    turn = {name: value for name, value in asdict(leaf.turn).items() if value is not None}
    detail = {
        "tokens": tokenizer.count(leaf.text) if leaf.text else 0,
        "words": count_words(leaf.text),
        "reasoning_tokens": tokenizer.count(leaf.reasoning) if leaf.reasoning else 0,
        "turn": turn,
        "model": leaf.model,
        "edited": leaf.edited,
        "attributes": {KEPT: dict(leaf.kept)} if leaf.kept else {},
    }
    return VersionRow(
        id=part.id,
        part=part.id,
        origin="stored",
        text=leaf.text,
        reasoning=leaf.reasoning,
        created=now,
        detail=detail,
    )
