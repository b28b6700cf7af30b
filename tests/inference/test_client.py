from __future__ import annotations

import logging
import time
from pathlib import Path

import anyio
import pytest

from marginalia.errors import InvalidInput, ModelError, ModelErrorKind
from marginalia.inference import KeyStore, Models
from marginalia.inference.client import OpenAIClient
from marginalia.inference.patience import Patience
from marginalia.pipeline.ports import Arrival, Chunk
from marginalia.testing import (
    Deltas,
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
)
from marginalia.values import Message, Provider
from tests.inference.asking import ask, call


async def test_text_and_reasoning_arrive_in_their_order_and_then_the_ending() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    async with ScriptedServer(
        [Stream(Reasoning("hm"), " Lead", "ing", usage=usage, finish="length")]
    ) as server:
        asked = await ask(call(server.provider()))
    assert asked.chunks == [("reasoning", "hm"), ("text", " Lead"), ("text", "ing")]
    assert asked.ending.finish_reason == "length"
    assert asked.ending.usage is not None
    assert (asked.ending.usage.prompt_tokens, asked.ending.usage.completion_tokens) == (7, 2)


async def test_a_server_that_does_not_stream_is_understood() -> None:
    async with ScriptedServer([Json(text="OK")]) as server:
        assert (await ask(call(server.provider()))).chunks == [("text", "OK")]


async def test_deltas_of_any_shape_are_understood() -> None:
    async with ScriptedServer([Deltas(deltas=[{"reasoning_content": "hm", "content": "One"}])]) as server:
        assert (await ask(call(server.provider()))).chunks == [("reasoning", "hm"), ("text", "One")]


@pytest.mark.parametrize("after", [1, 2])
async def test_a_stream_that_breaks_off_keeps_its_text_and_is_not_asked_again(after: int) -> None:
    async with ScriptedServer(
        [Stream("Half ", "a ", "loaf", disconnect_after=after), Stream("never")]
    ) as server:
        asked = await ask(call(server.provider(max_retries=3)))
    assert asked.text == "Half a "[: 5 + (after - 1) * 2]
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.CONNECTION
    assert len(server.completions) == 1


async def test_a_connection_reset_in_mid_stream_keeps_the_text() -> None:
    body = b'data: {"choices":[{"delta":{"content":"Half "}}]}\n\n'
    async with ScriptedServer([Raw(data=body, cut=True)]) as server:
        asked = await ask(call(server.provider()))
    assert asked.text == "Half "
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.CONNECTION


async def test_a_finished_answer_is_finished_however_the_connection_ends() -> None:
    body = b'data: {"choices":[{"delta":{"content":"Whole"},"finish_reason":"stop"}]}\n\n'
    async with ScriptedServer([Raw(data=body, cut=True)]) as server:
        asked = await ask(call(server.provider()))
    assert (asked.text, asked.error) == ("Whole", None)


async def test_a_body_that_is_no_stream_is_one_error() -> None:
    async with ScriptedServer([Raw(data=b"data: {oops\n\n")]) as server:
        asked = await ask(call(server.provider()))
    assert asked.arrivals == []
    assert asked.error is not None
    assert "cannot be read" in str(asked.error)


async def test_silence_is_a_timeout_and_is_not_asked_again() -> None:
    for answer in (Silent(), Silent(headers=True), Stream("Half ", Pause(30))):
        async with ScriptedServer([answer, Stream("never")]) as server:
            began = time.monotonic()
            asked = await ask(call(server.provider(timeout=0.3)))
        assert asked.error is not None
        assert asked.error.kind is ModelErrorKind.TIMEOUT
        assert time.monotonic() - began < 3
        assert len(server.completions) == 1


async def test_the_first_token_and_a_silence_have_clocks_of_their_own_and_errors_say_which_ran_out() -> None:
    slow = Stream(Pause(0.6), "One ", "two.")
    torn = Stream("One ", Pause(30))
    async with ScriptedServer([slow, torn, slow]) as server:
        provider = server.provider(timeout=0.3, settings={"first_token_timeout": 20})
        patient, silent = await ask(call(provider)), await ask(call(provider))
        hasty = await ask(call(server.provider(timeout=20, settings={"first_token_timeout": 0.2})))
    assert (patient.text, patient.error) == ("One two.", None)
    assert silent.text == "One "
    assert "went silent for 0.3 seconds" in str(silent.error)
    assert "no first token within 0.2 seconds" in str(hasty.error)


