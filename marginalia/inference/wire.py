"""The body of a request, and what the payloads of an answer say. Pure: values in, values out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from marginalia.inference.dialect import Dialect
from marginalia.inference.thinking import whole_characters
from marginalia.pipeline.ports import Call
from marginalia.values import Message, Usage

_FINISHES = {
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "model_length": "length",
    "STOP": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "SAFETY": "content_filter",
}
# What most deltas have and nothing else, so that no reasoning needs to be looked for.
_PLAIN = frozenset({"role", "content"})


def request_body(call: Call, dialect: Dialect) -> dict[str, Any]:
    """The JSON object of a streaming chat completion (spec/semantics.md, B1 89 and 90; cases REQ-001 to REQ-014)."""
    provider, sampling = call.provider, call.protocol.sampling
    body: dict[str, Any] = {
        "model": provider.model,
        "messages": [as_sent(message) for message in dialect.messages(call.messages)],
        "stream": True,
    }
    for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty"):
        value = getattr(sampling, name)
        if value is not None:
            body[name] = value
    if call.limits.response > 0:
        body[dialect.limit] = call.limits.response
    if provider.enable_reasoning and provider.reasoning_effort and dialect.reasoning_effort:
        body["reasoning_effort"] = provider.reasoning_effort.lower()
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    return with_additional(body, provider.additional_parameters)


def with_additional(body: dict[str, Any], additional: Mapping[str, Any]) -> dict[str, Any]:
    """*body* with the provider's additional parameters, which win over everything and stand in it once."""
    limits = {"max_tokens", "max_completion_tokens"}
    if limits & additional.keys():
        body = {name: value for name, value in body.items() if name not in limits}
    body = body | dict(additional)
    if body.get("stream") is not True and "stream_options" not in additional:
        body.pop("stream_options", None)
    return body


def as_sent(message: Message) -> dict[str, str]:
    """A message as it stands in the request."""
    return {"role": message.role, "content": whole_characters(message.content)}


def encoded(body: Mapping[str, Any]) -> bytes:
    """The bytes of a request body."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


class Reading(NamedTuple):
    """What one payload says.

    ``message`` is the text of a whole message, which counts only where no delta came; ``whole`` marks a payload that
    is a complete answer by itself.
    """

    reasoning: str = ""
    text: str = ""
    message: str = ""
    whole: bool = False
    refusal: str = ""
    finish: str = ""
    usage: Usage | None = None
    progress: tuple[int, int] | None = None
    error: object = None


def read_payload(payload: object) -> Reading:
    """What *payload* says, whatever shape it has; anything unknown is passed over."""
    if isinstance(payload, list):
        return read_payload(next(iter(cast("list[object]", payload)), None))
    if not isinstance(payload, dict):
        return Reading()
    known = cast("dict[str, Any]", payload)
    choice = _choice(known)
    delta, message = _object(choice.get("delta")), _object(choice.get("message"))
    source = delta or message
    return Reading(
        reasoning=_reasoning(source),
        text=_text(delta.get("content")) or _as_text(choice.get("text")),
        message=_text(message.get("content")),
        whole=known.get("object") == "chat.completion" or ("message" in choice and "delta" not in choice),
        refusal=_as_text(source.get("refusal")),
        finish=_finish(choice),
        usage=_usage(known),
        progress=_progress(known),
        error=_error(known),
    )


def _choice(payload: dict[str, Any]) -> dict[str, Any]:
    choices = payload.get("choices")
    if isinstance(choices, list):
        for choice in map(_object, cast("list[object]", choices)):
            if choice.get("index") in (None, 0):
                return choice
    return {}


def _reasoning(source: dict[str, Any]) -> str:
    if source.keys() <= _PLAIN and not isinstance(source.get("content"), list):
        return ""
    # Servers that send several of these fields send copies, so the first that has something is all there is.
    for name in ("reasoning_content", "reasoning"):
        if found := _text(source.get(name)):
            return found
    return "".join(_reasoning_parts(source)) or _thinking(source.get("content"))


def _reasoning_parts(source: dict[str, Any]) -> Iterator[str]:
    details = source.get("reasoning_details")
    if isinstance(details, list):
        for detail in map(_object, cast("list[object]", details)):
            yield _as_text(detail.get("text")) or _as_text(detail.get("summary"))


def _thinking(content: object) -> str:
    parts = map(_object, cast("list[object]", content)) if isinstance(content, list) else ()
    return "".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = cast("list[object]", content)
        return "".join(
            each if isinstance(each, str) else _as_text(_object(each).get("text"))
            for each in parts
            if isinstance(each, str) or _object(each).get("type") in (None, "text")
        )
    return _as_text(content)


def _finish(choice: dict[str, Any]) -> str:
    found = _as_text(choice.get("finish_reason")) or _as_text(choice.get("finishReason"))
    return "" if found == "null" else _FINISHES.get(found, found)


def _usage(payload: dict[str, Any]) -> Usage | None:
    if "usage" not in payload and "x_groq" not in payload and "timings" not in payload:
        return None
    raw = _object(payload.get("usage")) or _object(_object(payload.get("x_groq")).get("usage"))
    timings = _object(payload.get("timings"))
    prompt, completion = _number(raw.get("prompt_tokens")), _number(raw.get("completion_tokens"))
    if not prompt and not completion:
        return _timed(timings) if "usage" not in payload else None
    cached = _number(_object(raw.get("prompt_tokens_details")).get("cached_tokens"))
    for found in (raw.get("prompt_cache_hit_tokens"), timings.get("cache_n")):
        cached = _number(found) if cached is None else cached
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, raw=raw)


def told_last(before: Usage | None, now: Usage | None) -> Usage | None:
    """What holds when a stream tells its usage twice: the later one, but timings never replace the server's own sum."""
    if before is None or now is None:
        return before or now
    base = before if "prompt_n" in now.raw and "prompt_n" not in before.raw else now
    cached = now.cached_tokens if now.cached_tokens is not None else before.cached_tokens
    return replace(base, cached_tokens=cached if base.cached_tokens is None else base.cached_tokens)


def _timed(timings: dict[str, Any]) -> Usage | None:
    """What llama.cpp tells in its last chunk without being asked; its ``prompt_n`` leaves out what was cached."""
    fresh, completion = _number(timings.get("prompt_n")), _number(timings.get("predicted_n"))
    if fresh is None or not completion:
        return None
    cached = _number(timings.get("cache_n"))
    return Usage(
        prompt_tokens=fresh + (cached or 0), completion_tokens=completion, cached_tokens=cached, raw=timings
    )


def _progress(payload: dict[str, Any]) -> tuple[int, int] | None:
    if "prompt_progress" not in payload:
        return None
    told = _object(payload["prompt_progress"])
    done, total = _number(told.get("processed")), _number(told.get("total"))
    return None if done is None or total is None else (done, total)


def _error(payload: dict[str, Any]) -> object:
    if payload.get("error"):
        return payload
    if "choices" in payload:
        return None
    is_error = payload.get("object") == "error" or payload.get("type") == "error" or "detail" in payload
    return payload if is_error else None


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
