"""What commands share: the studio of the user, books by what people call them, files that are not overwritten."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from marginalia.errors import InvalidInput, NotFound
from marginalia.lore.book import Lorebook
from marginalia.store.files import write_whole
from marginalia.studio import Studio
from marginalia.values import Book

T = TypeVar("T", Book, Lorebook)


def studio_for(options: Namespace) -> Studio:
    """The studio of the user named on the command line, on the database in the home folder."""
    return Studio(user=options.user)


def book_called(studio: Studio, called: str) -> Book:
    """The one book with that identifier, number or name, whatever its case.

    Raises ``NotFound``, or ``InvalidInput`` where several are called so.
    """
    return _called(studio.books.all(), called, "book")


def lorebook_called(studio: Studio, called: str) -> Lorebook:
    """The one lorebook that is called so; raises like :func:`book_called`."""
    return _called(studio.lorebooks.all(), called, "lorebook")


def _called(records: Sequence[T], called: str, what: str) -> T:
    for matches in (
        [each for each in records if each.uid == called],
        [each for each in records if each.name.casefold() == called.strip().casefold()],
        [each for each in records if str(each.id) == called],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            numbers = ", ".join(str(each.id) for each in matches)
            raise InvalidInput(
                f"{len(matches)} {what}s are called {called!r}; give the number of one: {numbers}."
            )
    names = ", ".join(repr(each.name) for each in records) or "none yet"
    raise NotFound(f"There is no {what} {called!r}. The {what}s here: {names}.")


def write_file(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file whole or not at all.

    Raises ``InvalidInput`` for one that is there, unless *force*, and ``StoreError`` where it cannot be written.
    """
    if path.exists() and not force:
        raise InvalidInput(f"{path} is there already; choose another name, or replace it with --force.")
    write_whole(path, data)
