"""The engine's journal as it lies on the disk, as far as it takes to tell a damaged length from a torn end.

After a short head every entry is its length, its checksum (eight bytes each, little-endian) and its content. Where a
length leads beyond the end of the file, the engine takes what follows for the torn end of a last write and drops it
without a word. That is right after a crash; where a byte of the length itself was damaged, it would drop everything
that was written since. Told apart: behind a damaged length stand whole entries that reach to the very end.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from marginalia.store.files import with_journal
from marginalia.store.troubles import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LENGTH = struct.Struct("<Q")
HEAD = 16  # bytes of length and checksum
_LONGEST_START = 256  # bytes that stand before the first entry at most
_SURE = 3  # entries in a row are no coincidence


def refuse_broken(database: Path) -> None:
    """Raise ``StoreDamaged`` where opening *database* would silently drop the end of its journal."""
    broken = broken_length(with_journal(database)[1])
    if broken is not None:
        raise damaged(database, f"the WAL entry at byte {broken} has a damaged length: corrupt WAL")


def broken_length(journal: Path) -> int | None:
    """Where the first damaged length of a journal stands; ``None`` where there is none, or nothing known here."""
    try:
        content = journal.read_bytes()
    except FileNotFoundError:
        return None
    for start in range(min(_LONGEST_START, len(content))):
        stopped, entries = _walked(content, start)
        if entries >= _SURE:
            torn = stopped >= len(content) - HEAD or next(lengths_at(content, stopped), None) is None
            return None if torn else stopped
    return None


def _walked(content: bytes, at: int) -> tuple[int, int]:
    """Where the entries from *at* on end, and how many they are."""
    entries = 0
    while at + HEAD <= len(content):
        length = int(_LENGTH.unpack_from(content, at)[0])
        if not 0 < length <= len(content) - at - HEAD:
            break
        at += HEAD + length
        entries += 1
    return at, entries


def lengths_at(content: bytes, at: int) -> Iterator[int]:
    """What the length at *at* can be for the entries behind it to reach the end of the file, shortest first."""
    for begin in range(at + HEAD + 1, len(content) - HEAD):
        stopped, entries = _walked(content, begin)
        if stopped == len(content) and entries >= _SURE:
            yield begin - at - HEAD


def write_length(journal: Path, at: int, length: int) -> None:
    """Let the entry at *at* have that length."""
    with journal.open("r+b") as file:
        file.seek(at)
        file.write(_LENGTH.pack(length))
