"""Cards in PNG pictures: text chunks ``ccv3``, ``chara`` (both base64 of JSON) and NovelAI's ``naidata``."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

from marginalia.errors import FormatError

PNG = b"\x89PNG\r\n\x1a\n"
MOST_TEXT = 64 * 1024 * 1024
_HEADER = struct.Struct(">I4s")
_NEWEST_FIRST = ("ccv3", "chara", "naidata")
_CRC = 4


def cards_in_picture(data: bytes, called: str) -> list[bytes]:
    """What the chunks of cards hold, the newest version first.

    Raises:
        FormatError: the picture is cut off, or a text in it unpacks to far too much.
    """
    chunks = dict(_texts(data, called))
    return [chunks[name] for name in _NEWEST_FIRST if name in chunks]


def card_text(value: bytes, called: str) -> str:
    """The JSON text of a card; raises ``FormatError`` when the chunk is broken."""
    if value.lstrip()[:1] == b"{":
        return value.decode("utf-8", "replace")
    try:
        return base64.b64decode(b"".join(value.split()), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise FormatError(f"{called} is a picture whose card is broken: it is no base64 of a text.") from None


def _texts(data: bytes, called: str) -> Iterator[tuple[str, bytes]]:
    at = len(PNG)
    while at + _HEADER.size <= len(data):
        length, kind = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if at + length > len(data):
            raise FormatError(f"{called} is a picture that was cut off, or one that claims more than it has.")
        if kind in _READERS:
            found = _READERS[kind](data[at : at + length], called)
            if found is not None:
                yield found[0].lower(), found[1]
        at += length + _CRC


def _plain(chunk: bytes, _: str) -> tuple[str, bytes] | None:
    keyword, mark, value = chunk.partition(b"\0")
    return (keyword.decode("latin-1"), value) if mark else None


def _compressed(chunk: bytes, called: str) -> tuple[str, bytes] | None:
    keyword, mark, value = chunk.partition(b"\0")
    return (keyword.decode("latin-1"), _inflated(value[1:], called)) if mark and value else None


def _international(chunk: bytes, called: str) -> tuple[str, bytes] | None:
    keyword, mark, rest = chunk.partition(b"\0")
    fields = rest[2:].split(b"\0", 2)
    if not mark or len(fields) != 3:  # noqa: PLR2004 - language, translated keyword, text
        return None
    value = fields[2]
    return keyword.decode("latin-1"), _inflated(value, called) if rest[:1] == b"\1" else value


_READERS = {b"tEXt": _plain, b"zTXt": _compressed, b"iTXt": _international}


def _inflated(value: bytes, called: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(value, MOST_TEXT)
    except zlib.error:
        return b""
    if unpacker.unconsumed_tail:
        raise FormatError(f"{called} is a picture whose text unpacks to more than {MOST_TEXT:,} bytes.")
    return text