async def test_comments_and_empty_deltas_do_not_stop_the_clock_of_the_first_token_but_progress_does() -> None:
    def stream(line: bytes) -> Raw:
        return Raw(data=b"\n\n".join([line] * 6), piece=len(line) + 2, pause=0.1)

    told = b'data: {"choices":[],"prompt_progress":{"total":9,"processed":1}}'
    async with ScriptedServer([stream(b": wait"), stream(told)]) as server:
        provider = server.provider(settings={"first_token_timeout": 0.3}, max_retries=0)
        kept_waiting, at_work = await ask(call(provider)), await ask(call(provider))
    assert "no first token" in str(kept_waiting.error)
    assert len(at_work.progress) == 6


def test_minutes_are_told_as_minutes_and_settings_that_are_no_seconds_are_passed_over() -> None:
    for told in ("long", True, 0, -1, None):
        assert Patience.of(Provider(settings={"first_token_timeout": told})) == Patience()
    assert Patience.of(Provider(timeout=7)) == Patience(first=7, silence=7)


async def test_leaving_the_block_closes_the_connection_at_once() -> None:
    async with ScriptedServer([Stream("One ", Pause(30), "never")]) as server:
        async with Models().stream(call(server.provider())) as arrivals:
            async for arrival in arrivals:
                assert arrival == Chunk("text", "One ")
                break
        left = time.monotonic()
        request = server.completions[0]
        await request.settled()
    assert request.disconnected
    assert (request.left_at or 0) - left < 0.2


@pytest.mark.parametrize("answer", [Silent(), Silent(headers=True), Stream("One ", Pause(30))])
async def test_cancelling_closes_the_connection_at_once_also_while_the_server_is_silent(
    answer: object,
) -> None:
    async with ScriptedServer([answer]) as server:
        with anyio.move_on_after(0.2) as scope:
            await ask(call(server.provider()))
        left = time.monotonic()
        request = server.completions[0]
        await request.settled()
    assert scope.cancelled_caught
    assert request.disconnected
    assert (request.left_at or 0) - left < 0.2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_trouble_before_the_answer_is_tried_again_with_growing_waits(status: int) -> None:
    failure = Status(status, {"error": {"message": "asleep"}})
    async with ScriptedServer([failure, failure, Stream("Awake.")]) as server:
        asked = await ask(call(server.provider()))
    assert (asked.text, asked.waits) == ("Awake.", [0.5, 1.0])
    assert all("Trying again" in text for text in asked.progress)


@pytest.mark.parametrize(("allowed", "requests"), [(None, 3), (0, 1), (1, 2)])
async def test_the_number_of_retries_is_a_limit(allowed: int | None, requests: int) -> None:
    async with ScriptedServer(default=Status(500, {"error": {"message": "asleep"}})) as server:
        asked = await ask(call(server.provider(max_retries=allowed)))
    assert len(server.completions) == requests
    assert asked.error is not None
    assert (asked.error.kind, asked.error.detail) == (ModelErrorKind.SERVER, "asleep")


@pytest.mark.parametrize(
    ("headers", "wait"), [({"Retry-After": "8"}, 8.0), ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5)]
)
async def test_the_wait_that_the_server_asks_for_is_kept(headers: dict[str, str], wait: float) -> None:
    async with ScriptedServer([Status(429, {"error": "easy"}, headers), Stream("Done.")]) as server:
        assert (await ask(call(server.provider()))).waits == [wait]


@pytest.mark.parametrize(
    "answer",
    [
        Status(401, {"error": {"message": "no"}}),
        Status(400, {"error": {"message": "no"}}),
        Status(429, {"error": {"message": "empty", "code": "insufficient_quota"}}),
        Status(429, {"error": {"message": "easy"}}, {"Retry-After": "3600"}),
    ],
)
async def test_what_a_second_try_cannot_help_is_not_tried_again(answer: Status) -> None:
    async with ScriptedServer([answer, Stream("never")]) as server:
        asked = await ask(call(server.provider()))
    assert (asked.waits, len(server.completions)) == ([], 1)
    assert asked.error is not None


