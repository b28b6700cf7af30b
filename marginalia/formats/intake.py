"""From bytes to a document: JSON, lines of JSON, PNG cards, CHARX. What cannot be read is refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, NoReturn

import regex

from marginalia.errors import FormatError
from marginalia.formats.archives import card_in_archive
from marginalia.formats.coerce import Json, is_list, is_object, obj, rows
from marginalia.formats.pictures import PNG, card_text, cards_in_picture

MOST_BYTES = 64 * 1024 * 1024
DEEPEST = 100
_LONGEST_NUMBER = 4_000
_SURROGATE = regex.compile(r"\\u[dD][89a-fA-F]")
_LONE = regex.compile(r"[\ud800-\udfff]")
_ENDING = regex.compile(r"\.(?:json|lorebook|scenario|png|charx|jsonl|story|card|txt)\Z", regex.IGNORECASE)

_OTHER_FILES: Sequence[tuple[bytes, str]] = (
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"%PDF", "a PDF document"),
    (b"\xff\xd8\xff", "a JPEG picture, which cannot hold a card; PNG pictures can"),
    (b"RIFF", "a WebP picture or a sound; of pictures, PNG can hold a card"),
    (b"\x80\x04", "a pickled Python object, which is never opened"),
    (b"\x80\x03", "a pickled Python object, which is never opened"),
    (b"\x80\x02", "a pickled Python object, which is never opened"),
    (b"SQLite format 3", "an SQLite database"),
    (b"Rar!", "a RAR archive; unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
)
_LOOKS: Sequence[tuple[str, str]] = (
    ("chara_card_v", "a character card"),
    ("lorebookVersion", "a NovelAI lorebook"),
    ("scenarioVersion", "a NovelAI scenario"),
    ("marginalia-lorebook", "a Marginalia lorebook"),
    ("keysecondary", "SillyTavern world info"),
    ('"risu"', "a RisuAI lorebook"),
    ('"swipes"', "a SillyTavern chat"),
    ('"entries"', "a lorebook"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The document in a file, how it was wrapped, and what had to be put right to read it."""

    document: Json
    wrapping: Literal["json", "lines", "png", "charx"]
    repairs: tuple[str, ...] = ()


def open_document(data: bytes, file: str = "") -> Opened:
    """The document in *data*. *file* is only for the sentences; what a file is, is told by its content.

    Raises:
        FormatError: with file, place and what it looks like.
    """
    called = f"{file!r}" if file else "This file"
    if len(data) > MOST_BYTES:
        raise FormatError(f"{called} has {len(data):,} bytes; {MOST_BYTES:,} can be read.")
    if not data.strip():
        raise FormatError(f"{called} is empty.")
    if data.startswith(PNG):
        return _from_picture(data, called)
    if data.startswith(b"PK\x03\x04"):
        return _wrapped(card_in_archive(data, called), called, "charx")
    for start, what in _OTHER_FILES:
        if data.startswith(start):
            raise FormatError(f"{called} is {what}.")
    return _from_text(_decoded(data, called), called)


def stem(file: str) -> str:
    """A file's name without folders and ending."""
    return _ENDING.sub("", PurePath(file.replace("\\", "/")).name).strip()


def _from_picture(data: bytes, called: str) -> Opened:
    problems: list[FormatError] = []
    for value in cards_in_picture(data, called):
        try:
            opened = _wrapped(card_text(value, called), called, "png")
        except FormatError as error:
            problems.append(error)
            continue
        repair = (
            ("the newer card in the picture is broken; the older one beside it was read",) if problems else ()
        )
        return Opened(document=opened.document, wrapping="png", repairs=(*opened.repairs, *repair))
    raise problems[0] if problems else FormatError(f"{called} is a picture without a card or lorebook in it.")


def _wrapped(text: str, called: str, wrapping: Literal["png", "charx"]) -> Opened:
    opened = _from_text(text, f"The card in {called}")
    return Opened(document=opened.document, wrapping=wrapping, repairs=opened.repairs)


