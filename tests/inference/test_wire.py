from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.errors import ModelError
from marginalia.inference.answer import AnswerReader
from marginalia.pipeline.ports import Chunk, Ending
from tests.inference.wire_cases import Got, body_of, check, read_pieces

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "wire.json").read_text())
STREAMED = {name: case for name, case in CASES.items() if case["status"] == 200}


@pytest.mark.parametrize("size", [0, 7, 1])
@pytest.mark.parametrize("name", CASES)
def test_every_byte_level_case_reads_right(name: str, size: int) -> None:
    assert check(CASES[name], size) == {}


def text_of(pieces: list[bytes]) -> str:
    reader = AnswerReader()
    found = [arrival for piece in pieces for arrival in reader.feed(piece)]
    found += reader.end()
    return "".join(each.text for each in found if isinstance(each, Chunk) and each.kind == "text")


def seen(got: Got) -> tuple[object, ...]:
    """All that came out, errors as what they say."""
    return (*(getattr(got, each.name) for each in fields(got)[:-1]), str(got.error))


def is_beginning(got: Got, whole: Got) -> bool:
    """Whether what came of a body that was cut is the beginning of what the whole body says.

    A character that was cut in its middle has become U+FFFD. Half a tag belongs to what is before it as long as nothing
    follows, and reasoning whose tag the template had opened unseen is text until the tag closes.
    """
    text, reasoning = (
        re.sub(r"\s*(<[/a-z]*)?$", "", each.rstrip("\ufffd")) for each in (got.text, got.reasoning)
    )
    return whole.reasoning.startswith(reasoning) and (
        whole.text.startswith(text) or whole.reasoning.startswith(text)
    )


@st.composite
def cut_up(draw: st.DrawFn, body: bytes) -> list[bytes]:
    """*body* as a connection may deliver it, also in empty pieces."""
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=40)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


@pytest.mark.parametrize("name", STREAMED)
@settings(max_examples=20)
@given(data=st.data())
def test_how_a_body_is_cut_into_reads_changes_nothing(name: str, data: st.DataObject) -> None:
    body = body_of(STREAMED[name])
    assert seen(read_pieces(data.draw(cut_up(body)))) == seen(read_pieces([body]))


@pytest.mark.parametrize("name", STREAMED)
def test_a_body_cut_at_any_byte_keeps_its_text_and_is_never_a_silent_success(name: str) -> None:
    body = body_of(STREAMED[name])
    whole = read_pieces([body])
    for end in range(len(body)):
        got = read_pieces([body[:end]])
        assert got.error is not None or got.complete
        assert is_beginning(got, whole)


def stream(*payloads: object) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in payloads)


def delta(content: object = None, **fields: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content, **fields}, "finish_reason": None}]}


STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("body", "text", "reasoning"),
    [
        (b'data:{"choices":[{"delta":{"content":"a"}}]}\r\rdata: [DONE]\r\r', "a", ""),
        (stream(delta("a\u2028b\u0085c"), STOP), "a\u2028b\u0085c", ""),
        ('data: {"choices":[{"delta":{"content":"a\u2028b"}}]}\n\ndata: [DONE]'.encode(), "a\u2028b", ""),
        (b"data: : PROCESSING\n\n" + stream(delta("a"), STOP), "a", ""),
        (stream(delta("a")).rstrip() + stream(delta("b"), STOP), "ab", ""),
        (stream(delta("a")).replace(b"\n\n", b"\n") + stream(delta("b"), STOP), "ab", ""),
        (stream(delta([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
                delta([{"type": "text", "text": "a"}, {"type": "reference", "text": "no"}]), STOP), "a", "hm"),
        (stream(delta("\n<think>\nhm\n\n</think>\n\na"), STOP), "a", "hm"),
        (stream(delta("<think>hm"), {"choices": [{"delta": {}, "finish_reason": "length"}]}), "", "hm"),
        (stream(delta("<"), delta("b>old"), STOP), "<b>old", ""),
        (stream(delta(" \n"), delta("a"), STOP), " \na", ""),
        (stream(delta("a", reasoning="x", reasoning_content="x"), STOP), "a", "x"),
        (b'{\n  "choices": [\n    {"message": {"content": "a"},\n\n "finish_reason": "stop"}\n  ]\n}', "a", ""),
        (b'{"choices":[{"message":{"content":"a"}}]}', "a", ""),
        (stream({"choices": [{"text": "a", "finish_reason": "stop"}]}), "a", ""),
    ],
)  # fmt: skip
def test_further_habits_of_servers(body: bytes, text: str, reasoning: str) -> None:
    for size in (len(body), 7, 1):
        reader = AnswerReader()
        for at in range(0, len(body), size):
            list(reader.feed(body[at : at + size]))
        list(reader.end())
        assert (reader.text, reader.reasoning) == (text, reasoning)


def test_white_space_before_the_text_keeps_its_own_chunk() -> None:
    reader = AnswerReader()
    found = [*reader.feed(stream(delta("\n"), delta(" a"), STOP)), *reader.end()]
    assert [each.text for each in found if isinstance(each, Chunk)] == ["\n", " a"]


def test_a_delta_with_both_kinds_gives_the_reasoning_first() -> None:
    reader = AnswerReader()
    found = list(reader.feed(stream(delta("One", reasoning_content="hm"))))
    assert found == [Chunk("reasoning", "hm"), Chunk("text", "One")]


def test_a_null_in_one_reasoning_field_does_not_hide_the_other() -> None:
    reader = AnswerReader()
    assert list(reader.feed(stream(delta(reasoning_content=None, reasoning="hm")))) == [
        Chunk("reasoning", "hm")
    ]


def test_a_template_that_opened_the_tag_is_read_rightly_when_told_so() -> None:
    reader = AnswerReader(starts_in_thinking=True)
    list(reader.feed(stream(delta("hm\n"), delta("</think>\n\na"), STOP)))
    list(reader.end())
    assert (reader.text, reader.reasoning) == ("a", "hm")


def test_a_very_long_line_is_read_in_linear_time() -> None:
    body = stream(delta("x" * 4_000_000), STOP)
    assert text_of([body[at : at + 65536] for at in range(0, len(body), 65536)]) == "x" * 4_000_000


TIMINGS = {"cache_n": 39, "prompt_n": 1, "prompt_ms": 36.9, "predicted_n": 8, "predicted_ms": 1260.0}
TOLD = {"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48}


@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        ([STOP | {"usage": TOLD, "timings": TIMINGS}], (40, 8, 39)),
        ([STOP | {"timings": TIMINGS}], (40, 8, 39)),
        ([STOP | {"timings": TIMINGS}, {"choices": [], "usage": TOLD}], (40, 8, 39)),
        ([STOP | {"usage": TOLD}, {"choices": [], "timings": TIMINGS}], (40, 8, 39)),
        (
            [STOP | {"usage": TOLD | {"prompt_tokens_details": {"cached_tokens": 7}}, "timings": TIMINGS}],
            (40, 8, 7),
        ),
        ([STOP | {"timings": {"cache_n": 39}}], None),
    ],
    ids=["both", "timings alone", "usage later", "timings later", "the server's own figure", "too little"],
)
def test_cached_tokens_are_taken_from_the_timings_of_llama_cpp_where_the_usage_lacks_them(
    payloads: list[dict[str, Any]], expected: tuple[int, int, int] | None
) -> None:
    reader = AnswerReader()
    list(reader.feed(stream(*payloads)))
    (ending,) = (arrival for arrival in reader.end() if isinstance(arrival, Ending))
    usage = ending.usage
    assert (usage and (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)) == expected


def test_zero_usage_never_replaces_a_real_one() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    zeros = {"prompt_tokens": 0, "completion_tokens": 0}
    reader = AnswerReader()
    list(reader.feed(stream(STOP | {"usage": usage}, {"choices": [], "usage": zeros})))
    (ending,) = reader.end()
    assert ending.usage.raw == usage


def test_an_answer_that_is_only_a_refusal_is_an_error_with_the_models_words() -> None:
    reader = AnswerReader()
    list(reader.feed(stream(delta(refusal="I will not."), STOP)))
    with pytest.raises(ModelError, match="I will not"):
        list(reader.end())
