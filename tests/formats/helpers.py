"""Files, and the way of a file through the formats without a store."""

from __future__ import annotations

import base64
import json
import struct
import zipfile
import zlib
from dataclasses import replace
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

from marginalia.formats import Exported, LoreFile, read_lore, write_lore
from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook
from marginalia.lore.collecting import collect, in_order
from marginalia.lore.scan import Scan
from marginalia.values import EntryId, LorebookId

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.iterdir())


def as_bytes(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def lore(document: Any, file: str = "upload.json", **options: Any) -> LoreFile:
    return read_lore(document if isinstance(document, bytes) else as_bytes(document), file, **options)


def shelved(file: LoreFile) -> list[FilledLorebook]:
    """The lorebooks of a file as a store would give them back."""
    numbers = count(1)
    bound = file.bind(new_uid=lambda: f"uid-{next(numbers)}")
    return [
        FilledLorebook(
            lorebook=replace(
                each.lorebook,
                id=LorebookId(at),
                subbooks=tuple(LorebookId(below + 1) for below in each.below),
            ),
            entries=tuple(replace(entry, id=EntryId(next(numbers))) for entry in each.entries),
        )
        for at, each in enumerate(bound, 1)
    ]


def written_back(file: LoreFile) -> Exported:
    return write_lore(shelved(file), file.codec.id)


def entries(document: Any, **options: Any) -> list[Entry]:
    """All entries of all lorebooks of a file."""
    return [row.entry for row in lore(document, **options).shelf.rows if row.entry is not None]


def world(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A world info file."""
    return {"entries": {str(at): {"uid": at, **row} for at, row in enumerate(rows)}, **more}


def only(row: dict[str, Any]) -> Entry:
    """The one entry of a world info file."""
    (found,) = entries(world(row))
    return found


def book(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A card of version 3 with a lorebook."""
    defaults = {"keys": ["k"], "content": "", "extensions": {}, "enabled": True, "insertion_order": 1}
    entries_ = [{**defaults, **row} for row in rows]
    return {
        "spec": "chara_card_v3",
        "data": {"name": "Ilse", "description": "d", "character_book": {"entries": entries_, **more}},
    }


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(kind + body))


def picture(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG picture of one point, with further chunks."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    point = chunk(b"IDAT", zlib.compress(b"\0\0"))
    between = b"".join(chunk(kind, body) for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + head + between + point + chunk(b"IEND", b"")


def card_chunk(name: str, document: Any) -> tuple[bytes, bytes]:
    return b"tEXt", name.encode() + b"\0" + base64.b64encode(as_bytes(document))


def archive(**files: bytes) -> bytes:
    """A zip archive; a double underscore in a name is a slash, one a dot."""
    return archive_of({name.replace("__", "/").replace("_", "."): body for name, body in files.items()})


def archive_of(files: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in files.items():
            made.writestr(name, body)
    return out.getvalue()


def called(document: Any, request: str = "", *, story: tuple[str, ...] = (), **scan: Any) -> list[str]:
    """The names of the entries of a file that a request calls."""
    books = {each.lorebook.id: each for each in shelved(lore(document))}
    candidates = in_order(collect(LorebookId(1), books.get))
    found = activate(candidates, Scan(request=request, story=story, parts=len(story), **scan))
    return [each.entry.name for each in found if each.active]
