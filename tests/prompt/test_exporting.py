"""Prompts to paste elsewhere: no key gets into them, and a shell reads back what was quoted."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
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


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], object]:
    """What a curl that prints what it is given would be given for a text."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "curl").write_text("#!/bin/sh\ncat\n")
    (folder / "curl").chmod(0o755)

    def sent(text: str) -> object:
        command = as_curl("http://127.0.0.1:1/v1", {"content": text}, needs_key=True)
        path = f"{folder}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["/bin/sh"], input=command.encode(), capture_output=True, check=True, env={"PATH": path}
        )
        return json.loads(ran.stdout)

    return sent


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=80))
@example('it\'s "$HOME" `x` \\ \x00\nEND_OF_BODY\n')
def test_a_shell_reads_the_body_back(shell: Callable[[str], object], text: str) -> None:
    assert shell(text) == {"content": text}


def test_a_body_may_be_longer_than_an_argument(shell: Callable[[str], object]) -> None:
    assert shell("word " * 60_000) == {"content": "word " * 60_000}
