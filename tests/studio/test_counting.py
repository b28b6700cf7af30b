"""Prompts are counted as the book's model counts: estimates at once, the server's numbers when they are there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import marginalia as mg
from marginalia.testing import Recorded, Refuse, ScriptedServer, Status, Stream, WordTokenizer
from marginalia.testing.answers import Answer
from marginalia.values import Book

EXACT = "exact (llama.cpp /tokenize)"
STORY = "Mara climbed the last turn of the stairs with the lamp oil sloshing in its can. " * 12
TURN = mg.Turn(instructions="She reads the last entry of the logbook aloud, slowly.")
words = WordTokenizer().count


@pytest.fixture(autouse=True)
def servers_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINALIA_EXACT_COUNTS", "yes")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=Stream("The lamp ", "went out."), counts_tokens=True) as server:
        yield server


def shelf(studio: mg.Studio, base_url: str, **provider: object) -> Book:
    known = studio.providers.create(
        name="Near", base_url=base_url, model="m", max_context=8192, max_response=500, **provider
    )
    protocol = studio.protocols.create(name="Plain")
    book = studio.books.create(name="Salt", provider=known, protocol=protocol)
    for _ in range(3):
        studio.story.append(book, STORY)
    return studio.books.get(book.id)


async def settled(studio: mg.Studio, book: Book) -> mg.Prompt:
    await studio.preview(book, TURN)
    assert await studio.counting.settle(studio.providers.get(book.provider_id or 0))
    return await studio.preview(book, TURN)


def counting_requests(server: ScriptedServer) -> list[Recorded]:
    return [each for each in server.requests if each.path == "/tokenize"]


async def test_a_preview_is_there_at_once_with_estimates_and_exact_when_the_server_told(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url)
        first = await studio.preview(book, TURN)
        assert first.budget.counted == "o200k_base x1.05"
        assert server.requests == []
        then = await settled(studio, book)
        assert then.budget.counted == EXACT
        assert then.budget.story == 3 * words(STORY)
        assert then.budget.costs.system == words(then.messages[0].content)
        assert {part.tokens for part in then.history} == {words(STORY)}
        stored = studio.story.branch(book)[0].tokens
        assert stored == studio.tokenizer.count(STORY)  # what is stored is the same for every model


async def test_a_text_is_asked_for_once_and_many_in_one_request(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url)
        provider = studio.providers.get(book.provider_id or 0)
        await settled(studio, book)
        assert len(counting_requests(server)) == 2  # whether it counts, then everything
        assert not await studio.counting.settle(provider)
        for letters in range(5, 60, 5):  # keystrokes
            await studio.preview(
                book, mg.Turn(instructions="She reads the last entry of the logbook, then she"[:letters])
            )
        assert len(counting_requests(server)) == 2
        assert await studio.counting.settle(provider)
        asked = counting_requests(server)
        assert len(asked) == 3
        sent = [text for text in asked[-1].body["content"] if isinstance(text, str)]
        assert STORY not in sent
        assert len(sent) == len(set(sent)) < 20  # of the last prompts, not of every keystroke


async def test_counts_and_factors_survive_a_restart_without_the_server(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url)
        exact = await settled(studio, book)
        factor = studio.counting.calibration(studio.providers.get(book.provider_id or 0)).factor
        assert factor < 1
    server.stop()
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        provider = studio.providers.get(book.provider_id or 0)
        assert studio.counting.calibration(provider).factor == pytest.approx(factor)
        await studio.preview(book, TURN)
        assert await studio.counting.settle(provider)  # parts are known again, from what was kept
        again = await studio.preview(book, TURN)
        assert again.budget.story == exact.budget.story
        assert again.budget.counted.endswith(EXACT)


async def test_a_server_that_is_away_costs_nothing_and_is_left_alone_for_a_minute(tmp_path: Path) -> None:
    with ScriptedServer([Refuse()]) as server:
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            book = shelf(studio, server.base_url)
            provider = studio.providers.get(book.provider_id or 0)
            prompt = await studio.preview(book, TURN)
            began = time.monotonic()
            assert not await studio.counting.settle(provider)
            server.script(Stream("x"))
            assert not await studio.counting.settle(provider)
            assert time.monotonic() - began < 5
            assert server.requests == []
            assert (await studio.preview(book, TURN)).budget == prompt.budget


class Slow(ScriptedServer):
    """Counts, and takes for ever."""

    def _answer(self, request: Recorded) -> Answer:
        return Stream() if request.path != "/tokenize" else Status(200, {"nothing": "useful"})


async def test_a_server_that_counts_nonsense_is_not_believed(tmp_path: Path) -> None:
    with Slow() as server:
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            book = shelf(studio, server.base_url)
            await studio.preview(book, TURN)
            assert not await studio.counting.settle(studio.providers.get(book.provider_id or 0))
            assert (await studio.preview(book, TURN)).budget.counted == "o200k_base x1.05"


@pytest.mark.parametrize("why", ["a tokenizer was brought", "the environment", "the provider", "far away"])
async def test_no_server_is_asked_where_it_shall_not_be(
    why: str, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "the environment":
        monkeypatch.setenv("MARGINALIA_EXACT_COUNTS", "no")
    tokenizer = WordTokenizer() if why.startswith("a tokenizer") else None
    settings = {"exact_counts": False} if why == "the provider" else {}
    if why == "far away":
        monkeypatch.setattr("marginalia.inference.models.is_local", lambda url: False)
    async with mg.Studio(tmp_path / "m.db", tokenizer=tokenizer, extensions=()) as studio:
        book = shelf(studio, server.base_url, settings=settings)
        provider = studio.providers.get(book.provider_id or 0)
        await studio.preview(book, TURN)
        assert not await studio.counting.settle(provider)
        assert server.requests == []
        if tokenizer is not None:
            assert (await studio.preview(book, TURN)).budget.counted == "words"


async def test_a_server_far_away_is_asked_when_its_provider_says_so(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.inference.models.is_local", lambda url: False)
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url, settings={"exact_counts": True})
        assert (await settled(studio, book)).budget.counted == EXACT


async def test_an_answer_corrects_the_estimates_of_its_model_and_the_receipt_says_how_was_counted(
    tmp_path: Path,
) -> None:
    usage = {"prompt_tokens": 2000, "completion_tokens": 3}
    with ScriptedServer(default=Stream("The lamp ", "went out.", usage=usage)) as server:
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            book = shelf(studio, server.base_url)
            before = await studio.preview(book, TURN)
            outcome = await studio.generate(book, TURN).settled()
            assert outcome.part is not None
            receipt = studio.story.receipt(outcome.part)
            assert receipt is not None
            assert receipt.versions["tokenizer"] == "o200k_base x1.05"
            assert outcome.part.tokens == sum(map(studio.tokenizer.count, ("The lamp ", "went out.")))
            calibration = studio.counting.calibration(studio.providers.get(book.provider_id or 0))
            assert calibration.reports == 1
            after = await studio.preview(book, TURN)
            assert after.budget.counted == f"o200k_base x{calibration.factor:.2f}"
            assert after.budget.story > before.budget.story


async def test_an_edited_part_is_counted_anew(tmp_path: Path, server: ScriptedServer) -> None:
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url)
        await settled(studio, book)
        studio.story.edit(studio.story.branch(book)[0], STORY * 2)
        prompt = await settled(studio, book)
        assert prompt.budget.story == 4 * words(STORY)


async def test_two_windows_that_want_the_same_counts_make_one_request(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
        book = shelf(studio, server.base_url)
        provider = studio.providers.get(book.provider_id or 0)
        await studio.preview(book, TURN)
        known: list[bool] = []

        async def one() -> None:
            known.append(await studio.counting.settle(provider))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        assert known == [True, True]
        assert len(counting_requests(server)) == 2


async def test_what_a_refusal_taught_survives_a_restart_and_can_be_forgotten(tmp_path: Path) -> None:
    def picky(request: Recorded) -> Answer:
        refused = "max_completion_tokens" in request.body
        words = {"error": {"message": "Unsupported parameter: max_completion_tokens"}}
        return Status(400, words) if refused else Stream("Done.")

    with ScriptedServer(default=picky) as server:
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            book = shelf(studio, server.base_url)
            assert (await studio.generate(book, TURN).settled()).error is None
            assert len(server.completions) == 2
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            provider = studio.providers.get(book.provider_id or 0)
            assert studio.models.learned(provider).limit == "max_tokens"
            assert (await studio.generate(book, TURN).settled()).error is None
            assert len(server.completions) == 3
            await studio.models.forget(provider)
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            assert studio.models.learned(provider).limit == "max_completion_tokens"


async def test_a_summary_that_would_not_fit_is_judged_as_its_model_counts(tmp_path: Path) -> None:
    with ScriptedServer(default=Stream("Short.")) as server:
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            book = shelf(studio, server.base_url)
            provider = studio.providers.get(book.provider_id or 0)
            part = studio.story.branch(book)[-1].id
            stored = sum(each.tokens for each in studio.story.branch(book))
            tight = stored + 500 + 600  # the texts, the answer, and room for the summary prompt
            studio.providers.save(replace(provider, max_context=tight))
            assert await studio.summaries.create(book, part)
            studio.summaries.remove(part)
            studio.settings.set("counting.factors", [["openai", provider.base_url, "m", 3.0, 4]])
        async with mg.Studio(tmp_path / "m.db", extensions=()) as studio:
            with pytest.raises(mg.errors.ContextOverflow):
                await studio.summaries.create(book, part)
