"""Prompts to paste elsewhere: no key gets into them, and a shell reads back what was quoted."""

from __future__ import annotations

import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.exporting import as_curl, as_json

SECRETS = {"api_key": "sk-1", "X-Auth-Token": "sk-2", "nested": [{"password": "sk-3", "key": "sk-4"}]}


def test_what_looks_like_a_secret_is_hidden() -> None:
    text = as_json(
        {"model": "m", "max_tokens": 7, "messages": [{"role": "user", "content": "My key: sk"}], **SECRETS}
    )
    assert "sk-" not in text
    assert json.loads(text)["max_tokens"] == 7
    assert json.loads(text)["messages"][0]["content"] == "My key: sk"


def test_curl_reads_the_key_from_the_environment() -> None:
    command = as_curl("https://me:sk-1@host.example/v1?key=sk-2", {"model": "m"} | SECRETS, needs_key=True)
    assert "sk-" not in command
    assert '"Authorization: Bearer $API_KEY"' in command
    assert "Authorization" not in as_curl("http://127.0.0.1:1/v1", {}, needs_key=False)


@given(st.text(max_size=80))
def test_a_shell_reads_the_body_back(text: str) -> None:
    command = as_curl("http://127.0.0.1:1/v1", {"content": text.replace("\x00", "")}, needs_key=False)
    words = shlex.split(command)
    assert json.loads(words[words.index("-d") + 1]) == {"content": text.replace("\x00", "")}
