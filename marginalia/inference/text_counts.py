"""What servers counted: how many tokens texts have for one model, kept for the next start.

A text is known by a digest of it, so that the files hold no story. They are a cache: delete them, and the server is
asked again. Each begins with one line of JSON, which names the model and the way that counted; records of twenty bytes
follow, sixteen of the digest and four of the number. A record that a crash cut off is passed over.
"""

from __future__ import annotations

import json
import struct
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import cast

_DIGEST_BYTES = 16
_RECORD = struct.Struct(f"<{_DIGEST_BYTES}sI")
_MOST_KEPT = 50_000
_SHORTEST_KEPT = 200  # characters: shorter texts change with every turn and are counted in no time
_FOLDER = "counts"


class TextCounts:
    """The counts of one model, oldest first; safe to use from several threads.

    ``way`` is the path of the server that counted, empty while nothing was. Without a *folder* nothing is kept.
    """

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self.model = model
        self.way = ""
        self._path = None if folder is None else folder / _FOLDER / f"{_digest(model).hex()}.counts"
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()
        self._load()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, text: str) -> int | None:
        """The number of tokens of *text*, if it was ever counted."""
        if not text:
            return 0
        return self._known.get(_digest(text))

    def put(self, counted: Mapping[str, int], way: str) -> None:
        """Keep what the server counted by *way*; writes a file, so not for the loop."""
        records = b""
        with self._lock:
            if way != self.way:
                # Other endpoints may count otherwise (beginnings, special tokens): what is known is theirs.
                self._known.clear()
                self.way = way
                self._begin()
            for text, tokens in counted.items():
                digest = _digest(text)
                self._known[digest] = tokens
                if len(text) >= _SHORTEST_KEPT:
                    records += _RECORD.pack(digest, tokens)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
            self._append(records)

    def _begin(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_bytes(self._head())

    def _head(self) -> bytes:
        return json.dumps({"model": self.model, "way": self.way}).encode() + b"\n"

    def _append(self, records: bytes) -> None:
        if self._path is not None and records:
            # A cache that cannot be written is not worth a word.
            with suppress(OSError), self._path.open("ab") as file:
                file.write(records)

    def _load(self) -> None:
        if self._path is None:
            return
        with suppress(OSError, ValueError):
            head, _, body = self._path.read_bytes().partition(b"\n")
            self.way = str(cast("dict[str, object]", json.loads(head))["way"])
            whole = len(body) - len(body) % _RECORD.size
            self._known.update(_RECORD.iter_unpack(body[:whole]))
            if len(self._known) > _MOST_KEPT or whole != len(body):
                self._shorten()

    def _shorten(self) -> None:
        """Write the file anew, with the newest half of what is too much, and without a record that is cut off."""
        if len(self._known) > _MOST_KEPT:
            while len(self._known) > _MOST_KEPT // 2:
                self._known.popitem(last=False)
        if self._path is not None:
            records = b"".join(_RECORD.pack(*pair) for pair in self._known.items())
            part = self._path.with_suffix(".part")
            part.write_bytes(self._head() + records)
            part.replace(self._path)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