async def test_waiting_for_another_try_can_be_cancelled() -> None:
    async with ScriptedServer(default=Status(429, {"error": "easy"}, {"Retry-After": "30"})) as server:
        began = time.monotonic()
        with anyio.move_on_after(0.3):
            async with Models().stream(call(server.provider())) as arrivals:
                async for _ in arrivals:
                    pass
    assert time.monotonic() - began < 2


async def test_an_address_where_nobody_listens_is_a_connection_problem() -> None:
    async with ScriptedServer([Refuse()]) as server:
        asked = await ask(call(server.provider()))
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.CONNECTION
    assert len(asked.waits) == 2


@pytest.mark.parametrize("address", ["", "nonsense", "127.0.0.1:1/v1", "http://[bad", "ftp://127.0.0.1/v1"])
async def test_what_is_no_address_is_a_connection_problem(address: str) -> None:
    asked = await ask(call(Provider(base_url=address, model="m", max_retries=0)))
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.CONNECTION


def refuses(word: str) -> object:
    def answer(request: Recorded) -> Status | Stream:
        if word in request.raw.decode():
            return Status(400, {"error": {"message": f"Unsupported parameter: '{word}' is not supported."}})
        return Stream("Done.")

    return answer


@pytest.mark.parametrize("word", ["max_completion_tokens", "stream_options", "reasoning_effort"])
async def test_a_parameter_that_a_server_refuses_is_left_out_from_then_on_and_said_once(word: str) -> None:
    async with ScriptedServer(default=refuses(word)) as server:
        provider = server.provider(enable_reasoning=True, reasoning_effort="High")
        models = Models()
        first, second = await ask(call(provider), models), await ask(call(provider), models)
    assert [first.text, second.text] == ["Done.", "Done."]
    assert [len(first.progress), len(second.progress)] == [1, 0]
    assert len(server.completions) == 3
    if word == "max_completion_tokens":
        assert server.completions[-1].body["max_tokens"] == 500


async def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    refusal = Status(400, {"error": {"message": "max_tokens and max_completion_tokens are not supported"}})
    async with ScriptedServer(default=refusal) as server:
        asked = await ask(call(server.provider(additional_parameters={"max_tokens": 7})))
    assert asked.error is not None
    assert len(server.completions) <= 3


async def test_a_model_that_wants_roles_to_alternate_gets_merged_messages() -> None:
    def strict(request: Recorded) -> Status | Stream:
        roles = [message["role"] for message in request.body["messages"]]
        good = roles == ["system", "user", "assistant", "user"]
        return Stream("Done.") if good else Status(400, {"error": "roles must alternate user/assistant"})

    messages = tuple(
        Message(role=role, content=text)
        for role, text in [
            ("system", "S"),
            ("assistant", "A"),
            ("assistant", "B"),
            ("user", "C"),
            ("system", "D"),
        ]
    )
    async with ScriptedServer(default=strict) as server:
        asked = await ask(call(server.provider(), messages=messages))
    assert asked.text == "Done."
    assert [each["content"] for each in server.completions[-1].body["messages"]][2:] == ["A\n\nB", "C\n\nD"]


async def test_what_is_set_by_hand_is_not_learned_away() -> None:
    async with ScriptedServer(default=refuses("max_completion_tokens")) as server:
        asked = await ask(call(server.provider(settings={"limit": "max_completion_tokens"})))
    assert asked.error is not None
    assert len(server.completions) == 1


async def test_reasoning_that_only_has_a_closing_tag_is_pointed_out_and_told_apart_when_switched_on() -> None:
    answer = Stream("hm", "</think>", "\n\nText")
    async with ScriptedServer([answer, answer]) as server:
        first = await ask(call(server.provider()))
        second = await ask(call(server.provider(settings={"starts_in_thinking": True})))
    assert first.text == "hm</think>\n\nText"
    assert "reasoning" in first.progress[0]
    assert (second.chunks, second.progress) == ([("reasoning", "hm"), ("text", "Text")], [])


