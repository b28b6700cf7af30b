from __future__ import annotations

import time

import httpx
import pytest

from marginalia.testing import (
    Json,
    Pause,
    Raw,
    Reasoning,
    Recorded,
    Refuse,
    ScriptedServer,
    Silent,
    Status,
    Stream,
    WordTokenizer,
    answer_from,
)


async def ask(server: ScriptedServer, **body: object) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        return await client.post(f"{server.base_url}/chat/completions", json=body)


async def test_answers_come_in_the_order_of_the_script() -> None:
    async with ScriptedServer(
        [Stream("One ", Reasoning("hm"), "two"), Status(401, {"error": "no"})]
    ) as server:
        first, second = await ask(server, model="m"), await ask(server)
    assert '"content": "One "' in first.text
    assert '"reasoning_content": "hm"' in first.text
    assert first.text.endswith("data: [DONE]\n\n")
    assert (second.status_code, second.json()) == (401, {"error": "no"})
    assert server.completions[0].body == {"model": "m"}


async def test_a_stream_can_break_off() -> None:
    async with ScriptedServer([Stream("One ", "two", disconnect_after=1)]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(server)


async def test_a_request_without_a_scripted_answer_is_counted() -> None:
    async with ScriptedServer() as server:
        assert (await ask(server)).status_code == 418
    assert server.unexpected == 1


async def test_a_client_that_leaves_is_noticed() -> None:
    async with ScriptedServer([Silent(headers=True), Stream("One ", Pause(30))]) as server:
        for _ in range(2):
            async with (
                httpx.AsyncClient(trust_env=False) as client,
                client.stream("POST", f"{server.base_url}/chat/completions", json={}),
            ):
                left = time.monotonic()
            await server.completions[-1].settled()
            assert server.completions[-1].disconnected
            assert (server.completions[-1].left_at or 0) - left < 0.2


async def test_nobody_listens_after_a_refusal_until_the_next_script() -> None:
    async with ScriptedServer([Refuse()]) as server:
        with pytest.raises(httpx.ConnectError):
            await ask(server)
        server.script(Json(text="OK"), Refuse())
        assert (await ask(server)).json()["choices"][0]["message"]["content"] == "OK"
        with pytest.raises(httpx.ConnectError):
            await ask(server)


async def test_an_answer_may_depend_on_the_request() -> None:
    def echo(request: Recorded) -> Json:
        return Json(text=request.body["say"])

    async with ScriptedServer([echo]) as server:
        assert (await ask(server, say="hello")).json()["choices"][0]["message"]["content"] == "hello"


def test_it_lists_models_and_counts_words_without_an_event_loop() -> None:
    with ScriptedServer(models=["a", "b"], counts_tokens=True, context=4096) as server:
        root = server.base_url.removesuffix("/v1")
        with httpx.Client(trust_env=False) as client:
            assert [each["id"] for each in client.get(f"{server.base_url}/models").json()["data"]] == [
                "a",
                "b",
            ]
            assert len(client.post(f"{root}/tokenize", json={"content": "one two"}).json()["tokens"]) == 2
            assert client.get(f"{root}/props").json()["default_generation_settings"]["n_ctx"] == 4096
            assert client.get(f"{root}/elsewhere").status_code == 404


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        (
            {
                "kind": "stream",
                "chunks": [{"text": "a"}, {"pause_seconds": 1}, {"reasoning": "b"}],
                "disconnect_after": 2,
            },
            Stream("a", Pause(1), Reasoning("b"), disconnect_after=2),
        ),
        ({"kind": "status", "status": 401, "body": None}, Status(401, None)),
        ({"kind": "json", "text": "OK"}, Json(text="OK")),
        ({"kind": "silent"}, Silent()),
        ({"kind": "refuse"}, Refuse()),
        (
            {"kind": "raw", "status": 200, "content_type": "text/event-stream", "data": "data: {oops\n\n"},
            Raw(data=b"data: {oops\n\n"),
        ),
    ],
)
def test_model_scripts_of_the_conformance_cases_are_understood(
    script: dict[str, object], answer: object
) -> None:
    assert answer_from(script) == answer


def test_words_are_runs_of_anything_but_white_space() -> None:
    assert [WordTokenizer().count(text) for text in ("", " \n", "one", "one  two\nthree")] == [0, 0, 1, 3]
