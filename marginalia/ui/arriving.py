"""Files that come from the browser, piece by piece, so that no message is too large."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

from marginalia.formats.intake import MOST_BYTES
from marginalia.studio.lorebooks import Upload

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said

_MOST_FILES = 200


class Arriving:
    """What has come of the files of one dialog."""

    def __init__(self) -> None:
        self._coming: dict[str, bytearray] = {}

    def take(self, said: Said) -> str:
        """Take a piece of a file; what is wrong with it as a sentence, or nothing."""
        key = str(said.get("key"))
        coming = self._coming.setdefault(key, bytearray())
        coming += b64decode(str(said.get("data") or ""))
        if len(coming) <= MOST_BYTES and len(self._coming) <= _MOST_FILES:
            return ""
        self._coming.pop(key)
        return f"A file has more than {MOST_BYTES:,} bytes, or there are too many at once."

    def all_of(self, said: Said) -> list[Upload]:
        """The files that a message names, whole; everything is let go of."""
        given = [(str(each["key"]), str(each["name"])) for each in said.get("files") or ()]
        uploads = [Upload(name, bytes(self._coming[key])) for key, name in given if key in self._coming]
        self._coming.clear()
        return uploads
