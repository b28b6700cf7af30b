"""Server-sent events as language model servers really send them: bytes in, JSON payloads out, no I/O.

Lines end at CR, LF or CRLF and nowhere else, because U+2028 and its relatives stand unescaped in the JSON of llama.cpp
and vLLM. Tolerated beyond the standard, each seen in the wild: payloads over several ``data`` lines, events without a
blank line between them or glued together, JSON lines without ``data:``, ``error:`` as a field of its own, comments
wrapped into data, and an end of the stream in the middle of an event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
# Twice as fast, and strict; what it refuses gets a second reading, because careless proxies leave control characters
# in strings as they are, and some servers cut UTF-16 pairs apart.
_STRICT = msgspec.json.Decoder()
_LENIENT = json.JSONDecoder(strict=False)
_GLUED = re.compile(r"(?<=[}\]])\s*data:\s*(?=[{\[])")


class Event(NamedTuple):
    """What one event holds: a JSON ``payload``, an ``error`` object or text, the end mark, or ``broken`` text."""

    kind: Literal["payload", "error", "done", "broken"]
    value: Any = None


class Lines:
    """Cuts a stream of bytes into lines, however it was cut before."""

    __slots__ = ("_after_cr", "_at_start", "_partial")

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that *data* completes, without their ends."""
        if not data:
            return
        if self._after_cr:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        start = 0
        for match in _LINE_END.finditer(data):
            self._partial.append(data[start : match.start()])
            start = match.end()
            yield self._take()
        if start < len(data):
            self._partial.append(data[start:])
        else:
            self._after_cr = data.endswith(b"\r")

    def flush(self) -> Iterator[str]:
        """The last line, when the stream ended without a line end."""
        if self._partial:
            yield self._take()

    def _take(self) -> str:
        line = b"".join(self._partial)
        self._partial.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        return line.decode("utf-8", "replace")


class EventDecoder:
    """Turns the bytes of a stream into events; give it every piece, then call :meth:`flush`."""

    __slots__ = ("_data", "_lines", "_loose", "_name")

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[str] = []
        self._name = ""
        self._loose = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that *data* completes."""
        for line in self._lines.feed(data):
            yield from self._line(line)

    def flush(self) -> Iterator[Event]:
        """What is left at the end of the stream."""
        for line in self._lines.flush():
            yield from self._line(line)
        yield from self._dispatch()

    def _line(self, line: str) -> Iterator[Event]:
        if line.startswith("data: {") and not self._loose:
            yield from self._add(line[6:])
        elif not line.strip():
            if not self._loose:
                yield from self._dispatch()
        elif self._loose or line.lstrip().startswith(("{", "[")):
            # JSON without any field name, perhaps over several lines.
            self._loose = True
            yield from self._add(line)
        else:
            yield from self._field(*line.split(":", 1))

    def _field(self, name: str, value: str = "") -> Iterator[Event]:
        value = value.removeprefix(" ")
        if name == "data":
            yield from self._add(value)
        elif name == "event":
            self._name = value.strip()
        elif name == "error":
            yield from self._dispatch()
            found = parse(value)
            yield Event("error", value.strip() if found is _BROKEN else found)

    def _add(self, value: str) -> Iterator[Event]:
        self._data.append(value)
        # Every payload is complete with its line in practice: it goes out at once, whether or not a blank line
        # follows, and only one that cannot be read waits for more.
        if value.rstrip().endswith(("}", "]")):
            found = parse("\n".join(self._data))
            if found is not _BROKEN:
                yield self._event(found)
                self._forget()

    def _dispatch(self) -> Iterator[Event]:
        text = "\n".join(self._data).strip()
        if text and not text.startswith(":"):
            found = parse(text)
            if found is not _BROKEN:
                yield self._event(found)
            else:
                yield from self._pieces()
        self._forget()

    def _pieces(self) -> Iterator[Event]:
        """What can be read of an event that is no JSON as a whole: each line alone, glued events apart."""
        for line in self._data:
            for piece in filter(None, map(str.strip, _GLUED.split(line))):
                found = parse(piece)
                yield Event("broken", piece) if found is _BROKEN else self._event(found)

    def _event(self, found: object) -> Event:
        if found is _DONE:
            return Event("done")
        if self._name == "error" and not (isinstance(found, dict) and "choices" in found):
            return Event("error", found)
        return Event("payload", found)

    def _forget(self) -> None:
        self._data = []
        self._name = ""
        self._loose = False


_BROKEN: Any = object()
_DONE: Any = object()


def parse(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The JSON in *text*, raw control characters allowed; a mark of its own for ``[DONE]`` and for what is no JSON."""
    text = text.strip()
    if text == "[DONE]":
        return _DONE
    try:
        return _STRICT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return _BROKEN
