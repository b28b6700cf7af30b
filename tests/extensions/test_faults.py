"""What goes wrong in an extension is shown with its name, and with the line of its own code."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import marginalia as mg
from marginalia.extensions.faults import line_of
from tests.extensions.helpers import TURN, extension, studio_with

HERE = f"{Path(__file__).parent.name}/{Path(__file__).name}"


def misread(call: Any) -> Any:
    return call.context.facts.story[0].text


def divide(_call: Any) -> Any:
    return 1 / 0


def shout(_run: mg.Run, event: Any) -> Any:
    return event.turn + "!"


def answer_a_word(_run: mg.Run, _event: Any) -> Any:
    return "No."


def problems(studio: mg.Studio) -> list[tuple[str, str, type[Exception]]]:
    return [(each.owner, each.event, type(each.error)) for each in studio.extensions.problems]


async def test_a_listener_that_fails_is_among_the_problems_of_its_extension() -> None:
    studio, book = studio_with(extension(lambda host: host.on(mg.events.BeforePrepareGeneration, shout)))
    with studio:
        await studio.preview(book, TURN)
        assert problems(studio) == [("trial", "BeforePrepareGeneration", TypeError)]
        assert line_of(studio.extensions.problems[0].error).startswith(f"{HERE}, line ")
        studio.extensions.disable("trial")
        studio.extensions.enable("trial")
        assert studio.extensions.problems == ()


@pytest.mark.parametrize("event", [mg.events.BeforePrepareContent, mg.events.ProcessLorebookEntry])
async def test_an_answer_that_is_none_is_named_with_what_may_be_answered(event: type[Any]) -> None:
    studio, book = studio_with(extension(lambda host: host.on(event, answer_a_word)))
    with studio:
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Salt", payload="Salt.")
        book = studio.books.save(replace(book, lorebook_id=world.id))
        prompt = await studio.preview(book, TURN)
        assert any("answered str" in each.text for each in prompt.problems)
        assert f"a changed {event.__name__}" in str(studio.extensions.problems[0].error)


async def test_a_refusal_is_no_fault_of_the_extension() -> None:
    def refuse(_run: mg.Run, _event: Any) -> None:
        raise mg.Refused("Not on a Sunday.")

    studio, book = studio_with(extension(lambda host: host.on(mg.events.BeforePrepareContent, refuse)))
    with studio:
        with pytest.raises(mg.Refused):
            await studio.preview(book, TURN)
        assert studio.extensions.problems == ()


async def test_a_wrapper_that_fails_is_among_the_problems_of_its_extension() -> None:
    def wrapper(_step: Any) -> Any:
        async def around(_run: mg.Run, _known: Any) -> Any:
            raise RuntimeError("no")

        return around

    studio, book = studio_with(extension(lambda host: host.wrap(mg.steps.PREPARE_CONTENT, wrapper)))
    with studio:
        await studio.preview(book, TURN)
        assert problems(studio) == [("trial", "PREPARE_CONTENT", RuntimeError)]


async def test_a_macro_that_fails_is_named_by_the_prompt_once() -> None:
    studio, book = studio_with(
        extension(lambda host: host.macro("broken", misread)),
        user_prompt="{{broken}} {{broken}}",
        master_template="{{broken}}",
    )
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.messages[-1].content == "Error Error"
        assert [(each.source, each.text) for each in prompt.problems] == [
            ("trial", "trial failed in the macro broken: 'str' object has no attribute 'text'")
        ]


async def test_a_fault_that_comes_back_with_every_preview_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    studio, book = studio_with(extension(lambda host: host.macro("broken", divide)), user_prompt="{{broken}}")
    with studio, caplog.at_level(logging.WARNING, "marginalia.extensions"):
        await studio.preview(book, TURN)
        await studio.preview(book, mg.Turn(instructions="Go on, I said."))
    (line,) = [each.getMessage() for each in caplog.records if each.name == "marginalia.extensions"]
    assert line.startswith(f"trial failed in macro broken: ZeroDivisionError in {HERE}, line ")
