"""How books are named by callers, and files after the names that people gave."""

from __future__ import annotations

import re
from typing import TypeAlias

from marginalia.values import Book, BookId

BookLike: TypeAlias = Book | BookId

_KEPT = 60
_UNSAFE = re.compile(r"[^\w\- ]+")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)")


def file_name(name: str) -> str:
    """*name* as the beginning of a file's name on any system.

    Letters, digits, ``-`` and ``_``, at most 60 characters.
    """
    plain = "-".join(_UNSAFE.sub(" ", name).split())[:_KEPT].strip("-_")
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain or "book"


def book_id(book: BookLike) -> BookId:
    """The id of a book that is given as itself or as its id."""
    return book.id if isinstance(book, Book) else book
