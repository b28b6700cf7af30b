"""What a desk reads from the studio: which book, its shape, what can be chosen. These calls block a little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.errors import NotFound

if TYPE_CHECKING:
    from marginalia.story.tree import StoryTree
    from marginalia.studio import Studio
    from marginalia.values import Book, BookId, PartId, Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The story as it is now, without its texts: the tree, and the parts of the branch that is read, oldest first."""

    tree: StoryTree
    branch: tuple[PartId, ...] = ()

    @property
    def leaf(self) -> PartId | None:
        """The last part of the branch."""
        return self.branch[-1] if self.branch else None

    def number(self, part: PartId) -> int:
        """Which part of the branch it is, counted from 1; 0 if it is on another one."""
        return self.branch.index(part) + 1 if part in self.branch else 0

    def versions(self, part: PartId) -> tuple[int, int]:
        """Which of its siblings a part is, counted from 1, and how many there are."""
        siblings = self.tree.siblings(part)
        return siblings.index(part) + 1, len(siblings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What can be chosen for a book: pairs of id and name."""

    books: tuple[tuple[int, str], ...] = ()
    providers: tuple[tuple[int, str], ...] = ()
    protocols: tuple[tuple[int, str], ...] = ()
    lorebooks: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What shall open over the page: ``keys``, ``prompt`` (of a part), or a sheet of the settings by its name.

    ``record`` is the model or protocol that the sheet is about, where that is not the open book's.
    """

    name: str
    part: PartId | None = None
    record: int | None = None


def find_book(studio: Studio, book: BookId | None) -> Book | None:
    """The book with that id, else the one changed last. The id may come from an address, so it may be anything."""
    if book is not None:
        try:
            return studio.books.get(book)
        except NotFound:
            pass
    return max(studio.books.all(), key=lambda each: each.updated, default=None)


def read_book(studio: Studio, book: BookId) -> tuple[Book, Shape]:
    """A book as it is now, and the shape of its story; raises ``NotFound``."""
    found = studio.books.get(book)
    tree = studio.story.tree(found)
    leaf = found.active_leaf if found.active_leaf in tree else None
    return found, Shape(tree=tree, branch=tree.branch(leaf))


def read_library(studio: Studio) -> Library:
    """What can be chosen, by name."""
    return Library(
        books=tuple((each.id, each.name) for each in studio.books.all()),
        providers=tuple((each.id, each.name) for each in studio.providers.all()),
        protocols=tuple((each.id, each.name) for each in studio.protocols.all()),
        lorebooks=tuple((each.id, each.name) for each in studio.lorebooks.all()),
    )


def provider_of(studio: Studio, book: Book | None) -> Provider | None:
    """The provider of a book, if it has one that still exists."""
    if book is None or book.provider_id is None:
        return None
    try:
        return studio.providers.get(book.provider_id)
    except NotFound:
        return None
