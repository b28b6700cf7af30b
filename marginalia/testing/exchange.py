"""One HTTP exchange of the scripted server: the request, the answer, and whether the client left early."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import anyio.to_thread

from marginalia.testing.answers import Answer, Deltas, Json, Pause, Raw, Refuse, Silent, Status, Stream

_EVENT_STREAM = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}


@dataclass(slots=True, kw_only=True)
class Recorded:
    """A request that came in: ``raw`` is its body, ``body`` the same read as JSON (``None`` when it is none).

    Header names are lower case. ``disconnected`` tells whether the client went away before the answer was
    complete, and ``left_at`` when it did (``time.monotonic()``).
    """

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any = None
    disconnected: bool = False
    left_at: float | None = None
    over: threading.Event = field(default_factory=threading.Event, repr=False)

    async def settled(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - a bound for tests, not a cancel scope
        """Wait until the exchange is over: answered, or left by the client; raises ``TimeoutError``."""
        if not await anyio.to_thread.run_sync(self.over.wait, timeout):
            raise TimeoutError(f"{self.method} {self.path} was still open after {timeout} s")


async def read_request(reader: asyncio.StreamReader) -> Recorded | None:
    """The request, or ``None`` when the client closed without one."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    method, path, _ = first.split(" ", 2)
    return Recorded(method=method, path=path, headers=headers, raw=raw, body=_as_json(raw))


async def give(
    answer: Answer, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send *answer*; what remains of it is dropped as soon as the client closes the connection."""
    sending = asyncio.ensure_future(_send(answer, writer))
    leaving = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done() or isinstance(sending.exception(), ConnectionError):
            request.disconnected = True
            request.left_at = time.monotonic()
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)
        request.over.set()


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> None:
    match answer:
        case Stream() | Deltas():
            await _send_stream(answer, writer)
        case Status():
            await _send_json(writer, answer.status, answer.body, answer.headers)
        case Json():
            await _send_json(writer, 200, answer.body, {})
        case Raw():
            await _send_raw(answer, writer)
        case Silent():
            if answer.headers:
                writer.write(_head(200, _EVENT_STREAM))
            await asyncio.Event().wait()
        case Refuse():
            # The connection was made before the door closed; an abrupt end is the nearest thing to a refusal.
            writer.transport.abort()


async def _send_stream(answer: Stream | Deltas, writer: asyncio.StreamWriter) -> None:
    writer.write(_head(200, _EVENT_STREAM))
    pace = answer.pace if isinstance(answer, Stream) else 0.0
    due = time.monotonic()
    for each in answer.events():
        if isinstance(each, Pause):
            await asyncio.sleep(each.seconds)
            continue
        writer.write(b"%x\r\n%b\r\n" % (len(each), each))
        await writer.drain()
        due += pace
        # Without a pace the loop gets its turn all the same, so that a closed socket is noticed.
        await asyncio.sleep(max(0.0, due - time.monotonic()) if pace else 0.0)
    if not (isinstance(answer, Stream) and answer.disconnect_after is not None):
        writer.write(b"0\r\n\r\n")
    await _flush(writer)


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str]
) -> None:
    data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
    head = {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
    writer.write(_head(status, head) + data)
    await _flush(writer)


async def _send_raw(answer: Raw, writer: asyncio.StreamWriter) -> None:
    if not answer.whole:
        length = len(answer.data) + (1 if answer.cut else 0)
        head = {"Content-Type": answer.content_type, "Content-Length": str(length), **answer.headers}
        writer.write(_head(answer.status, {name: value for name, value in head.items() if value}))
    for piece in _pieces(answer.data, answer.piece):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(answer.pause)
    await _flush(writer)


async def _flush(writer: asyncio.StreamWriter) -> None:
    await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    step = size or max(1, len(data))
    return (data[at : at + step] for at in range(0, len(data), step))


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Scripted"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode("latin-1")


def _as_json(raw: bytes) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(raw)
    except ValueError:
        return None
