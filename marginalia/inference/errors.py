"""What went wrong at a server, as one of a few kinds, each with a sentence that says what to do.

The kinds follow the status as spec/semantics.md (B1 84, 85) has it; the server's own words follow our sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

from marginalia.errors import ModelError, ModelErrorKind

LONGEST_DETAIL = 400

_TEXTS = {
    ModelErrorKind.AUTH: "The server does not accept the API key. Check the key of this provider.",
    ModelErrorKind.PERMISSION: (
        "The API key is not allowed to do this. Check what the account may use, or take another model."
    ),
    ModelErrorKind.UNKNOWN_MODEL: "The server does not know this model. Choose one from its list.",
    ModelErrorKind.NOT_FOUND: (
        "There is no chat service at this address. Check the address of the model; it usually ends in /v1."
    ),
    ModelErrorKind.CONTEXT_OVERFLOW: (
        "The prompt is too long for the model. Lower the context limit, or summarise older parts."
    ),
    ModelErrorKind.RATE_LIMIT: "The server gets more requests than it allows. Wait a little, then try again.",
    ModelErrorKind.SERVER: "The server failed. Try again; if it stays so, look into the server's log.",
    ModelErrorKind.TIMEOUT: (
        "The server took too long. Try again, or allow more time in the provider's settings."
    ),
    ModelErrorKind.CONNECTION: "The server cannot be reached. Check that it runs, and the address of the model.",
    ModelErrorKind.BAD_REQUEST: "The server refused the request. Check the provider's and the protocol's settings.",
    ModelErrorKind.UNKNOWN: "The model gave no usable answer. Try again, or take another model.",
}
_QUOTA = "The account behind this API key has used up its credit. Check its plan and billing."

_STATUS_KINDS = {
    401: ModelErrorKind.AUTH,
    403: ModelErrorKind.PERMISSION,
    408: ModelErrorKind.TIMEOUT,
    429: ModelErrorKind.RATE_LIMIT,
    504: ModelErrorKind.TIMEOUT,
}
_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "context_window_exceeded",
    }
)
_OVERFLOW = re.compile(
    r"maximum context length|context (?:length|window|size)|contextwindow|too many (?:input )?tokens|"
    r"prompt is too long|prompt too long|request too large|too large for model|exceeded model token limit|"
    r"reduce the length of the (?:messages|input|prompt)|maximum prompt length|longer than the model|"
    r"input token count|tokens to keep from the initial prompt|first \d+ tokens when context|"
    r"`inputs` tokens \+",
    re.IGNORECASE,
)
# A limit of the answer that is larger than the context is a setting to lower, not a prompt that is too long.
_NO_OVERFLOW = re.compile(
    r"\bmax_(?:completion_)?tokens\b.{0,40}(?:cannot|must|too large|greater)", re.IGNORECASE
)
_MODEL = re.compile(
    r"\bmodel\b.*(?:not (?:found|exist|supported|available|loaded)|does(?: not|n't) exist|unknown|invalid)|"
    r"(?:unknown|invalid|no such|no) model\b|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_KEY = re.compile(
    r"api[ _-]?key.{0,40}(?:not valid|invalid|incorrect|missing)|"
    r"(?:invalid|incorrect|missing|wrong|no) (?:api[ _-]?key|credentials)|authentication",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS = (
    # (needed, allowed) or the reverse, as the texts of the servers have them.
    (re.compile(r"request \((\d+) tokens\) exceeds the available context size \((\d+)"), ("needed", "allowed")),
    (re.compile(r"context length is (\d+) tokens.*?(?:resulted in|contains at least|requested) (\d+)", re.DOTALL),
     ("allowed", "needed")),
    (re.compile(r"prompt is too long: (\d+) tokens > (\d+)"), ("needed", "allowed")),
    (re.compile(r"with (\d+) tokens? .{0,60}?(\d+) maximum context", re.DOTALL), ("needed", "allowed")),
)  # fmt: skip


def model_error(
    kind: ModelErrorKind, detail: str = "", *, status: int | None = None, retry_after: float | None = None
) -> ModelError:
    """An error of that kind with our sentence for it; *detail* is cut to 400 characters."""
    return ModelError(
        kind, _TEXTS[kind], detail=detail.strip()[:LONGEST_DETAIL], status=status, retry_after=retry_after
    )


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error that a response with this status means. Header names may be in any case."""
    content = _content(body)
    detail = server_words(content)
    retry_after = _retry_after({name.lower(): value for name, value in headers.items()})
    return _error(_kind(status, content, detail), content, detail, status=status, retry_after=retry_after)


def from_payload(content: object) -> ModelError:
    """The error that a stream reports in its middle: ``SERVER`` unless code or wording say something better."""
    detail = server_words(content)
    status = _code_status(content)
    if status is not None:
        kind = _kind(status, content, detail)
    else:
        kind = _worded_kind(content, detail) or ModelErrorKind.SERVER
    return _error(kind, content, detail, status=status)


def may_be_retried(error: ModelError) -> bool:
    """Whether a second try can help: 408, 409, 429, 5xx and broken connections, but not an empty account."""
    if error.text == _QUOTA:
        return False
    if error.status is None:
        return error.kind is ModelErrorKind.CONNECTION
    return error.status in (408, 409, 429) or error.status >= 500  # noqa: PLR2004 - HTTP


