"""CHARX: a zip archive with a ``card.json``. It is read in memory; nothing is ever unpacked to a path."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO
from pathlib import PureWindowsPath

from marginalia.errors import FormatError

CARD = "card.json"
MOST_CARD = 64 * 1024 * 1024
MOST_FILES = 20_000
_BOMB_BYTES = 10 * 1024 * 1024
_BOMB_RATIO = 100


def card_in_archive(data: bytes, called: str) -> str:
    """The text of the card in an archive.

    Raises:
        FormatError: it is no archive, has no card, is dangerous (paths that leave it, far more inside than it holds),
            or is encrypted.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            _check(members, called)
            card = next((each for each in members if each.filename == CARD), None)
            if card is None:
                raise FormatError(f"{called} is a zip archive without a {CARD}, so it is no character card.")
            with archive.open(card) as file:
                text = file.read(MOST_CARD + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
        raise FormatError(f"{called} is a zip archive that is broken or encrypted.") from None
    if len(text) > MOST_CARD:
        raise FormatError(f"{called} is a zip archive whose card unpacks to more than {MOST_CARD:,} bytes.")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{called} is a zip archive whose card is no UTF-8 text.") from None


def _check(members: list[zipfile.ZipInfo], called: str) -> None:
    if len(members) > MOST_FILES:
        raise FormatError(f"{called} is a zip archive of {len(members):,} files, which no card has.")
    for each in members:
        path = PureWindowsPath(each.filename)
        if path.is_absolute() or path.drive or path.root or ".." in path.parts:
            raise FormatError(
                f"{called} is a zip archive with a path that leads out of it: {each.filename!r}."
            )
        if each.file_size > _BOMB_BYTES and each.file_size > _BOMB_RATIO * max(1, each.compress_size):
            raise FormatError(f"{called} is a zip archive that unpacks to far more than it holds.")
