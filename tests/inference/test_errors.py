from __future__ import annotations

import json

import pytest

from marginalia.errors import ModelErrorKind
from marginalia.inference.errors import from_payload, from_response, model_error


def error_of(status: int, body: object, headers: dict[str, str] | None = None) -> object:
    raw = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
    return from_response(status, headers or {}, raw)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "key not valid", "auth"),
        (403, "plan does not include it", "permission"),
        (404, "model stub-1 unknown", "unknown_model"),
        (404, "no such route", "not_found"),
        (408, "late", "timeout"),
        (504, "gateway gave up", "timeout"),
        (429, "easy now", "rate_limit"),
        (500, "maximum context length", "server"),
        (503, "overloaded", "server"),
        (529, "overloaded", "server"),
        (413, "too many tokens in request", "context_overflow"),
        (400, "This model's maximum context length is 4096 tokens.", "context_overflow"),
        (400, "max_tokens=5000 cannot be greater than max_model_len=2048", "bad_request"),
        (400, "model 'stub-1' does not exist", "unknown_model"),
        (422, "nope", "bad_request"),
        (402, "pay first", "bad_request"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
    ],
)
def test_status_and_wording_give_the_kind(status: int, message: str, kind: str) -> None:
    error = error_of(status, {"error": {"message": message}})
    assert (error.kind, error.detail, error.status) == (kind, message, status)
    assert str(error) == f"{error.text} {message}"


def test_an_error_code_counts_whatever_the_message_says() -> None:
    error = error_of(400, {"error": {"code": "context_length_exceeded", "message": "no"}})
    assert error.kind is ModelErrorKind.CONTEXT_OVERFLOW


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a  b\nc"}}, "a b c"),
        ({"error": "text"}, "text"),
        ({"message": "text"}, "text"),
        ({"detail": "text"}, "text"),
        ({"detail": [{"loc": ["body", "n"], "msg": "too large"}, {"msg": "second"}]}, "n: too large; second"),
        ({"error": {"message": '{"error":{"message":"inner"}}'}}, "inner"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "boom"}}},
            "Provider returned error (boom)",
        ),
        ([{"error": {"message": "text"}}], "text"),
        ("plain text", "plain text"),
        ("<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        ("<html><body>no title</body></html>", ""),
        (None, ""),
        ({}, ""),
        ({"error": {"message": ""}}, ""),
    ],
)
def test_the_servers_own_words_are_found(body: object, words: str) -> None:
    assert error_of(400, body).detail == words


def test_without_words_of_the_server_only_our_sentence_is_shown() -> None:
    error = error_of(401, None)
    assert str(error) == error.text


def test_very_long_words_are_cut_to_400_characters() -> None:
    assert error_of(400, {"error": {"message": "x" * 2000}}).detail == "x" * 400


@pytest.mark.parametrize(
    "body",
    [
        {
            "error": {
                "message": "m",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9031,
                "n_ctx": 4096,
            }
        },
        {"error": {"message": "request (9031 tokens) exceeds the available context size (4096 tokens)"}},
        {
            "error": {
                "message": "maximum context length is 4096 tokens. However, your messages resulted in 9031 tokens."
            }
        },
        {"error": {"message": "prompt is too long: 9031 tokens > 4096 maximum"}},
    ],
)
def test_an_overflow_names_both_numbers_when_they_are_known(body: object) -> None:
    error = error_of(400, body)
    assert error.kind is ModelErrorKind.CONTEXT_OVERFLOW
    assert "9,031" in str(error)
    assert "4,096" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "8"}, 8.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"llm_provider-retry-after": "7"}, 7.0),
        ({"Retry-After": "Mon, 30 Nov 2026 05:00:10 GMT", "Date": "Mon, 30 Nov 2026 05:00:00 GMT"}, 10.0),
        ({"Retry-After": "Mon, 30 Nov 2026 05:00:10 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert error_of(429, None, headers).retry_after == seconds


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"error": {"message": "boom", "code": 500}}, "server"),
        ({"error": {"message": "boom", "code": "429"}}, "rate_limit"),
        (
            {"error": {"message": "request (9 tokens) exceeds the available context size (4 tokens)"}},
            "context_overflow",
        ),
        ({"error": "boom"}, "server"),
        ({"message": "boom", "code": 400}, "bad_request"),
    ],
)
def test_errors_inside_a_stream_have_kinds_too(payload: object, kind: str) -> None:
    assert from_payload(payload).kind == kind


def test_every_kind_has_a_sentence_of_its_own_that_says_what_to_do() -> None:
    texts = [model_error(kind).text for kind in ModelErrorKind]
    assert len(set(texts)) == len(ModelErrorKind)
    assert all(text.endswith(".") and text.count(" ") > 8 for text in texts)
