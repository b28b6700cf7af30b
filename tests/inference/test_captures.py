"""Answers of real servers, byte for byte as they came over the wire, replayed to the client."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.testing import Raw, ScriptedServer
from tests.inference.asking import ask, call
from tests.inference.test_wire import cut_up, is_beginning, seen
from tests.inference.wire_cases import read_pieces

CAPTURES = Path(__file__).parent / "data" / "captures"
STREAMS = sorted(
    file.stem for file in CAPTURES.glob("*.raw") if b"text/event-stream" in file.read_bytes()[:1000].lower()
)
LIGHTHOUSE = "She opened the door to the room and peered into the room's i"


@pytest.mark.parametrize(
    ("name", "starts", "length", "reasoning", "finish"),
    [
        ("llamacpp-stream-usage", LIGHTHOUSE, 97, "", "length"),
        ("llamacpp-nonstream", LIGHTHOUSE, 97, "", "length"),
        ("llamacpp-stream-progress-timings", "She opened the door to the", 26, "", "length"),
        ("llamacpp-think2-default", "The lamp burned.", 16, "I plan it.\n", "stop"),
        ("llamacpp-think2-rf-none", "The lamp burned.", 16, "I plan it.", "stop"),
        ("vllm-stream-usage", "Mara found the old log", 22, "", "length"),
        ("transformers-stream", "Mara found the old", 18, "", "length"),
        ("litellm-stream-usage", "Mara's eyes lit up as she", 25, "", "length"),
        ("litellm-fake-reason", "Hello \u2028 wörld", 13, "hmhm2", "stop"),
        ("sse-starlette-stream", "Hi there \u2028 naïve", 16, "", "stop"),
    ],
)
async def test_a_captured_answer_replays_to_its_text(
    name: str, starts: str, length: int, reasoning: str, finish: str
) -> None:
    raw = (CAPTURES / f"{name}.raw").read_bytes()
    for piece in (0, 7):
        async with ScriptedServer([Raw(data=raw, whole=True, piece=piece)]) as server:
            asked = await ask(call(server.provider()))
        assert asked.error is None
        assert asked.text.startswith(starts)
        assert len(asked.text) == length
        assert "".join(text for kind, text in asked.chunks if kind == "reasoning") == reasoning
        assert asked.ending.finish_reason == finish


@pytest.mark.parametrize(
    ("name", "length", "kind", "words"),
    [
        ("llamacpp-killed-midstream", 455, "connection", "broke off"),
        ("llamacpp-stream-unicode", 29, "server", "Unexpected empty grammar stack"),
        ("litellm-fake-err", 13, "server", "boom upstream"),
        ("litellm-fake-429", 0, "rate_limit", "Rate limit reached"),
        ("litellm-noauth", 0, "server", "Internal Server Error"),
        ("llamacpp-overflow-stream", 0, "context_overflow", "9,031"),
        ("vllm-overflow-stream", 0, "context_overflow", "2,049"),
    ],
)
async def test_a_captured_failure_keeps_its_text_and_says_what_happened(
    name: str, length: int, kind: str, words: str
) -> None:
    raw = (CAPTURES / f"{name}.raw").read_bytes()
    async with ScriptedServer([Raw(data=raw, whole=True)]) as server:
        asked = await ask(call(server.provider(max_retries=0)))
    assert len(asked.text) == length
    assert asked.error is not None
    assert asked.error.kind == kind
    assert words in str(asked.error)


async def test_a_captured_refusal_of_a_strict_template_is_learned_from() -> None:
    raw = (CAPTURES / "llamacpp-strict-two-users-stream.raw").read_bytes()
    good = (CAPTURES / "llamacpp-stream-usage.raw").read_bytes()
    async with ScriptedServer([Raw(data=raw, whole=True), Raw(data=good, whole=True)]) as server:
        asked = await ask(call(server.provider(max_retries=0)))
    assert asked.text.startswith(LIGHTHOUSE)
    assert len(asked.progress) == 1


def body(raw: bytes) -> bytes:
    """The body of a recorded response, its chunked framing taken off."""
    head, _, rest = raw.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    found = bytearray()
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        found += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return bytes(found)


@pytest.mark.parametrize("name", STREAMS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_captured_stream_reads_the_same_in_every_chunking(name: str, data: st.DataObject) -> None:
    whole = body((CAPTURES / f"{name}.raw").read_bytes())
    assert seen(read_pieces(data.draw(cut_up(whole)))) == seen(read_pieces([whole]))


@pytest.mark.parametrize("name", STREAMS)
def test_a_captured_stream_cut_anywhere_keeps_its_text_and_is_never_a_silent_success(name: str) -> None:
    whole = body((CAPTURES / f"{name}.raw").read_bytes())
    read = read_pieces([whole])
    # Every byte of the last event, where a stream ends, and some hundred places before it.
    for end in [
        *range(0, len(whole), max(1, len(whole) // 300)),
        *range(max(0, len(whole) - 200), len(whole)),
    ]:
        got = read_pieces([whole[:end]])
        assert got.error is not None or got.complete
        assert is_beginning(got, read)
