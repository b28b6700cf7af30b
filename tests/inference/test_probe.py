from __future__ import annotations

from pathlib import Path

import pytest

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.inference import KeyStore, Models
from marginalia.testing import Json, Raw, Recorded, Refuse, ScriptedServer, Status, Stream
from marginalia.values import Message
from tests.inference.asking import ask, call

HELLO = (Message(role="user", content="one two three"),)


async def test_the_connection_test_lists_the_models_and_asks_for_one_token_without_streaming() -> None:
    async with ScriptedServer([Json(text="OK")], models=["m-a", "m-b"]) as server:
        report = await Models().probe(server.provider(model="m-a"))
    assert report.models == ("m-a", "m-b")
    (request,) = server.completions
    assert (request.body["model"], request.body["max_completion_tokens"]) == ("m-a", 1)
    assert not {"stream", "stream_options"} & request.body.keys()


async def test_without_a_model_list_the_one_token_decides() -> None:
    async with ScriptedServer([Json(text="OK")], models=Status(404, {"error": "no such route"})) as server:
        assert (await Models().probe(server.provider())).models == ()


async def test_a_wrong_key_is_named_at_the_model_list_already() -> None:
    async with ScriptedServer(models=Status(401, {"error": "key not valid"})) as server:
        with pytest.raises(ModelError) as caught:
            await Models().probe(server.provider())
    assert caught.value.kind is ModelErrorKind.AUTH
    assert server.completions == []


async def test_what_the_one_token_teaches_is_told_and_kept_for_the_calls_after_it() -> None:
    def picky(request: Recorded) -> Status | Json | Stream:
        if "max_completion_tokens" in request.body:
            return Status(
                422,
                {
                    "detail": [
                        {"loc": ["body", "max_completion_tokens"], "msg": "Extra inputs are not permitted"}
                    ]
                },
            )
        return Stream("Done.") if request.body.get("stream") else Json(text="OK")

    async with ScriptedServer(default=picky) as server:
        models, provider = Models(), server.provider()
        report = await models.probe(provider)
        asked = await ask(call(provider), models)
    assert len(report.learned) == 1
    assert "max_tokens" in report.learned[0]
    assert asked.progress == []
    assert server.completions[-1].body["max_tokens"] == 500


async def test_the_context_length_and_the_counting_are_found_where_the_server_has_them() -> None:
    async with ScriptedServer([Json(text="OK")], context=4096, counts_tokens=True) as server:
        report = await Models().probe(server.provider())
    assert (report.context, report.context_source) == (4096, "/props")
    assert report.counting == "/chat/completions/input_tokens"


@pytest.mark.parametrize(
    ("entry", "context"),
    [
        ({"id": "m", "max_model_len": 2048}, 2048),
        ({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}}, 4096),
        ({"id": "m", "context_length": 9000, "top_provider": {"context_length": 8000}}, 8000),
        ({"id": "m", "max_context_length": 9000, "loaded_context_length": 7000}, 7000),
        ({"id": "m"}, None),
    ],
)
async def test_the_context_length_in_the_model_list_is_read(
    entry: dict[str, object], context: int | None
) -> None:
    async with ScriptedServer(
        [Json(text="OK")], models=Status(200, {"data": [{"id": "x"}, entry]})
    ) as server:
        assert (await Models().probe(server.provider(model="m"))).context == context


async def test_tokens_are_counted_exactly_where_the_server_counts_and_it_is_asked_once_where_not() -> None:
    async with ScriptedServer(counts_tokens=True) as server:
        assert await Models().count_tokens(server.provider(), HELLO) == 3
    async with ScriptedServer() as server:
        models = Models()
        assert await models.count_tokens(server.provider(), HELLO) is None
        asked = len(server.requests)
        assert await models.count_tokens(server.provider(), HELLO) is None
        assert len(server.requests) == asked


async def test_the_model_list_alone_can_be_asked_for() -> None:
    async with ScriptedServer(models=["b", "a"]) as server:
        assert await Models().list_models(server.provider()) == ("b", "a")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Raw(data=b"<!doctype html><title>Sign in</title>", content_type="text/html"), "not_found"),
        (Raw(data=b'{"error": {"message": "boom"}}', content_type="application/json"), "server"),
        (Status(404, {"error": {"message": "model 'm' not found"}}), "unknown_model"),
    ],
)
async def test_an_answer_that_is_none_fails_the_connection_test(answer: Raw | Status, kind: str) -> None:
    async with ScriptedServer([answer]) as server:
        with pytest.raises(ModelError) as caught:
            await Models().probe(server.provider())
    assert caught.value.kind == kind


async def test_a_key_that_the_server_repeats_is_not_shown_by_the_connection_test(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    keys.set("mine", "sk-very-secret")
    rude = Status(401, {"error": {"message": "Incorrect API key provided: sk-very-secret."}})
    async with ScriptedServer(models=rude) as server:
        with pytest.raises(ModelError) as caught:
            await Models(keys=keys).probe(server.provider(key_ref="mine"))
    assert "secret" not in str(caught.value)


async def test_a_server_that_was_away_is_asked_again_whether_it_counts() -> None:
    async with ScriptedServer([Refuse()], counts_tokens=True) as server:
        models, provider = Models(), server.provider()
        assert await models.count_tokens(provider, HELLO) is None
        server.script()
        assert await models.count_tokens(provider, HELLO) == 3
