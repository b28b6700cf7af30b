from __future__ import annotations

import json

from marginalia.inference.dialect import Dialect
from marginalia.inference.wire import encoded, request_body
from marginalia.values import Message, Provider
from tests.inference.asking import call

PLAIN = Provider(model="stub-1")


def test_it_is_a_streaming_chat_completion_of_the_configured_model() -> None:
    body = request_body(call(PLAIN), Dialect())
    assert body["model"] == "stub-1"
    assert body["stream"] is True
    assert body["messages"] == [{"role": "system", "content": ""}, {"role": "user", "content": "Go on."}]
    assert body["stream_options"] == {"include_usage": True}


def test_only_settings_that_are_set_are_sent_and_zero_is_one() -> None:
    body = request_body(call(PLAIN, temperature=0.0, presence_penalty=-0.5), Dialect())
    assert (body["temperature"], body["presence_penalty"]) == (0.0, -0.5)
    assert not {"top_p", "frequency_penalty", "reasoning_effort"} & body.keys()


def test_the_response_limit_is_sent_under_the_name_that_the_server_takes_and_only_if_known() -> None:
    assert request_body(call(PLAIN, response=321), Dialect())["max_completion_tokens"] == 321
    assert request_body(call(PLAIN, response=321), Dialect(limit="max_tokens"))["max_tokens"] == 321
    assert (
        not {"max_tokens", "max_completion_tokens"} & request_body(call(PLAIN, response=0), Dialect()).keys()
    )


def test_additional_parameters_win_and_stand_in_the_body_once() -> None:
    provider = Provider(additional_parameters={"temperature": 0.1, "max_completion_tokens": 77})
    raw = encoded(request_body(call(provider, temperature=0.9), Dialect())).decode()
    assert json.loads(raw)["temperature"] == 0.1
    assert json.loads(raw)["max_completion_tokens"] == 77
    assert (raw.count('"temperature"'), raw.count("max_completion_tokens")) == (1, 1)


def test_an_additional_limit_of_the_other_name_takes_the_place_of_ours() -> None:
    body = request_body(call(Provider(additional_parameters={"max_tokens": 7})), Dialect())
    assert body["max_tokens"] == 7
    assert "max_completion_tokens" not in body


def test_without_streaming_no_stream_options_are_sent() -> None:
    body = request_body(call(Provider(additional_parameters={"stream": False})), Dialect())
    assert "stream_options" not in body


def test_reasoning_effort_is_sent_in_lower_case_when_reasoning_is_enabled() -> None:
    on = Provider(enable_reasoning=True, reasoning_effort="MEDIUM")
    off = Provider(enable_reasoning=False, reasoning_effort="MEDIUM")
    assert request_body(call(on), Dialect())["reasoning_effort"] == "medium"
    assert "reasoning_effort" not in request_body(call(off), Dialect())


def test_half_characters_do_not_stop_a_request() -> None:
    messages = (Message(role="user", content="a\ud83e b \ud83e\udddc"),)
    sent = json.loads(encoded(request_body(call(PLAIN, messages=messages), Dialect())))
    assert sent["messages"][0]["content"] == "a\ufffd b \U0001f9dc"


def test_messages_go_out_as_they_are_where_the_server_is_not_picky() -> None:
    messages = tuple(Message(role="user", content=text) for text in (" a\n", "", "b"))
    assert Dialect().messages(messages) == messages
    assert [each.content for each in Dialect(drop_empty=True).messages(messages)] == [" a\n", "b"]


def test_settings_of_a_wrong_type_are_ignored() -> None:
    assert Dialect().with_settings({"alternate": "yes", "system_first": True, "other": 1}) == Dialect(
        system_first=True
    )
