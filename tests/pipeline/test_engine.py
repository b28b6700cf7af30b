"""The engine: the order, the last step always and once, and what may be put around or in place of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

import marginalia as mg
from marginalia.pipeline.slots import Slot
from marginalia.testing import Pause, Reasoning, Silent, Status, Stream
from tests.pipeline.conftest import Ear, World

SEVEN = (
    mg.steps.PREPARE_GENERATION,
    mg.steps.PREPARE_CONSTANTS,
    mg.steps.PROCESS_LOREBOOK,
    mg.steps.PREPARE_CONTENT,
    mg.steps.PREPARE_PAYLOAD,
    mg.steps.GENERATE_NEW_MESSAGE,
    mg.steps.INFERENCE,
)


def count_cleanups(world: World) -> list[mg.events.BeforeCleanup]:
    seen: list[mg.events.BeforeCleanup] = []

    def look(_run: mg.Run, event: mg.events.BeforeCleanup) -> None:
        seen.append(event)

    world.studio.on(mg.events.BeforeCleanup, look)
    return seen


async def test_a_generation_adds_a_part_and_tells_it_once(world: World) -> None:
    ear = Ear()
    cleanups = count_cleanups(world)
    outcome = await world.generate(ear=ear).settled()
    assert outcome.state is mg.RunState.SUCCESSFUL
    assert world.texts()[-1] == "Done."
    assert ear.heard == ["created", "text 'Done.'", "complete"]
    assert len(cleanups) == 1


@pytest.mark.parametrize("slot", SEVEN, ids=lambda slot: slot.name)
@pytest.mark.parametrize("way", ["raises", "hangs and is stopped", "stops the run itself", "is missing"])
async def test_cleanup_runs_exactly_once_whatever_happens_in_a_step(
    world: World, slot: Slot[Any, Any], way: str
) -> None:
    ear = Ear()
    cleanups = count_cleanups(world)
    before = [part.text for part in world.studio.story.parts(world.book)]
    reached = anyio.Event()

    async def bad(run: mg.Run, known: Any) -> Any:
        reached.set()
        if way == "raises":
            raise RuntimeError("boom")
        if way == "hangs and is stopped":
            await anyio.sleep_forever()
        run.stop()
        await anyio.lowlevel.checkpoint()

    if way == "is missing":
        world.studio.remove_step(slot)
    else:
        world.studio.replace_step(slot, bad)
    run = world.generate(ear=ear)
    if way == "hangs and is stopped":
        await reached.wait()
        run.stop()
    with anyio.fail_after(5):
        outcome = await run.settled()
    assert outcome.state is mg.RunState.NOT_SUCCESSFUL
    assert len(cleanups) == 1
    assert (ear.heard[-1], ear.heard.count("cancelled")) == ("cancelled", 1)
    after = [part.text for part in world.studio.story.parts(world.book)]
    leaf = world.studio.books.get(world.book.id).active_leaf
    assert (after, leaf, world.studio.running(world.book)) == (before, world.parts[-1].id, None)
    assert ear.simple == (["NOT IMPLEMENTED"] if way == "is missing" else [])
    assert [str(error) for error in ear.errors] == (["boom"] if way == "raises" else [])


@pytest.mark.parametrize(
    "event", [each for each in mg.events.ALL if "Chunk" not in each.__name__], ids=lambda e: e.__name__
)
@pytest.mark.parametrize("way", ["raises", "hangs", "hangs and is stopped", "refuses", "answers nonsense"])
async def test_no_listener_can_hang_or_double_the_end(
    world: World, event: type[mg.events.Event], way: str
) -> None:
    ear = Ear()
    cleanups = count_cleanups(world)
    reached = anyio.Event()

    async def bad(_run: mg.Run, _event: Any) -> Any:
        reached.set()
        if way == "raises":
            raise RuntimeError("boom")
        if way == "refuses":
            raise mg.Refused("Not today.")
        if way == "answers nonsense":
            return "nonsense"
        return await anyio.sleep_forever()

    if way == "hangs and is stopped" and event is mg.events.BeforeCleanup:
        return  # CLEANUP is not stopped but bounded: see test_a_hanging_cleanup_is_ended
    world.studio.on(event, bad, timeout=0.05 if way == "hangs" else 60)
    run = world.generate(ear=ear)
    if way == "hangs and is stopped":
        await reached.wait()
        run.stop()
    with anyio.fail_after(10):
        outcome = await run.settled()
    ended_early = (way == "refuses" and event is not mg.events.BeforeCleanup) or way == "hangs and is stopped"
    assert (outcome.state is mg.RunState.SUCCESSFUL) is not ended_early or event is mg.events.AfterInference
    assert len(cleanups) == 1
    assert ear.heard.count("cancelled") + ear.heard.count("complete") == 1
    if way == "refuses" and event is not mg.events.BeforeCleanup:
        assert ear.simple == ["Not today."]
    elif way != "hangs and is stopped":
        assert {type(problem.error) for problem in run.problems} <= {
            RuntimeError,
            TimeoutError,
            TypeError,
            mg.Refused,
        }
        assert run.problems


async def test_a_hanging_cleanup_is_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginalia.pipeline.engine.CLEANUP_SECONDS", 0.1)

    async def hang(_run: mg.Run, _event: mg.events.BeforeCleanup) -> mg.Outcome:
        await anyio.sleep_forever()
        raise AssertionError

    world.studio.replace_step(mg.steps.CLEANUP, hang)
    ear = Ear()
    with anyio.fail_after(5):
        outcome = await world.generate(ear=ear).settled()
    assert isinstance(outcome.error, TimeoutError)
    assert len(ear.errors) == 1
    assert ear.heard[-1] in {"complete", "cancelled"}


async def test_a_step_is_wrapped_and_unwrapped_in_any_order(world: World) -> None:
    calls: list[str] = []

    def wrapper(name: str) -> Any:
        def wrap(inner: Any) -> Any:
            async def step(run: mg.Run, known: Any) -> Any:
                calls.append(name)
                return await inner(run, known)

            return step

        return wrap

    first = world.studio.wrap_step(mg.steps.PREPARE_PAYLOAD, wrapper("inner"))
    second = world.studio.wrap_step(mg.steps.PREPARE_PAYLOAD, wrapper("outer"))
    await world.studio.preview(world.book)
    first()
    await world.studio.preview(world.book)
    second()
    await world.studio.preview(world.book)
    assert calls == ["outer", "inner", "outer"]


async def test_a_replaced_step_can_still_be_wrapped_and_undone(world: World) -> None:
    async def only(_run: mg.Run, known: mg.events.BeforePreparePayload) -> mg.events.AfterPreparePayload:
        message = mg.Message(role="user", content="Only this.")
        return mg.events.onward(known, mg.events.AfterPreparePayload, messages=(message,))

    undo = world.studio.replace_step(mg.steps.PREPARE_PAYLOAD, only)
    assert (await world.studio.preview(world.book)).text == "[user]\nOnly this."
    undo()
    assert len((await world.studio.preview(world.book)).messages) > 2


async def test_a_running_generation_keeps_the_steps_it_started_with(world: World) -> None:
    world.script(Stream("One ", Pause(0.2), "two."))
    run = world.generate()
    world.studio.remove_step(mg.steps.INFERENCE)
    assert (await run.settled()).state is mg.RunState.SUCCESSFUL


async def test_a_second_run_on_the_same_book_is_refused_and_another_book_runs_beside(world: World) -> None:
    world.script(Stream("One ", Pause(5), "two."), Stream("Other."))
    other = world.studio.books.create(
        name="Other", provider=world.book.provider_id, protocol=world.book.protocol_id
    )
    run = world.generate()
    async for _ in run:
        break
    with pytest.raises(mg.Busy, match="'Salt' is being written to already"):
        world.generate()
    beside = world.studio.generate(other, mg.Turn(instructions="Go."))
    with anyio.fail_after(4):
        assert (await beside.settled()).state is mg.RunState.SUCCESSFUL
    run.stop()
    await run.settled()


async def test_several_readers_see_all_chunks_whenever_they_come(world: World) -> None:
    world.script(Stream(Reasoning("hm"), "One ", Pause(0.1), "two ", "three."))
    run = world.generate()
    seen: list[list[str]] = [[], []]

    async def read(index: int, wait: float) -> None:
        await anyio.sleep(wait)
        async for chunk in run:
            seen[index].append(chunk.text)

    async with anyio.create_task_group() as group:
        group.start_soon(read, 0, 0)
        group.start_soon(read, 1, 0.08)
    assert seen == [["hm", "One ", "two ", "three."]] * 2
    assert [chunk.text async for chunk in run] == seen[0]


async def test_a_reader_that_leaves_changes_nothing(world: World) -> None:
    world.script(Stream("One ", Pause(0.1), "two."))
    run = world.generate()
    async for _ in run:
        break
    assert (await run.settled()).part is not None
    assert world.texts()[-1] == "One two."


async def test_changed_wakes_a_follower_in_another_thread(world: World) -> None:
    world.script(Stream("One ", Pause(0.1), "two."))
    run = world.generate()

    def follow() -> str:
        async def until_ended() -> str:
            seen = 0
            while not run.ended:
                seen = await run.changed(seen)
            return run.text

        return anyio.run(until_ended)

    assert await anyio.to_thread.run_sync(follow) == "One two."


@pytest.mark.parametrize(
    "what", ["the model is silent", "a listener hangs", "a question waits", "text arrives slowly"]
)
async def test_stop_ends_a_run_at_once(world: World, what: str) -> None:
    waiting = anyio.Event()
    if what == "the model is silent":
        world.script(Silent())
        world.studio.on(mg.events.BeforeInference, lambda _run, _event: waiting.set())
    elif what == "text arrives slowly":
        world.script(Stream("One ", Pause(30), "two."))
        world.studio.on(mg.events.ChunkReceived, lambda _run, _event: waiting.set())
    elif what == "a listener hangs":

        async def hang(_run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
            waiting.set()
            await anyio.sleep_forever()

        world.studio.on(mg.events.BeforePrepareContent, hang)
    else:

        async def ask(run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
            waiting.set()
            await run.ask("Go on?")

        world.studio.on(mg.events.BeforePrepareContent, ask)
    run = world.generate(attended=True)
    await waiting.wait()
    await anyio.sleep(0.05)
    run.stop()
    with anyio.fail_after(2):  # the figure itself is measured in benchmarks/pipeline.py
        outcome = await run.settled()
    assert outcome.stopped
    assert outcome.error is None
    kept = "One " if what == "text arrives slowly" else None
    assert (outcome.part.text if outcome.part else None) == kept


async def test_a_question_is_answered_by_whoever_watches(world: World) -> None:
    answers: list[bool] = []

    async def ask(run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
        answers.append(await run.ask("Go on?"))

    world.studio.on(mg.events.BeforePrepareContent, ask)
    run = world.generate(attended=True)
    while run.question is None:
        await run.changed(0)
        await anyio.sleep(0.01)
    assert run.question.text == "Go on?"
    run.answer(yes=True)
    await run.settled()
    assert answers == [True]
    assert run.question is None


async def test_an_unattended_run_hears_no(world: World) -> None:
    answers: list[bool] = []

    async def ask(run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
        answers.append(await run.ask("Go on?"))

    world.studio.on(mg.events.BeforePrepareContent, ask)
    await world.generate().settled()
    assert answers == [False]


async def test_what_a_listener_answers_is_what_the_next_one_gets(world: World) -> None:
    seen: list[str] = []

    def change(_run: mg.Run, event: mg.events.AfterPrepareContent) -> mg.events.AfterPrepareContent:
        return replace(event, system_prompt="Changed.")

    def look(_run: mg.Run, event: mg.events.AfterPrepareContent) -> None:
        seen.append(event.system_prompt)

    world.studio.on(mg.events.AfterPrepareContent, change)
    world.studio.on(mg.events.AfterPrepareContent, look)
    prompt = await world.studio.preview(world.book)
    assert seen == ["Changed."]
    assert prompt.messages[0].content == "Changed."
    assert prompt.segments[0].kind == "system"


@pytest.mark.parametrize(
    "event", [mg.events.AfterPreparePayload, mg.events.BeforeInference], ids=lambda e: e.__name__
)
async def test_a_message_without_content_is_not_sent_an_empty_one_is(world: World, event: Any) -> None:
    def add(_run: mg.Run, known: Any) -> Any:
        nothing: Any = None
        more = (mg.Message(role="user", content=nothing), mg.Message(role="user", content=""))
        return replace(known, messages=(*known.messages, *more))

    world.studio.on(event, add)
    run = world.generate()
    assert (await run.settled()).state is mg.RunState.SUCCESSFUL
    sent = world.server.completions[-1].body["messages"]
    assert [each["content"] for each in sent][-2:] == ["Go on.", ""] or sent[-1]["content"] == ""
    assert run.prompt is not None
    assert len(run.prompt.messages) == len(sent)


async def test_final_skips_the_rest_of_this_event_only(world: World) -> None:
    seen: list[str] = []

    def last(_run: mg.Run, event: mg.events.BeforePreparePayload) -> mg.Final[mg.events.BeforePreparePayload]:
        return mg.Final(event)

    world.studio.on(mg.events.BeforePreparePayload, last)
    world.studio.on(mg.events.BeforePreparePayload, lambda _run, _event: seen.append("same"))
    world.studio.on(mg.events.AfterPreparePayload, lambda _run, _event: seen.append("later"))
    await world.studio.preview(world.book)
    assert seen == ["later"]


async def test_listeners_run_over_a_snapshot_and_may_close_themselves(world: World) -> None:
    seen: list[str] = []

    def once(_run: mg.Run, _event: mg.events.BeforePreparePayload) -> None:
        seen.append("once")
        subscription.close()
        world.studio.on(mg.events.BeforePreparePayload, lambda _run, _event: seen.append("added"))

    subscription = world.studio.on(mg.events.BeforePreparePayload, once)
    await world.studio.preview(world.book)
    assert seen == ["once"]
    await world.studio.preview(world.book)
    assert seen == ["once", "added"]


async def test_a_subscription_of_one_book_hears_no_other(world: World) -> None:
    other = world.studio.books.create(
        name="Other", provider=world.book.provider_id, protocol=world.book.protocol_id
    )
    seen: list[str] = []
    world.studio.on(
        mg.events.BeforePreparePayload, lambda _run, event: seen.append(event.book.name), book=other
    )
    await world.studio.preview(world.book)
    await world.studio.preview(other)
    assert seen == ["Other"]


async def test_a_caller_whose_listener_fails_harms_only_itself(world: World) -> None:
    class Broken(mg.GenerationListener):
        def on_response_chunk(self, text: str) -> None:
            raise ZeroDivisionError(text)

    run = world.generate(ear=Broken())
    assert (await run.settled()).state is mg.RunState.SUCCESSFUL
    assert [type(problem.error) for problem in run.problems] == [ZeroDivisionError]


async def test_the_stash_is_typed_and_lasts_one_run(world: World) -> None:
    key = mg.StashKey[int]("count")
    seen: list[int | None] = []

    def look(run: mg.Run, _event: mg.events.BeforeCleanup) -> None:
        seen.append(run.stash.get(key))
        run.stash.set(key, 5)

    world.studio.on(mg.events.BeforeCleanup, look)
    world.script(Stream("a"), Stream("b"))
    await world.generate().settled()
    await world.generate().settled()
    assert seen == [None, None]


async def test_a_failed_run_still_tells_the_last_event_why(world: World) -> None:
    cleanups = count_cleanups(world)
    world.script(Status(401, {"error": {"message": "key not valid"}}))
    outcome = await world.generate().settled()
    assert isinstance(outcome.error, mg.ModelError)
    assert cleanups[0].error is outcome.error
    assert cleanups[0].state is mg.RunState.NOT_SUCCESSFUL


async def test_closing_the_studio_keeps_what_was_written(world: World) -> None:
    world.script(Stream("One ", Pause(30), "two."))
    run = world.generate()
    async for _ in run:
        break
    await world.studio.aclose()
    assert run.outcome is not None
    assert run.outcome.part is not None
    assert run.outcome.part.text == "One "
    assert run.outcome.part.partial
