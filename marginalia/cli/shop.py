"""What commands share: the studio of the user, books by what people call them, files that are not overwritten."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from tempfile import NamedTemporaryFile

from marginalia.errors import InvalidInput, NotFound
from marginalia.studio import Studio
from marginalia.values import Book


def studio_for(options: Namespace) -> Studio:
    """The studio of the user named on the command line, on the database in the home folder."""
    return Studio(user=options.user)


def book_called(studio: Studio, called: str) -> Book:
    """The one book with that identifier, number or name, whatever its case; raises ``InvalidInput``, ``NotFound``."""
    books = studio.books.all()
    for matches in (
        [book for book in books if book.uid == called],
        [book for book in books if book.name.casefold() == called.strip().casefold()],
        [book for book in books if str(book.id) == called],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            numbers = ", ".join(str(book.id) for book in matches)
            raise InvalidInput(
                f"{len(matches)} books are called {called!r}; give the number of one: {numbers}."
            )
    names = ", ".join(f"{book.name!r}" for book in books) or "none yet"
    raise NotFound(f"There is no book {called!r}. The books here: {names}.")


def write_file(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file whole or not at all; raises ``InvalidInput`` for one that is there, unless *force*."""
    if path.exists() and not force:
        raise InvalidInput(f"{path} is there already; choose another name, or replace it with --force.")
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    temporary.replace(path)
