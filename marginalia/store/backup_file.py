"""The file of a backup: a zip of JSON that people can read, with a version and a fingerprint for every member.

``manifest.json`` says what it is; ``book.json`` holds the book, its provider and its protocol; every other member is
one JSON object per line (``parts.jsonl``, ``versions.jsonl`` …), with the fields of the rows in
:mod:`marginalia.store.backup_records`. A file is read whole and checked whole before anybody works with it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from marginalia.errors import FormatError
from marginalia.store.backup_records import (
    BookBackup,
    BookRow,
    EntryRow,
    Moment,
    NamedRow,
    PartRow,
    ReceiptRow,
    SummaryRow,
    TextRow,
    TrashRow,
    VersionRow,
)
from marginalia.store.codec import plain
from marginalia.values import Progress, counted, untold

FORMAT = "marginalia-book"
VERSION = 1
_LARGEST = 2_000_000_000  # bytes of a backup when unpacked; more is a mistake or an attack
_MANIFEST = "manifest.json"
_BOOK = "book.json"
_LINES: Mapping[str, type] = {
    "parts": PartRow,
    "versions": VersionRow,
    "receipts": ReceiptRow,
    "texts": TextRow,
    "summaries": SummaryRow,
    "trash": TrashRow,
    "lorebooks": NamedRow,
    "entries": EntryRow,
}
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same backup is the same file, whenever it is written

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says about itself; ``files`` maps each member to its SHA-256."""

    format: str
    version: int
    name: str
    created: Moment
    made_by: str = ""
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    book: BookRow
    provider: NamedRow | None = None
    protocol: NamedRow | None = None


def pack(backup: BookBackup, *, now: datetime, made_by: str, progress: Progress = untold) -> bytes:
    """The file of *backup*; *made_by* names the version of Marginalia, *progress* is told how far it is."""
    heads = _Heads(book=backup.book, provider=backup.provider, protocol=backup.protocol)
    members = {_BOOK: _json(heads)}
    lines = counted(tuple(_LINES), progress, end=0.5)
    members |= {f"{name}.jsonl": _json_lines(getattr(backup, name)) for name in lines}
    prints = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    manifest = Manifest(
        format=FORMAT, version=VERSION, name=backup.book.name, created=now, made_by=made_by, files=prints
    )
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        told = ((_MANIFEST, _json(manifest)), *members.items())
        for name, content in counted(told, progress, begin=0.5):
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return raw.getvalue()


def is_backup(data: bytes) -> bool:
    """Whether *data* looks like a backup of a book, by its content."""
    try:
        return _manifest(_opened(data)).format == FORMAT
    except FormatError:
        return False


def unpack(data: bytes, progress: Progress = untold) -> tuple[Manifest, BookBackup]:
    """The backup in a file, checked to the last byte; *progress* is told how far that is.

    Raises:
        FormatError: it is something else, damaged, or was made by a newer version.
    """
    archive = _opened(data)
    manifest = _manifest(archive)
    if manifest.format != FORMAT:
        raise FormatError("This file is no backup of a book.")
    if not 1 <= manifest.version <= VERSION:
        raise FormatError(
            f"This backup has version {manifest.version} of the format, and this Marginalia reads up to {VERSION}. "
            "Install the newest version and try again."
        )
    names = (_BOOK, *(f"{each}.jsonl" for each in _LINES))
    members = {name: _checked(archive, name, manifest) for name in counted(names, progress, end=0.5)}
    heads = _decoded(members[_BOOK], _Heads, _BOOK)
    lines: dict[str, Any] = {
        name: _decoded_lines(members[f"{name}.jsonl"], row, name)
        for name, row in counted(tuple(_LINES.items()), progress, begin=0.5)
    }
    return manifest, BookBackup(book=heads.book, provider=heads.provider, protocol=heads.protocol, **lines)


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise FormatError("This file is no backup of a book, or it is cut off.") from error
    if sum(info.file_size for info in archive.infolist()) > _LARGEST:
        raise FormatError(
            "This file says that it unpacks to more than 2 GB. No backup of a book is that large."
        )
    return archive


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if _MANIFEST not in archive.namelist():
        raise FormatError("This file is no backup of a book: there is no manifest.json in it.")
    return _decoded(_content(archive, _MANIFEST), Manifest, _MANIFEST)


def _checked(archive: zipfile.ZipFile, name: str, manifest: Manifest) -> bytes:
    content = _content(archive, name)
    if hashlib.sha256(content).hexdigest() != manifest.files.get(name):
        raise FormatError(f"This backup is damaged: {name} in it is not what was written. Use another copy.")
    return content


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        size = archive.getinfo(name).file_size
        with archive.open(name) as member:
            content = member.read(size + 1)
    except KeyError:
        raise FormatError(f"This backup is incomplete: {name} is missing in it. Use another copy.") from None
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FormatError(
            f"This backup is damaged: {name} in it cannot be read. Use another copy."
        ) from error
    return content


def _decoded(content: bytes, row: type[T], name: str) -> T:
    try:
        return msgspec.json.decode(content, type=row)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(
            f"This backup cannot be read: {name} in it is not as it should be ({error})."
        ) from error


def _decoded_lines(content: bytes, row: type[T], name: str) -> tuple[T, ...]:
    try:
        return tuple(msgspec.json.Decoder(row).decode_lines(content))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(
            f"This backup cannot be read: {name}.jsonl in it is not as it should be ({error})."
        ) from error


def _json(record: Any) -> bytes:  # noqa: ANN401 - any of our dataclasses
    return msgspec.json.format(msgspec.json.encode(plain(record)), indent=1)


def _json_lines(records: tuple[Any, ...]) -> bytes:
    return msgspec.json.Encoder().encode_lines([plain(_shortened(record)) for record in records])


def _shortened(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any of our dataclasses
    """The fields of a row that are not as they always are."""
    return {
        field.name: value
        for field in dataclasses.fields(record)
        if (value := getattr(record, field.name)) != field.default
    }
