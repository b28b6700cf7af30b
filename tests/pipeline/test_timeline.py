"""The timeline of a run: what is written down, what it costs to be asked often, and what a receipt keeps of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginalia as mg
from marginalia.pipeline.recorder import Recorder
from marginalia.prompt.stages import Insert
from marginalia.prompt.timeline import Lane, Span, Timeline
from marginalia.testing import Reasoning, Status, Stream
from tests.pipeline.conftest import World


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def names(timeline: Timeline, lane: Lane) -> list[str]:
    return [each.name for each in timeline if each.lane is lane]


async def test_a_run_tells_its_steps_its_listeners_and_what_the_model_did(world: World) -> None:
    def note(_run: mg.Run, event: mg.events.BeforePrepareContent) -> mg.events.BeforePrepareContent:
        return replace(event, inserts=(*event.inserts, Insert(text="Slowly.", owner="notes")))

    def look(_run: mg.Run, _event: mg.events.ChunkReceived) -> None:
        return None

    world.studio.on(mg.events.BeforePrepareContent, note, owner="notes")
    world.studio.on(mg.events.ChunkReceived, look, owner="counter")
    world.server.script(Stream(Reasoning("Hm."), "One ", "two ", "three."))
    run = world.generate()
    outcome = await run.settled()
    timeline = run.timeline
    steps = names(timeline, Lane.STEP)
    assert steps[0] == "PREPARE_GENERATION"
    assert steps[-1] == "CLEANUP"
    assert len(steps) == 8
    assert names(timeline, Lane.MODEL) == ["waiting for the model", "reasoning", "writing"]
    calls = {(each.owner, each.name): each for each in timeline if each.lane is Lane.LISTENER}
    assert calls["notes", "BeforePrepareContent"].changed == ("inserts",)
    assert calls["counter", "ChunkReceived"].times == 3
    assert calls["counter", "ChunkReceived"].changed == ()
    assert timeline.ended == "complete"
    assert timeline.tokens == 3
    assert all(0 <= each.start <= each.end <= timeline.seconds for each in timeline)
    assert outcome.part is not None
    receipt = world.studio.story.receipt(outcome.part)
    assert receipt is not None
    kept = receipt.timeline
    assert kept is not None
    assert names(kept, Lane.STEP) == steps[:-1]  # it is stored before the last step
    assert kept.ended == "complete"
    assert kept.tokens == 3


async def test_retries_warnings_and_the_failure_stand_in_it(world: World) -> None:
    provider = world.studio.providers.get(world.book.provider_id)
    world.studio.providers.save(replace(provider, max_retries=1))
    world.server.script(Status(503), Stream(""))
    run = world.generate()
    await run.settled()
    assert any("Trying again" in name for name in names(run.timeline, Lane.MODEL))
    assert "warning" in names(run.timeline, Lane.NOTICE)


async def test_a_listener_that_raises_is_named_with_its_owner(world: World) -> None:
    def bad(_run: mg.Run, _event: mg.events.AfterPrepareContent) -> None:
        raise ValueError("no luck")

    world.studio.on(mg.events.AfterPrepareContent, bad, owner="unlucky")
    run = world.generate()
    await run.settled()
    [problem] = [each for each in run.timeline if each.name == "problem"]
    assert (problem.owner, problem.lane) == ("unlucky", Lane.NOTICE)
    assert "no luck" in problem.detail


async def test_a_table_has_a_row_per_span(world: World) -> None:
    run = world.generate()
    await run.settled()
    table = run.timeline.frame
    assert len(table) == len(run.timeline)
    assert set(table["lane"]) >= {"step", "model"}
    assert "CLEANUP" in run.timeline._repr_html_()


def test_what_goes_on_ends_now() -> None:
    clock = Clock()
    recorder = Recorder(clock)
    with recorder.step("A"):
        clock.now += 2
        recorder.doing("waiting")
        clock.now += 1
        timeline = recorder.timeline(None)
    assert [(each.name, each.start, each.end) for each in timeline] == [("A", 0, 3), ("waiting", 2, 3)]
    assert timeline.sent == 2
    assert timeline.ended == ""


def test_a_long_answer_keeps_few_moments_and_the_last_one() -> None:
    clock = Clock()
    recorder = Recorder(clock)
    for number in range(20_000):
        clock.now += 0.02
        recorder.beat(number + 1)
    timeline = recorder.timeline(0.02)
    assert len(timeline.beats) <= 129
    assert timeline.tokens == 20_000
    assert timeline.rate == pytest.approx(50, rel=0.05)


texts = st.text(max_size=12)
seconds = st.floats(0, 1000).map(lambda number: round(number, 4))
spans = st.builds(
    Span, lane=st.sampled_from(Lane), name=texts, start=seconds, end=seconds, owner=texts, busy=seconds,
    times=st.integers(1, 9), changed=st.lists(texts, max_size=3).map(tuple), detail=texts,
)  # fmt: skip


@given(st.lists(spans, max_size=5), seconds, st.none() | seconds, texts)
def test_what_a_receipt_keeps_becomes_the_same_timeline(
    kept: list[Span], whole: float, first: float | None, ended: str
) -> None:
    timeline = Timeline(spans=tuple(kept), seconds=whole, first_token=first, beats=((0.1, 2),), ended=ended)
    assert Timeline.of(timeline.note) == timeline
    assert timeline._repr_html_()
