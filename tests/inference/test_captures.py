"""Answers of real servers, byte for byte as they came over the wire, replayed to the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from marginalia.testing import Raw, ScriptedServer
from tests.inference.asking import ask, call

CAPTURES = Path(__file__).parent / "data" / "captures"
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
