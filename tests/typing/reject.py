"""Read by type checkers only. Each line marked E must be refused by both, and no other line may be."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_type

import marginalia as mg
from marginalia.pipeline.events import onward


def good(run: mg.Run, event: mg.events.AfterProcessLorebook) -> mg.events.AfterProcessLorebook:
    return replace(event, reserved_tokens=event.reserved_tokens + 10)


async def also_good(
    run: mg.Run, event: mg.events.AfterProcessLorebook
) -> mg.events.AfterProcessLorebook | None:
    assert_type(event.user_prompt, str)
    return None


def last(run: mg.Run, event: mg.events.AfterProcessLorebook) -> mg.Final[mg.events.AfterProcessLorebook]:
    return mg.Final(event)


def too_early(run: mg.Run, event: mg.events.AfterProcessLorebook) -> None:
    print(event.messages)  # E: not known yet


def too_late(run: mg.Run, event: mg.events.AfterManuscriptConcatenation) -> None:
    print(event.reserved_tokens)  # E: the story is chosen


def mutates(run: mg.Run, event: mg.events.AfterProcessLorebook) -> None:
    event.user_prompt = ""  # E: frozen


def other_event(run: mg.Run, event: mg.events.AfterPreparePayload) -> None: ...


def other_answer(run: mg.Run, event: mg.events.AfterProcessLorebook) -> mg.events.BeforeCleanup:
    raise NotImplementedError


async def step(run: mg.Run, known: mg.events.BeforePreparePayload) -> mg.events.AfterPreparePayload:
    return onward(known, mg.events.AfterPreparePayload, messages=())


async def other_step(run: mg.Run, known: mg.events.BeforeInference) -> mg.events.AfterInference:
    return onward(known, mg.events.AfterInference)


def use(studio: mg.Studio) -> None:
    studio.on(mg.events.AfterProcessLorebook, good)
    studio.on(mg.events.AfterProcessLorebook, also_good)
    studio.on(mg.events.AfterProcessLorebook, last)
    studio.on(mg.events.AfterProcessLorebook, lambda run, event: replace(event, user_prompt=""))
    studio.on(mg.events.AfterProcessLorebook, other_event)  # E: listens to something else
    studio.on(mg.events.AfterProcessLorebook, other_answer)  # E: answers something else
    studio.on(mg.events.AfterProcessLorebook, lambda run, event: print(event.messages))  # E: not known yet
    studio.replace_step(mg.steps.PREPARE_PAYLOAD, step)
    studio.replace_step(mg.steps.PREPARE_PAYLOAD, other_step)  # E: other ends
