"""Restores a book again and again, until it is killed; says when it begins."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from marginalia.store.backup import Backups
from marginalia.store.backup_check import checked
from marginalia.store.backup_file import unpack
from tests.store.helpers import open_store

if __name__ == "__main__":
    store = open_store(Path(sys.argv[1]))
    kept = checked(unpack(Path(sys.argv[2]).read_bytes())[1])
    (book,) = store.books.all()
    for number in count():
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        Backups(store.desk).apply(book, kept)
