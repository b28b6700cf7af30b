"""LiteLLM's proxy in front of the bundled model: the same as without it, as far as a proxy lets it through.

It is looked for under ``MARGINALIA_LITELLM`` (the path of the ``litellm`` command), then in the PATH. It wants dozens
of packages in versions of its own, so it belongs into an environment of its own: ``pip install "litellm[proxy]"``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest

from marginalia.errors import ModelErrorKind
from marginalia.inference import LocalModel, Models
from marginalia.pipeline.ports import Chunk
from marginalia.values import Message, Provider
from tests.inference.asking import ask, call
from tests.inference.test_local import seconds_until_free

COMMAND = os.environ.get("MARGINALIA_LITELLM") or shutil.which("litellm")
ABSENT = LocalModel().why_absent() or (
    "" if COMMAND else "litellm is not installed (MARGINALIA_LITELLM, PATH)"
)
KEY = "sk-of-the-proxy"
BUNDLED = Provider(kind="bundled")
PROMPT = (
    Message(role="system", content="You write fiction."),
    Message(role="user", content="Write a story about a lighthouse."),
)
LONGEST_START = 180.0

pytestmark = [pytest.mark.model, pytest.mark.skipif(bool(ABSENT), reason=ABSENT)]


@dataclass
class Proxy:
    """The proxy, and the model behind it; a restarted model has another address, so each request names it."""

    port: int
    local: LocalModel

    def provider(self, **values: object) -> Provider:
        reached = self.local.provider(BUNDLED)
        behind = {"api_base": reached.base_url, "api_key": self.local.key(BUNDLED)}
        known = {"base_url": f"http://127.0.0.1:{self.port}/v1", "model": "small", "max_retries": 0}
        return Provider(key_ref="env:PROXY_KEY", additional_parameters=behind, **(known | values))  # type: ignore[arg-type]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(local: LocalModel) -> str:
    reached = local.provider(BUNDLED)
    parameters = {
        "model": f"openai/{local.name}",
        "api_base": reached.base_url,
        "api_key": local.key(BUNDLED),
        "max_retries": 0,
        "configurable_clientside_auth_params": ["api_base", "api_key"],
    }
    return json.dumps(
        {
            "model_list": [{"model_name": "small", "litellm_params": parameters}],
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
            "general_settings": {"master_key": KEY},
        }
    )


def wait_until_up(process: subprocess.Popen[bytes], port: int) -> None:
    ends = time.monotonic() + LONGEST_START
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < ends and process.poll() is None:
            try:
                if client.get(f"http://127.0.0.1:{port}/health/liveliness").is_success:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.5)
    raise TimeoutError("LiteLLM did not start; its words are in litellm.log.")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    local = LocalModel(folder, threads=1)
    anyio.run(local.start)
    (folder / "config.yaml").write_text(configuration(local))  # JSON is YAML
    command = [str(COMMAND), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(folder)}
    with (folder / "litellm.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=os.environ | offline, stdout=log, stderr=log)
    try:
        wait_until_up(process, port)
        yield Proxy(port, local)
    finally:
        process.kill()
        process.wait()
        local.stop()


@pytest.fixture
async def models(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    monkeypatch.setenv("PROXY_KEY", KEY)
    await proxy.local.start()
    return Models(tmp_path, local=proxy.local)


async def test_the_text_is_that_of_the_model_asked_directly(proxy: Proxy, models: Models) -> None:
    direct = await ask(call(BUNDLED, response=24, messages=PROMPT, temperature=0.0), models)
    through = await ask(call(proxy.provider(), response=24, messages=PROMPT, temperature=0.0), models)
    assert through.error is None
    assert through.text == direct.text
    assert len(through.chunks) > 5
    assert through.ending.finish_reason == "length"
    assert through.ending.usage is not None
    assert direct.ending.usage is not None
    assert through.ending.usage.prompt_tokens == direct.ending.usage.prompt_tokens
    assert through.ending.usage.completion_tokens == 24


async def test_stopping_frees_the_slot_behind_the_proxy(proxy: Proxy, models: Models) -> None:
    assert await seconds_until_free(models, call(proxy.provider(), response=4000, messages=PROMPT)) < 1.0


async def test_a_prompt_that_is_too_long_names_both_numbers(proxy: Proxy, models: Models) -> None:
    long = (Message(role="user", content="The lamp went out at night. " * 2000),)
    asked = await ask(call(proxy.provider(), response=8, messages=long), models)
    assert asked.error is not None
    assert asked.error.kind is ModelErrorKind.CONTEXT_OVERFLOW
    assert "8,192" in asked.error.text


async def test_two_runs_at_once_both_get_their_answer(proxy: Proxy, models: Models) -> None:
    texts: list[str] = []

    async def one() -> None:
        asked = await ask(call(proxy.provider(), response=24, messages=PROMPT, temperature=0.0), models)
        texts.append(asked.text)

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    assert len(texts) == 2
    assert all(texts)


async def test_a_wrong_key_is_an_error_that_does_not_repeat_it(
    proxy: Proxy, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_KEY", "sk-wrong-0123456789")
    asked = await ask(call(proxy.provider(), response=8, messages=PROMPT), models)
    assert asked.error is not None
    assert "0123456789" not in f"{asked.error} {asked.error!r}"


async def test_the_connection_test_finds_the_models_of_the_proxy(proxy: Proxy, models: Models) -> None:
    report = await models.probe(proxy.provider())
    assert report.models == ("small",)


async def test_killing_the_model_in_mid_stream_keeps_the_text_is_an_error_and_a_restart_mends_it(
    proxy: Proxy, models: Models
) -> None:
    process = proxy.local.process_id
    assert process is not None
    text, error = "", None
    try:
        async with models.stream(call(proxy.provider(), response=2000, messages=PROMPT)) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Chunk):
                    text += arrival.text
                    if len(text) > 20 and proxy.local.process_id is not None:
                        os.kill(process, signal.SIGKILL)
    except Exception as caught:  # noqa: BLE001 - looked at below
        error = caught
    assert text
    assert getattr(error, "kind", None) in (ModelErrorKind.CONNECTION, ModelErrorKind.SERVER)
    await proxy.local.start()
    again = await ask(call(proxy.provider(), response=8, messages=PROMPT), models)
    assert again.error is None
    assert again.text
