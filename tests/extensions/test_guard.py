"""What fails or hangs in an extension is reported with its name, and the generation goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anyio
import pytest

import marginalia as mg
from marginalia.extensions.api import Exporter, Host, LoreFormat, Panel
from marginalia.pipeline.steps import context
from marginalia.prompt.macros.table import Invocation
from marginalia.testing import ScriptedServer, Stream
from tests.extensions.helpers import TURN, add_book, extension, studio_with


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer([Stream("Done.")]) as server:
        yield server


async def outcome_with(install: Any, server: ScriptedServer) -> tuple[mg.Run, mg.Outcome, mg.Studio]:
    studio, book = studio_with(extension(install), base_url=server.base_url)
    async with studio:
        assert studio.extensions.failures == ()
        run = studio.generate(book, TURN)
        with anyio.fail_after(10):
            return run, await run.settled(), studio


def owners(run: mg.Run) -> list[tuple[str, str]]:
    return [(each.owner, each.event) for each in run.problems]


@pytest.mark.parametrize("event", [mg.events.BeforePrepareContent, mg.events.ChunkReceived])
async def test_a_plain_listener_that_never_returns_is_given_up(
    server: ScriptedServer, event: type[mg.events.BeforePrepareContent]
) -> None:
    def hang(_run: mg.Run, _event: Any) -> None:
        time.sleep(0.5)

    run, outcome, studio = await outcome_with(lambda host: host.on(event, hang, timeout=0.05), server)
    assert outcome.state is mg.RunState.SUCCESSFUL
    assert outcome.part is not None
    assert outcome.part.text == "Done."
    assert owners(run) == [("trial", event.__name__)]
    assert isinstance(run.problems[0].error, TimeoutError)
    assert [str(each.error) for each in studio.extensions.problems] == ["it took longer than 0.05 seconds"]


async def test_a_listener_of_every_entry_leaves_the_loop_alone_and_uses_one_thread() -> None:
    threads: set[int] = set()

    def look(_run: mg.Run, _event: Any) -> None:
        threads.add(threading.get_ident())

    studio, book = studio_with(extension(lambda host: host.on(mg.events.ProcessLorebookEntry, look)))
    with studio:
        world = studio.lorebooks.create(name="World")
        for number in range(20):
            studio.lorebooks.add_entry(world, name=f"Entry {number}", payload="Salt.")
        await studio.preview(studio.books.save(replace(book, lorebook_id=world.id)), TURN)
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_a_message_that_cannot_be_made_is_left_out_and_the_prompt_says_whose_it_was() -> None:
    def hang(_run: mg.Run, _event: Any) -> None:
        time.sleep(0.5)

    studio, book = studio_with(
        extension(lambda host: host.insert(lambda _run, _event: 1 / 0), name="first"),  # type: ignore[arg-type,return-value]
        extension(lambda host: host.on(mg.events.BeforeSummaries, hang, timeout=0.05), name="second"),
    )
    with studio:
        prompt = await studio.preview(book, TURN)
        assert [(each.source, each.text) for each in prompt.problems] == [
            ("first", "first failed in BeforePrepareContent: division by zero"),
            ("second", "second failed in BeforeSummaries: it took too long"),
        ]


async def test_the_loop_goes_on_while_a_plain_listener_works() -> None:
    seen: list[float] = []

    def slow(_run: mg.Run, _event: Any) -> None:
        time.sleep(1.0)

    studio, book = studio_with(extension(lambda host: host.insert(slow)))

    async def tick() -> None:
        while True:
            seen.append(time.perf_counter())
            await anyio.sleep(0.01)

    with studio:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            await studio.preview(book, TURN)
            group.cancel_scope.cancel()
    gaps = [after - before for before, after in pairwise(seen)]
    assert max(gaps) < 0.9


async def test_an_extension_that_hangs_three_times_rests_until_it_is_switched_on_again() -> None:
    asked: list[str] = []

    async def hang(_run: mg.Run, _event: Any) -> None:
        asked.append("asked")
        await anyio.sleep_forever()

    studio, book = studio_with(
        extension(lambda host: host.on(mg.events.BeforePrepareContent, hang, timeout=0.02))
    )
    with studio:
        for _ in range(5):
            await studio.preview(book, TURN)
        assert len(asked) == 3
        assert [each.name for each in studio.extensions.failures] == ["trial"]
        assert "rests" in studio.extensions.all()[0].problem
        studio.extensions.disable("trial")
        assert studio.extensions.enable("trial")
        assert studio.extensions.failures == ()
        await studio.preview(book, TURN)
        assert len(asked) == 4


async def test_a_listener_of_an_extension_can_refuse_a_run() -> None:
    def refuse(_run: mg.Run, _event: Any) -> None:
        raise mg.Refused("Not on a Sunday.")

    studio, book = studio_with(extension(lambda host: host.on(mg.events.BeforePrepareContent, refuse)))
    with studio, pytest.raises(mg.Refused, match="Sunday"):
        await studio.preview(book, TURN)


@pytest.mark.parametrize(
    "way", ["raises before", "raises after", "hangs", "gives nonsense", "cannot be made"]
)
@pytest.mark.parametrize(
    "slot",
    [mg.steps.PREPARE_CONTENT, mg.steps.GENERATE_NEW_MESSAGE, mg.steps.INFERENCE],
    ids=lambda slot: slot.name,
)
async def test_a_wrapper_that_fails_is_left_out_and_the_step_runs_once(
    server: ScriptedServer, slot: Any, way: str
) -> None:
    def wrapper(step: Any) -> Any:
        if way == "cannot be made":
            raise RuntimeError("no")

        async def around(run: mg.Run, known: Any) -> Any:
            if way == "raises before":
                raise RuntimeError("no")
            if way == "hangs":
                await anyio.sleep_forever()
            given = await step(run, known)
            if way == "raises after":
                raise RuntimeError("no")
            return "nonsense" if way == "gives nonsense" else given

        return around

    run, outcome, _ = await outcome_with(lambda host: host.wrap(slot, wrapper, timeout=0.2), server)
    assert outcome.state is mg.RunState.SUCCESSFUL
    assert owners(run) == [("trial", slot.name)]
    assert len(server.completions) == 1
    assert outcome.part is not None
    assert outcome.part.text == "Done."


async def test_the_time_of_the_step_itself_is_not_the_wrappers(server: ScriptedServer) -> None:
    def wrapper(step: Any) -> Any:
        async def around(run: mg.Run, known: Any) -> Any:
            async def slow(run: mg.Run, known: Any) -> Any:
                await anyio.sleep(0.3)
                return await step(run, known)

            return await slow(run, known)

        return around

    def install(host: Host) -> None:
        host.wrap(mg.steps.PREPARE_CONTENT, lambda step: step, timeout=0.05)

    studio, book = studio_with(extension(install))
    undo = studio.wrap_step(mg.steps.PREPARE_CONTENT, wrapper)
    with studio:
        assert (await studio.preview(book, TURN)).messages
        undo()


async def test_the_steps_own_refusal_goes_through_a_wrapper() -> None:
    studio, book = studio_with(
        extension(lambda host: host.wrap(mg.steps.PREPARE_CONTENT, lambda step: step)), texts=()
    )
    with studio:
        provider = studio.providers.get(book.provider_id or 0)
        studio.providers.save(replace(provider, max_context=60, max_response=50))
        with pytest.raises(mg.Refused):
            await studio.preview(book, TURN)


async def test_a_replaced_step_is_used_and_falls_back_when_it_fails() -> None:
    broken = [False]

    async def mine(run: mg.Run, known: mg.events.BeforePreparePayload) -> mg.events.AfterPreparePayload:
        if broken[0]:
            raise RuntimeError("no")
        messages = (mg.Message(role="user", content="mine"),)
        return mg.events.onward(known, mg.events.AfterPreparePayload, messages=messages)

    studio, book = studio_with(extension(lambda host: host.replace(mg.steps.PREPARE_PAYLOAD, mine)))
    with studio:
        assert [each.content for each in (await studio.preview(book, TURN)).messages] == ["mine"]
        broken[0] = True
        assert "mine" not in (await studio.preview(book, TURN)).text
        studio.extensions.disable("trial")
        assert "mine" not in (await studio.preview(book, TURN)).text


async def test_a_replaced_step_that_fails_half_way_ends_the_run_in_the_ordinary_way(
    server: ScriptedServer,
) -> None:
    def twice(step: Any) -> Any:
        async def stores_then_fails(run: mg.Run, known: Any) -> Any:
            await mg.steps.STEPS[mg.steps.GENERATE_NEW_MESSAGE](run, known)
            raise RuntimeError("half-way")

        return stores_then_fails

    studio, book = studio_with(
        extension(lambda host: host.wrap(mg.steps.GENERATE_NEW_MESSAGE, twice)), base_url=server.base_url
    )
    async with studio:
        outcome = await studio.generate(book, TURN).settled()
        assert str(outcome.error) == "half-way"
        assert [part.text for part in studio.story.parts(book)] == ["Snow fell."]


async def test_a_macro_that_fails_prints_error_and_is_reported_with_its_owner() -> None:
    def install(host: Host) -> None:
        host.macro("broken", lambda _call: 1 / 0)  # type: ignore[arg-type,return-value]

    studio, book = studio_with(extension(install), user_prompt="a {{broken}} b")
    with studio:
        assert (await studio.preview(book, TURN)).messages[-1].content == "a Error b"
        assert [(each.owner, each.event) for each in studio.extensions.problems][:1] == [
            ("trial", "macro broken")
        ]


async def test_a_macro_that_hangs_prints_error_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MACRO_SECONDS", 0.05)

    def hang(_call: Invocation) -> str:
        time.sleep(0.5)
        return "late"

    studio, book = studio_with(
        extension(lambda host: host.macro("slow", hang)),
        user_prompt="{{setvar::a::1}}a {{slow}} {{getvar::a}}",
    )
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.messages[-1].content == "a Error 1"
        assert any("slow" in each.text for each in prompt.problems)


async def test_a_macro_that_is_stuck_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MACRO_SECONDS", 0.05)
    monkeypatch.setattr("marginalia.extensions.host.SECONDS", 0.01)
    called: list[str] = []

    def hang(_call: Invocation) -> str:
        called.append("called")
        time.sleep(0.5)
        return "late"

    studio, book = studio_with(extension(lambda host: host.macro("slow", hang)), user_prompt="a {{slow}}")
    with studio:
        for _ in range(4):
            assert (await studio.preview(book, TURN)).messages[-1].content == "a Error"
        assert called == ["called"]
        await anyio.sleep(0.5)
        await studio.preview(book, TURN)
        assert called == ["called", "called"]


HANGS = """
import asyncio, time
import marginalia as mg
from marginalia.testing import WordTokenizer

