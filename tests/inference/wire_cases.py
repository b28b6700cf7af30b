"""Byte-level cases: an object of cases with a body and what must come out of it, as ``data/wire.json`` has them.

``check(case, size)`` is also for the conformance runner, which gets files of that form.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marginalia.errors import ModelError
from marginalia.inference.answer import AnswerReader
from marginalia.inference.errors import from_response, may_be_retried
from marginalia.pipeline.ports import Chunk, Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The cases name failures more finely or more coarsely than our kinds do.
_KINDS = {
    "context": {"context_overflow"},
    "auth": {"auth", "permission"},
    "quota": {"rate_limit"},
    "rate_limit": {"rate_limit"},
    "overloaded": {"server"},
    "loading": {"server"},
    "model": {"unknown_model"},
    "not_an_api": {"not_found"},
    "http": {"server", "timeout"},
    "provider": {"server"},
    "bad_request": {"bad_request"},
    "cut": {"connection"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What was read of a case's body."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    complete: bool = False
    refusal: str = ""
    warnings: int = 0
    error: ModelError | None = None


def body_of(case: Mapping[str, Any]) -> bytes:
    """The body of a case."""
    return base64.b64decode(case["body_b64"]) if "body_b64" in case else case["body"].encode()


def read(case: Mapping[str, Any], size: int) -> Got:
    """The answer in the case's body, fed in pieces of *size* bytes (0: whole)."""
    body = body_of(case)
    if not 200 <= case.get("status", 200) < 300:
        return Got(error=from_response(case["status"], case.get("headers") or {}, body))
    step = size or max(1, len(body))
    return read_pieces([body[at : at + step] for at in range(0, len(body), step)])


def read_pieces(pieces: list[bytes]) -> Got:
    """The answer in a body of status 200 that arrives in *pieces*."""
    reader = AnswerReader()
    error: ModelError | None = None
    text, reasoning, ending = "", "", Ending()
    try:
        for arrival in _arrivals(reader, pieces):
            match arrival:
                case Chunk("text", piece):
                    text += piece
                case Chunk("reasoning", piece):
                    reasoning += piece
                case Ending():
                    ending = arrival
                case _:
                    pass
    except ModelError as caught:
        error = caught
    reasoning, text = reader.closed_late or (reasoning, text)
    return Got(
        text=text,
        reasoning=reasoning,
        finish=reader.finish or None,
        usage=ending.usage and ending.usage.raw,
        complete=reader.finished,
        refusal=reader.refusal,
        warnings=reader.broken,
        error=error,
    )


def _arrivals(reader: AnswerReader, pieces: list[bytes]) -> Iterator[object]:
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.end()


def check(case: Mapping[str, Any], size: int = 0) -> dict[str, tuple[object, object]]:
    """What came out differently than the case expects, by name: what was expected, what came."""
    got, expect = read(case, size), case["expect"]
    wrong: dict[str, tuple[object, object]] = {
        name: (expect[name], getattr(got, name))
        for name in ("text", "reasoning", "finish", "usage", "complete", "refusal", "warnings")
        if name in expect and getattr(got, name) != expect[name]
    }
    kind = got.error.kind.value if got.error else None
    if not _right_error(expect, got, kind):
        wrong["error"] = (expect["error"], kind)
    if expect.get("error_text") and expect["error_text"] not in str(got.error):
        wrong["error_text"] = (expect["error_text"], str(got.error))
    if "retry_after" in expect and (got.error is None or got.error.retry_after != expect["retry_after"]):
        wrong["retry_after"] = (expect["retry_after"], got.error and got.error.retry_after)
    if "retryable" in expect and (got.error is None or may_be_retried(got.error) != expect["retryable"]):
        wrong["retryable"] = (expect["retryable"], not expect["retryable"])
    return wrong


def _right_error(expect: Mapping[str, Any], got: Got, kind: str | None) -> bool:
    match expect["error"]:
        case None:
            return kind is None or bool(expect.get("refusal"))
        case "empty":
            return kind is None and not got.text
        case name:
            return kind in _KINDS.get(name, {name})
