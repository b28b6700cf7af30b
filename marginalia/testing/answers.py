"""What a scripted server can answer: streams, plain JSON, failures, silence, and bytes that are no answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from marginalia.errors import InvalidInput
from marginalia.values import NOTHING

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A chunk of reasoning (``reasoning_content``)."""

    text: str


@dataclass(frozen=True, slots=True)
class Pause:
    """So many seconds in which the server sends nothing."""

    seconds: float


Piece: TypeAlias = str | Reasoning | Pause


@dataclass(frozen=True, slots=True, init=False)
class Stream:
    """A streamed answer: texts, :class:`Reasoning` and :class:`Pause`, then the finish reason and ``[DONE]``.

    ``disconnect_after`` closes the connection after so many chunks, without the end marker. ``pace`` is the
    time in seconds from one chunk to the next, for benchmarks; ``usage`` is sent in a chunk of its own.
    """

    pieces: tuple[Piece, ...]
    finish: str | None
    disconnect_after: int | None
    usage: Mapping[str, Any] | None
    pace: float

    def __init__(
        self,
        *pieces: Piece,
        finish: str | None = "stop",
        disconnect_after: int | None = None,
        usage: Mapping[str, Any] | None = None,
        pace: float = 0.0,
    ) -> None:
        object.__setattr__(self, "pieces", pieces)
        object.__setattr__(self, "finish", finish)
        object.__setattr__(self, "disconnect_after", disconnect_after)
        object.__setattr__(self, "usage", usage)
        object.__setattr__(self, "pace", pace)

    def events(self) -> Iterator[bytes | Pause]:
        """The stream as it goes over the wire, event by event."""
        sent = 0
        for piece in self.pieces:
            if isinstance(piece, Pause):
                yield piece
                continue
            if sent == self.disconnect_after:
                return
            sent += 1
            yield event(
                delta={"reasoning_content": piece.text}
                if isinstance(piece, Reasoning)
                else {"content": piece}
            )
        if self.disconnect_after is None:
            yield from closing_events(self.finish, self.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deltas:
    """A streamed answer made of raw ``delta`` objects."""

    deltas: Sequence[Mapping[str, Any]]
    finish: str | None = "stop"
    usage: Mapping[str, Any] | None = None

    def events(self) -> Iterator[bytes | Pause]:
        """The stream as it goes over the wire, event by event."""
        for delta in self.deltas:
            yield event(delta=delta)
        yield from closing_events(self.finish, self.usage)


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP status with a JSON body; a body of ``None`` is empty."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Json:
    """An answer in one piece, as a server gives it that does not stream; ``usage`` is added when given."""

    text: str = ""
    finish: str = "stop"
    usage: Mapping[str, Any] | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        message = {"role": "assistant", "content": self.text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        body: dict[str, Any] = {"id": "scripted", "object": "chat.completion", "choices": [choice]}
        return body if self.usage is None else body | {"usage": dict(self.usage)}


@dataclass(frozen=True, slots=True)
class Silent:
    """The request is taken, and nothing is ever sent; ``headers`` first sends the head of an event stream."""

    headers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """These bytes as body, in writes of ``piece`` bytes (0: one write), ``pause`` seconds apart.

    ``cut`` breaks the connection off behind them, so that the client sees an incomplete body. ``whole`` sends
    *data* instead of an HTTP response: status line, headers and all.
    """

    data: bytes = b""
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = NOTHING
    piece: int = 0
    pause: float = 0.0
    cut: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nobody listens at the address, from this place of the script on, until the server gets a new script."""


Answer: TypeAlias = Stream | Deltas | Status | Json | Silent | Raw | Refuse


def event(*, delta: Mapping[str, Any] | None = None, **fields: Any) -> bytes:  # noqa: ANN401 - any JSON
    """One server-sent event: a completion chunk with *delta*, and *fields* beside its choices."""
    choices = [] if delta is None else [{"index": 0, "delta": dict(delta), "finish_reason": None}]
    payload = {"id": "scripted", "object": "chat.completion.chunk", "choices": choices} | fields
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def closing_events(finish: str | None, usage: Mapping[str, Any] | None) -> Iterator[bytes]:
    """The finish reason, the usage if there is one, and ``[DONE]``."""
    if finish is not None:
        yield event(choices=[{"index": 0, "delta": {}, "finish_reason": finish}])
    if usage is not None:
        yield event(usage=dict(usage))
    yield DONE


def answer_from(script: Mapping[str, Any]) -> Answer:  # noqa: PLR0911 - one return per kind
    """The answer that a model script of the conformance cases describes (spec/semantics.md, section 0)."""
    match script.get("kind"):
        case "stream":
            return _stream(script)
        case "deltas":
            return Deltas(deltas=script["deltas"], finish=script.get("finish", "stop"))
        case "status":
            return Status(script["status"], script.get("body"))
        case "json":
            return Json(text=script.get("text", ""))
        case "silent":
            return Silent()
        case "refuse":
            return Refuse()
        case "raw":
            return _raw(script)
        case other:
            raise InvalidInput(f"{other!r} is no kind of model script.")


def _stream(script: Mapping[str, Any]) -> Stream:
    return Stream(
        *_pieces(script.get("chunks", ())),
        finish=script.get("finish", "stop"),
        disconnect_after=script.get("disconnect_after"),
        usage=script.get("usage"),
    )


def _pieces(chunks: Iterable[Mapping[str, Any]]) -> Iterator[Piece]:
    for chunk in chunks:
        if "pause_seconds" in chunk:
            yield Pause(chunk["pause_seconds"])
        if "reasoning" in chunk:
            yield Reasoning(chunk["reasoning"])
        if "text" in chunk:
            yield cast("str", chunk["text"])


def _raw(script: Mapping[str, Any]) -> Raw:
    data = script.get("data", "")
    return Raw(
        data=data if isinstance(data, bytes) else str(data).encode(),
        status=script.get("status", 200),
        content_type=script.get("content_type", "text/event-stream"),
    )