async def test_the_key_goes_to_the_server_and_nowhere_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = KeyStore(tmp_path)
    keys.set("mine", "sk-very-secret")
    models = Models(tmp_path, keys=keys)
    rude = Status(401, {"error": {"message": "Incorrect API key provided: sk-very-secret."}})
    async with ScriptedServer([Stream("Done."), rude]) as server:
        provider = server.provider(key_ref="mine")
        await ask(call(provider), models)
        asked = await ask(call(provider), models)
    assert server.completions[0].headers["authorization"] == "Bearer sk-very-secret"
    shown = f"{asked.error!s} {asked.error!r} {models!r} {keys!r} {provider!r} {caplog.text}"
    assert "secret" not in shown


async def test_a_server_that_repeats_the_key_in_the_head_of_its_answer_brings_it_into_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    keys = KeyStore(tmp_path)
    keys.set("mine", "sk-very-secret")
    echo = {"Set-Cookie": "key=sk-very-secret", "X-Asked": "Authorization: Bearer sk-very-secret"}
    async with ScriptedServer([Raw(headers=echo)]) as server:
        for base_url in (server.base_url, f"{server.base_url}/sk-very-secret"):
            await ask(call(server.provider(key_ref="mine", base_url=base_url)), Models(keys=keys))
    assert "Set-Cookie" in caplog.text
    assert "404" in caplog.text
    for record in caplog.records:
        assert "secret" not in f"{record.getMessage()} {vars(record)}"


async def test_a_key_that_nobody_has_is_said_before_anything_is_sent() -> None:
    async with ScriptedServer() as server:
        asked = await ask(call(server.provider(key_ref="env:NO_SUCH_VARIABLE_HERE")))
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.AUTH
    assert "NO_SUCH_VARIABLE_HERE" in str(asked.error)
    assert server.requests == []


async def test_a_proxy_in_the_environment_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with ScriptedServer([Stream("Done.")]) as server:
        assert (await ask(call(server.provider()))).text == "Done."


async def test_eight_answers_at_once_and_twenty_cancelled_ones_leave_nothing_stuck() -> None:
    models = Models()
    async with ScriptedServer(default=Stream("a ", "b ", "c", pace=0.01)) as server:
        provider = server.provider()

        async def cancelled() -> None:
            with anyio.move_on_after(0.015):
                await ask(call(provider), models)

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(cancelled)
        texts: list[str] = []

        async def whole() -> None:
            texts.append((await ask(call(provider), models)).text)

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(whole)
    assert texts == ["a b c"] * 8


def test_other_kinds_of_providers_are_not_supported() -> None:
    models = Models()
    assert [models.supports(Provider(kind=kind)) for kind in ("openai", "bundled", "other")] == [
        True,
        True,
        False,
    ]
    with pytest.raises(InvalidInput, match="other"):
        models.stream(call(Provider(kind="other")))


async def first_arrival(client: OpenAIClient, provider: Provider) -> Arrival:
    async with client.stream(call(provider)) as arrivals:
        return await anext(arrivals)


@pytest.mark.parametrize("before", [0, 380, 392, 399])
async def test_a_key_that_is_repeated_where_the_servers_words_are_cut_leaves_no_half_behind(
    before: int,
) -> None:
    key = "sk-very-secret-0123456789"
    rude = Status(401, {"error": {"message": f"{'.' * before}{key} is not known here."}})
    async with ScriptedServer([rude]) as server:
        with pytest.raises(ModelError) as caught:
            await first_arrival(OpenAIClient(key_of=lambda _: key), server.provider())
    assert "sk-v" not in f"{caught.value!s} {caught.value!r} {caught.value.detail}"


@pytest.mark.parametrize("around", ["{} ", "\t{}", "{}\n"])
async def test_white_space_around_a_key_is_no_part_of_it(around: str) -> None:
    async with ScriptedServer([Stream("Done.")]) as server:
        client = OpenAIClient(key_of=lambda _: around.format("sk-very-secret"))
        assert await first_arrival(client, server.provider(max_retries=0)) == Chunk("text", "Done.")
    assert server.completions[0].headers["authorization"] == "Bearer sk-very-secret"
