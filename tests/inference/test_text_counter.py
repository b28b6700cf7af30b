from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.errors import ModelError
from marginalia.inference.client import OpenAIClient
from marginalia.inference.exchange import Exchange
from marginalia.inference.text_counter import TextCounter
from marginalia.inference.text_counts import TextCounts
from marginalia.testing import Recorded, Refuse, ScriptedServer, Status
from marginalia.testing.answers import Answer

TEXTS = ("one two three", "", "four\n\nfive", "six ")
COUNTS = dict(zip(TEXTS, (3, 0, 2, 1), strict=True))


def counter() -> TextCounter:
    return TextCounter(Exchange(OpenAIClient()))


class Counting(ScriptedServer):
    """A server that counts words at one path alone, and answers as the one that has that path."""

    def __init__(self, path: str, field: str, name: str, **more: object) -> None:
        super().__init__()
        self.told = (path, field, name, more)

    def _answer(self, request: Recorded) -> Answer:
        path, field, name, more = self.told
        if request.path != path or not isinstance(request.body.get(field), str):
            return Status(404, {"detail": "Not Found"})
        return Status(200, {name: len(request.body[field].split()), **more})


async def test_llama_cpp_is_asked_once_for_many_texts() -> None:
    async with ScriptedServer(counts_tokens=True) as server:
        found, way = await counter().count(server.provider(), TEXTS)
        paths = [request.path for request in server.requests]
    assert (found, way) == (COUNTS, "llama.cpp /tokenize")
    assert paths == ["/tokenize"] * 2  # whether it counts, then everything


@pytest.mark.parametrize(
    ("path", "field", "name", "way"),
    [
        ("/v1/tokenize", "prompt", "count", "Aphrodite /v1/tokenize"),
        ("/api/extra/tokencount", "prompt", "value", "KoboldCpp /api/extra/tokencount"),
        ("/v1/internal/token-count", "text", "length", "text-generation-webui /v1/internal/token-count"),
        ("/v1/token/encode", "text", "length", "TabbyAPI /v1/token/encode"),
    ],
)
async def test_each_server_is_asked_at_the_path_that_it_has(
    path: str, field: str, name: str, way: str
) -> None:
    async with Counting(path, field, name) as server:
        assert await counter().count(server.provider(), TEXTS) == (COUNTS, way)


async def test_vllm_is_known_by_its_answer_and_asked_text_by_text() -> None:
    async with Counting("/tokenize", "prompt", "count", max_model_len=2048) as server:
        assert await counter().count(server.provider(), TEXTS) == (COUNTS, "vLLM /tokenize")
        assert len(server.requests) == 1 + len(TEXTS)


async def test_a_server_that_cannot_count_is_looked_at_once() -> None:
    async with ScriptedServer() as server:
        asked, provider = counter(), server.provider()
        assert await asked.count(provider, TEXTS) == ({}, "")
        before = len(server.requests)
        assert await asked.count(provider, TEXTS) == ({}, "")
        assert len(server.requests) == before
        asked.forget(provider)
        assert await asked.way(provider) == ""
        assert len(server.requests) == 2 * before


async def test_a_server_that_is_away_is_an_error_and_asked_again_later() -> None:
    async with ScriptedServer([Refuse()], counts_tokens=True) as server:
        asked, provider = counter(), server.provider()
        with pytest.raises(ModelError):
            await asked.count(provider, TEXTS)
        server.script()
        assert (await asked.count(provider, TEXTS))[0] == COUNTS


async def test_a_server_that_does_not_take_lists_is_asked_text_by_text() -> None:
    async with Counting("/tokenize", "content", "count") as server:
        assert (await counter().count(server.provider(), TEXTS))[0] == COUNTS

    class Forgetful(ScriptedServer):
        def _answer(self, request: Recorded) -> Answer:
            content: Any = request.body["content"]
            return Status(200, {"tokens": [7] * (len(content.split()) if isinstance(content, str) else 9)})

    async with Forgetful() as server:
        assert (await counter().count(server.provider(), TEXTS))[0] == COUNTS


@given(st.dictionaries(st.text(min_size=1, max_size=400), st.integers(0, 2**32 - 1), max_size=20))
def test_counts_are_kept_without_their_texts(counted: Mapping[str, int]) -> None:
    counts = TextCounts("model")
    counts.put(counted, "way")
    assert {text: counts.get(text) for text in counted} == counted
    assert counts.get("") == 0


def test_counts_survive_a_restart_with_the_models_name_and_without_the_text(tmp_path: Path) -> None:
    long = {"The lamp went out. " * 20: 81, "Mara climbed the stairs. " * 20: 121}
    TextCounts("openai http://x/v1 m", tmp_path).put(long | {"short": 1}, "llama.cpp /tokenize")
    again = TextCounts("openai http://x/v1 m", tmp_path)
    assert {text: again.get(text) for text in long} == long
    assert (again.get("short"), again.way) == (None, "llama.cpp /tokenize")
    assert TextCounts("another", tmp_path).get(next(iter(long))) is None
    (file,) = (tmp_path / "counts").iterdir()
    assert b"openai http://x/v1 m" in file.read_bytes()
    assert b"lamp" not in file.read_bytes()


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-7], lambda raw: raw + b"torn", lambda _: b"", lambda _: b"\xff\n"]
)
def test_a_file_of_counts_that_a_crash_damaged_loses_at_most_what_was_damaged(
    tmp_path: Path, damage: Any
) -> None:
    texts = {"a" * 300: 1, "b" * 300: 2}
    TextCounts("m", tmp_path).put(texts, "way")
    (file,) = (tmp_path / "counts").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    damaged = TextCounts("m", tmp_path)
    assert {damaged.get(text) for text in texts} <= {1, 2, None}
    damaged.put(texts, "way")
    healed = TextCounts("m", tmp_path)
    assert {text: healed.get(text) for text in texts} == texts


def test_another_way_of_counting_begins_anew(tmp_path: Path) -> None:
    counts = TextCounts("m", tmp_path)
    counts.put({"a" * 300: 1}, "one way")
    counts.put({"b" * 300: 2}, "another")
    for each in (counts, TextCounts("m", tmp_path)):
        assert (each.get("a" * 300), each.get("b" * 300)) == (None, 2)