def _decoded(data: bytes, called: str) -> str:
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return _decode(data, name, called)
    if data[1:2] == b"\x00" and data[:1] in b"{[":
        return _decode(data, "utf-16-le", called)
    if data[:1] == b"\x00" and data[1:2] in (b"{", b"["):
        return _decode(data, "utf-16-be", called)
    return _decode(data, "utf-8", called)


def _decode(data: bytes, encoding: str, called: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{called} is no text file that can be read: byte {error.start:,} is no {encoding.upper()}. "
            "Lorebooks, cards and chats are JSON files in UTF-8, PNG pictures, or CHARX archives."
        ) from None


def _from_text(text: str, called: str) -> Opened:
    reader = _Reader()
    first = text.lstrip()[:1]
    if first not in {"{", "["}:
        raise FormatError(
            f"{called} is no JSON file: it begins with {text.lstrip()[:12]!r}. "
            "Lorebooks, cards and chats are JSON files, PNG pictures, or CHARX archives."
        )
    try:
        return Opened(document=reader.read(text), wrapping="json", repairs=reader.repairs())
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and (lines := _lines(text)) is not None:
            return Opened(document=lines, wrapping="lines")
        _refuse(text, called, error)
    except RecursionError:
        raise FormatError(f"{called} is nested deeper than anything that can be read here.") from None


def _refuse(text: str, called: str, error: json.JSONDecodeError) -> NoReturn:
    looks = next((what for sign, what in _LOOKS if sign in text), "")
    like = f" It looks like {looks} that was cut off or edited by hand." if looks else ""
    raise FormatError(
        f"{called} is broken at line {error.lineno}, column {error.colno}: {error.msg}.{like}"
    ) from None


def _lines(text: str) -> list[Json] | None:
    """One JSON object per line; ``None`` when it is not that. A last line that was cut off is left out."""
    found: list[Json] = []
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            found.append(_Reader().read(line))
        except (ValueError, RecursionError):
            if number < len(lines) or number == 1:
                return None
    return found if all(is_object(each) for each in found) else None


class _Reader:
    """Reads JSON as its writers mean it, and remembers what it had to put right."""

    def __init__(self) -> None:
        self._twice = False
        self._numbers = False
        self._halves = False

    def read(self, text: str) -> Json:
        document: Json = json.loads(
            text,
            object_pairs_hook=self._pairs,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
            strict=False,
        )
        if _deeper_than(document, DEEPEST):
            raise RecursionError
        if _SURROGATE.search(text) or not _encodable(text):
            document = self._whole(document)
        return document

    def repairs(self) -> tuple[str, ...]:
        """What was put right, as sentences."""
        found = (
            (self._twice, "a name stands twice in an object; the last one was taken"),
            (self._numbers, "a number is none that JSON has, or too large, and was changed"),
            (self._halves, "halves of characters were replaced"),
        )
        return tuple(line for there, line in found if there)

    def _pairs(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(pairs)
        self._twice = self._twice or len(result) != len(pairs)
        return result

    def _constant(self, _: str) -> None:
        self._numbers = True

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if value - value == 0:
            return value
        self._numbers = True
        return None

    def _int(self, digits: str) -> int | float | None:
        if len(digits) <= _LONGEST_NUMBER:
            return int(digits)
        self._numbers = True
        return self._float(digits)

    def _whole(self, value: Json) -> Json:
        if isinstance(value, str):
            fixed = _LONE.sub("\ufffd", value)
            self._halves = self._halves or fixed != value
            return fixed
        if is_object(value):
            return {self._whole(name): self._whole(each) for name, each in obj(value).items()}
        return [self._whole(each) for each in rows(value)] if is_list(value) else value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _deeper_than(value: Json, most: int) -> bool:
    level: list[Json] = [value]
    for _ in range(most):
        level = [each for holder in level for each in _inside(holder) if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _inside(holder: Json) -> Iterable[Json]:
    return obj(holder).values() if is_object(holder) else rows(holder)