def server_words(content: object) -> str:
    """The server's own words in the body of an error, as one line for people; empty when it has none."""
    return " ".join(_words(content).split()) if content else ""


def _words(content: object, depth: int = 0) -> str:
    if depth > 6:  # noqa: PLR2004 - nobody nests deeper on purpose
        return ""
    if isinstance(content, str):
        nested = _as_json(content) if content.lstrip().startswith(("{", "[")) else None
        return _plain(content) if nested is None else _words(nested, depth + 1)
    if isinstance(content, list):
        return "; ".join(filter(None, (_words(each, depth + 1) for each in cast("list[object]", content))))
    if isinstance(content, dict):
        return _words_of_object(cast("dict[str, Any]", content), depth)
    return ""


def _words_of_object(content: dict[str, Any], depth: int) -> str:
    if isinstance(content.get("msg"), str):
        place = [str(each) for each in content.get("loc", ()) if each != "body"]
        return f"{'.'.join(place)}: {content['msg']}" if place else content["msg"]
    metadata = content.get("metadata")
    raw = _words(cast("dict[str, Any]", metadata).get("raw"), depth + 1) if isinstance(metadata, dict) else ""
    for name in ("error", "message", "detail", "error_description", "code", "type"):
        words = _words(content.get(name), depth + 1)
        if words:
            return f"{words} ({raw})" if raw and raw not in words else words
    return raw


def _plain(text: str) -> str:
    if not re.match(r"\s*<(?:!doctype|html|\?xml|head)", text, re.IGNORECASE):
        return text
    title = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text, re.IGNORECASE | re.DOTALL)
    return re.sub(r"<[^>]+>", " ", title.group(2)) if title else ""


def _content(body: bytes) -> object:
    text = body.decode("utf-8", "replace").strip()
    found = _as_json(text)
    return text if found is None else found


def _as_json(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _kind(status: int, content: object, detail: str) -> ModelErrorKind:
    if status in _STATUS_KINDS:
        return _STATUS_KINDS[status]
    if status == 404:  # noqa: PLR2004 - HTTP
        return ModelErrorKind.UNKNOWN_MODEL if "model" in detail.lower() else ModelErrorKind.NOT_FOUND
    if status >= 500:  # noqa: PLR2004 - HTTP
        return ModelErrorKind.SERVER
    return _worded_kind(content, detail) or ModelErrorKind.BAD_REQUEST


def _worded_kind(content: object, detail: str) -> ModelErrorKind | None:
    codes = set(_codes(content))
    if codes & _OVERFLOW_CODES:
        return ModelErrorKind.CONTEXT_OVERFLOW
    if _OVERFLOW.search(detail) and not _NO_OVERFLOW.search(detail):
        return ModelErrorKind.CONTEXT_OVERFLOW
    if "model_not_found" in codes or _MODEL.search(detail):
        return ModelErrorKind.UNKNOWN_MODEL
    return ModelErrorKind.AUTH if "invalid_api_key" in codes or _KEY.search(detail) else None


def _codes(content: object) -> Iterable[str]:
    """Codes and types of an error object and of what it nests under ``error``."""
    if isinstance(content, list):
        content = next(iter(cast("list[object]", content)), None)
    while isinstance(content, dict):
        known = cast("dict[str, Any]", content)
        yield from (str(known[name]) for name in ("code", "type") if known.get(name) is not None)
        content = known.get("error")


def _code_status(content: object) -> int | None:
    numbers = (int(code) for code in _codes(content) if code.isdecimal())
    return next((number for number in numbers if 400 <= number <= 599), None)  # noqa: PLR2004 - HTTP


def _error(
    kind: ModelErrorKind,
    content: object,
    detail: str,
    *,
    status: int | None,
    retry_after: float | None = None,
) -> ModelError:
    error = model_error(kind, detail, status=status, retry_after=retry_after)
    if kind is ModelErrorKind.RATE_LIMIT and "insufficient_quota" in set(_codes(content)):
        error.text = _QUOTA
    elif kind is ModelErrorKind.CONTEXT_OVERFLOW and (numbers := _overflow_numbers(content, detail)):
        needed, allowed = numbers
        error.text = (
            f"The prompt is too long for the model: it has {needed:,} tokens, the model takes {allowed:,}. "
            "Lower the context limit, or summarise older parts."
        )
    error.args = (f"{error.text} {error.detail}".strip(),)
    return error


def _overflow_numbers(content: object, detail: str) -> tuple[int, int] | None:
    inner = cast("dict[str, Any]", content).get("error") if isinstance(content, dict) else None
    if isinstance(inner, dict):
        told = [cast("dict[str, Any]", inner).get(name) for name in ("n_prompt_tokens", "n_ctx")]
        if all(isinstance(each, int) for each in told):
            return cast("tuple[int, int]", tuple(told))
    for pattern, names in _NUMBERS:
        if found := pattern.search(detail):
            numbers = dict(zip(names, map(int, found.groups()), strict=True))
            return numbers["needed"], numbers["allowed"]
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0), ("llm_provider-retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            return max(0.0, float(value) * scale)
        except ValueError:
            return _seconds_until(value, headers.get("date", ""))
    return None


def _seconds_until(value: str, sent: str) -> float | None:
    """Seconds from the response's own date to the date in *value*; unknown without one."""
    try:
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(sent)).total_seconds())
    except (TypeError, ValueError):
        return None
