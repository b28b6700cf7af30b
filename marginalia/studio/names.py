"""How books are named by callers, and files after the names that people gave."""

from __future__ import annotations

import re
from typing import TypeAlias
from uuid import NAMESPACE_OID, uuid5

from marginalia.values import Book, BookId

BookLike: TypeAlias = Book | BookId

_LOCAL = "local"
_KEPT = 60
_BYTES = 150  # names of files are at most 255 bytes long, and times and endings come behind this
_UNSAFE = re.compile(r"[^\w\- ]+")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)")


def file_name(name: str) -> str:
    """*name* as the beginning of a file's name on any system.

    Letters, digits, ``-`` and ``_``, at most 60 characters and 150 bytes.
    """
    plain = "-".join(_UNSAFE.sub(" ", name).split())[:_KEPT]
    plain = plain.encode()[:_BYTES].decode(errors="ignore").strip("-_")
    return f"{plain}_" if _RESERVED.fullmatch(plain) else plain or "book"


def folder_of(user: str) -> str:
    """The name of a folder that is *user*'s alone, whatever they are called; none for the one person at a machine."""
    return "" if user == _LOCAL else uuid5(NAMESPACE_OID, user).hex


def book_id(book: BookLike) -> BookId:
    """The id of a book that is given as itself or as its id."""
    return book.id if isinstance(book, Book) else book
