"""What extensions keep: dataclasses, as JSON in the settings of a book or of the user, under the extension's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from threading import Lock
from typing import Any, Generic, TypeVar, cast, get_type_hints

import msgspec

from marginalia.errors import InvalidInput
from marginalia.store.repositories import Books
from marginalia.store.settings import Settings
from marginalia.values import Book, BookId

T = TypeVar("T")


_BEFORE = {"authors-note": "authors_note"}
"""Where data was kept before extensions had keys of their own."""


def book_key(name: str) -> str:
    """The setting of a book that an extension's data is kept under; no setting of Marginalia's own has such a name."""
    return _BEFORE.get(name) or user_key(name)


def user_key(name: str) -> str:
    """The same among the settings of the user."""
    return f"extension.{name}"


def fresh(kind: type[T]) -> T:
    """A value of *kind* with its defaults; raises ``InvalidInput`` for what cannot be kept."""
    if not is_dataclass(kind):
        raise InvalidInput(f"{kind.__name__} is no dataclass, so it cannot be kept.")
    try:
        return kind()
    except TypeError as error:
        raise InvalidInput(f"Every field of {kind.__name__} needs a default: {error}.") from error


def typed(kind: type[T], stored: object) -> T:
    """*stored* as a *kind*, field by field; what is missing or of another type has its default."""
    value = fresh(kind)
    if not isinstance(stored, Mapping):
        return value
    given = cast("Mapping[str, Any]", stored)
    hints = get_type_hints(kind)
    found: dict[str, Any] = {}
    for each in fields(cast("Any", value)):
        try:
            found[each.name] = msgspec.convert(given[each.name], hints[each.name])
        except (KeyError, msgspec.ValidationError):
            continue
    return cast("T", replace(cast("Any", value), **found))


@dataclass(frozen=True, slots=True)
class StoredBookData(Generic[T]):
    """See :class:`marginalia.extensions.api.BookData`."""

    kind: type[T]
    key: str
    books: Books
    lock: Lock

    def of(self, book: Book | None) -> T:
        """What is kept with *book*, or the defaults without one."""
        return typed(self.kind, None if book is None else book.settings.get(self.key))

    def store(self, book: Book | BookId, value: T) -> Book:
        """Keep *value* with the book as it is now."""
        with self.lock:
            known = self.books.get(book)
            settings = {**known.settings, self.key: msgspec.to_builtins(value)}
            return self.books.save(replace(known, settings=settings))


@dataclass(frozen=True, slots=True)
class StoredUserData(Generic[T]):
    """See :class:`marginalia.extensions.api.UserData`."""

    kind: type[T]
    key: str
    settings: Settings

    def get(self) -> T:
        """What is kept."""
        return typed(self.kind, self.settings.get(self.key))

    def set(self, value: T) -> None:
        """Keep *value*."""
        self.settings.set(self.key, msgspec.to_builtins(value))