class Hangs:
    name = "hangs"

    def install(self, host):
        host.on(mg.events.BeforePrepareContent, lambda run, event: time.sleep(60), timeout=0.1)

async def main():
    async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=[Hangs()]) as studio:
        print(len((await studio.preview(studio.books.create(name="Salt"))).messages))

asyncio.run(main())
"""


def test_a_listener_that_hangs_does_not_keep_the_program_from_ending() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, timeout=30, check=True)
    assert ended.stdout.strip() == b"2"


async def test_variables_and_dice_go_on_through_a_macro_of_an_extension() -> None:
    def remember(call: Invocation) -> str:
        call.context.local["seen"] = call.argument(0)
        return ""

    prompts = {"user_prompt": "{{remember::x}}{{getvar::seen}}", "master_template": "{{getvar::seen}}"}
    studio, book = studio_with(extension(lambda host: host.macro("remember", remember, minimum=1)), **prompts)
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.messages[-1].content == "x"
        assert prompt.messages[0].content == "x"
        assert prompt.variables.local["seen"] == "x"


@pytest.mark.parametrize("name", ["user", "setvar", "two words", "if"])
async def test_a_macro_cannot_take_a_name_that_is_taken_or_cannot_be_written(name: str) -> None:
    with studio_with(extension(lambda host: host.macro(name, lambda _call: "")))[0] as studio:
        assert [type(each.error) for each in studio.extensions.failures] == [mg.InvalidInput]
        assert studio.extensions.names == ()


async def test_a_macro_may_give_a_meaning_to_a_name_that_has_none() -> None:
    studio, book = studio_with(
        extension(lambda host: host.macro("persona", lambda _call: "a poet")), user_prompt="{{persona}}"
    )
    with studio:
        assert (await studio.preview(book, TURN)).messages[-1].content == "a poet"


async def test_macros_of_extensions_reach_lore_and_summaries(server: ScriptedServer) -> None:
    studio, book = studio_with(
        extension(lambda host: host.macro("moon", lambda _call: "new moon")),
        base_url=server.base_url,
        summary_prompt="{{moon}} {{text}}",
    )
    async with studio:
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Sky", payload="It is {{moon}}.")
        book = studio.books.save(replace(book, lorebook_id=world.id))
        assert "It is new moon." in (await studio.preview(book, TURN)).text
        await studio.summaries.create(book, studio.story.branch(book)[-1])
        assert server.completions[-1].body["messages"][0]["content"].startswith("new moon")


async def test_a_panel_that_fails_or_hangs_shows_a_sentence_with_its_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("marginalia.extensions.manager.SECONDS", 0.05)

    def install(host: Host) -> None:
        host.panel(Panel(title="Broken", show=lambda *_: 1 / 0))  # type: ignore[arg-type,return-value]
        host.panel(Panel(title="Slow", show=lambda *_: time.sleep(0.3) or ""))

    studio, book = studio_with(extension(install))
    with studio:
        broken, slow = studio.extensions.panels
        assert "*trial* failed" in str(await studio.extensions.shown(broken, studio, book, None))
        for _ in range(2):
            assert "*trial* took longer" in str(await studio.extensions.shown(slow, studio, book, None))
        assert [each.owner for each in studio.extensions.problems] == ["trial"] * 3


async def test_tokens_are_reserved() -> None:
    studio, book = studio_with(extension(lambda host: host.reserve(lambda _run, _event: 70)))
    with studio:
        assert (await studio.preview(book, TURN)).budget.reserved == 70


def test_two_extensions_of_one_name_and_one_for_a_newer_surface_are_refused() -> None:
    first, second, newer = (
        extension(lambda host: None),
        extension(lambda host: None),
        extension(lambda host: None, name="newer", api=99),
    )
    with studio_with(first, second, newer)[0] as studio:
        assert studio.extensions.names == ("trial",)
        assert [each.name for each in studio.extensions.failures] == ["trial", "newer"]
        assert "Update Marginalia" in str(studio.extensions.failures[1].error)
        with pytest.raises(mg.NotFound, match="trial"):
            studio.extensions.disable("nothing")


@pytest.mark.parametrize("name", ["", "Big", "with blank", "under_score", "-", "a--b", "a/b"])
def test_a_name_that_is_no_key_is_refused(name: str) -> None:
    with studio_with(extension(lambda host: None, name=name))[0] as studio:
        assert studio.extensions.names == ()
        assert "small letters" in str(studio.extensions.failures[0].error)


NOTES = LoreFormat(
    key="notes",
    title="Field notes",
    sees=lambda data, _file: data.startswith(b"NOTES"),
    read=lambda data, _file: (
        b'{"format": "marginalia-lorebook", "version": 1, "name": "Notes", "entries": '
        b'[{"name": "One", "payload": "' + data[6:] + b'"}]}'
    ),
)


def test_lore_of_a_foreign_format_is_imported() -> None:
    with studio_with(extension(lambda host: host.lore_format(NOTES)))[0] as studio:
        report = studio.lorebooks.import_file(b"NOTES Salt and rope.")
        assert (report.format, report.title, report.names) == ("notes", "Field notes", ("Notes",))
        assert [each.payload for each in studio.lorebooks.entries(report.lorebooks[0])] == ["Salt and rope."]
        assert studio.lorebooks.preview_import(b"NOTES x", format="notes").format == "notes"
        with pytest.raises(mg.FormatError, match="notes"):
            studio.lorebooks.import_file(b"{}", format="notes")
        with pytest.raises(mg.FormatError):
            studio.lorebooks.import_file(b"something else")
        studio.extensions.disable("trial")
        with pytest.raises(mg.FormatError):
            studio.lorebooks.import_file(b"NOTES Salt and rope.")


def test_a_lore_format_that_fails_is_a_plain_refusal() -> None:
    broken = replace(NOTES, read=lambda _data, _file: 1 / 0)  # type: ignore[arg-type,return-value]
    with studio_with(extension(lambda host: host.lore_format(broken)))[0] as studio:
        with pytest.raises(mg.FormatError, match="the extension that reads Field notes failed"):
            studio.lorebooks.import_file(b"NOTES x")
        assert studio.lorebooks.all() == ()
        assert [each.owner for each in studio.extensions.problems] == ["trial"]


def test_a_lore_format_that_cannot_tell_leaves_the_file_to_the_next_one() -> None:
    blind = replace(NOTES, key="blind", sees=lambda _data, _file: 1 / 0)  # type: ignore[arg-type,return-value]
    studio, _ = studio_with(
        extension(lambda host: host.lore_format(blind), name="blind"),
        extension(lambda host: host.lore_format(NOTES), name="seeing"),
    )
    with studio:
        assert studio.lorebooks.import_file(b"NOTES Salt and rope.").format == NOTES.key
        assert [each.owner for each in studio.extensions.problems] == ["blind"]


@pytest.mark.parametrize("written", [None, "text", 1 / 3])
def test_an_exporter_that_fails_is_a_plain_refusal(written: Any) -> None:
    broken = Exporter(
        key="broken", name="Broken", suffix=".txt", media_type="text/plain", write=lambda _manuscript: written
    )
    studio, book = studio_with(extension(lambda host: host.exporter(broken)))
    with studio:
        with pytest.raises(mg.InvalidInput, match="the extension that writes Broken failed"):
            studio.story.export(book, "broken")
        assert [each.event for each in studio.extensions.problems] == ["export to Broken"]


def test_what_there_is_already_cannot_be_brought_once_more() -> None:
    plain = Exporter(
        key="md", name="Mine", suffix=".md", media_type="text/plain", write=lambda _manuscript: b""
    )
    panel = Panel(title="P", show=lambda *_: "")

    def twice(host: Host) -> None:
        host.panel(panel)
        host.panel(panel)

    studio, _ = studio_with(
        extension(lambda host: host.exporter(plain), name="one"),
        extension(lambda host: host.exporter(replace(plain, key="MINE")), name="two"),
        extension(lambda host: host.lore_format(replace(NOTES, key="sillytavern")), name="three"),
        extension(twice, name="four"),
    )
    with studio:
        assert [each.name for each in studio.extensions.failures] == ["one", "two", "three", "four"]
        assert "'md' already" in str(studio.extensions.failures[0].error)
        assert studio.extensions.panels == ()


def test_a_story_is_exported_by_an_extension() -> None:
    shout = Exporter(
        key="shout", name="Shouted", suffix=".txt", media_type="text/plain",
        write=lambda manuscript: f"{manuscript.title}: {' '.join(manuscript.texts).upper()}".encode(),
    )  # fmt: skip
    studio, book = studio_with(
        extension(lambda host: host.exporter(shout)), texts=("Snow fell.", "Fire held.")
    )
    with studio:
        assert studio.story.export(book, "shout") == b"Salt: SNOW FELL. FIRE HELD."
        assert studio.story.export(book, "shout", first=2, title="Ash") == b"Ash: FIRE HELD."
        assert b"Snow fell." in studio.story.export(book, "md")
        studio.extensions.disable("trial")
        with pytest.raises(mg.InvalidInput):
            studio.story.export(book, "shout")


def test_books_of_other_studios_are_not_touched() -> None:
    with (
        studio_with(extension(lambda host: host.macro("moon", lambda _call: "")))[0] as one,
        studio_with()[0] as two,
    ):
        assert one.extensions.macros().find("moon")
        assert two.extensions.macros().find("moon") is None
        assert add_book(two).name == "Salt"
