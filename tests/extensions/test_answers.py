"""Whatever an extension answers, nothing of the wrong type gets into a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import anyio
import pytest

import marginalia as mg
from marginalia.extensions.answers import check
from marginalia.extensions.api import Host, Panel
from marginalia.testing import Reasoning, ScriptedServer, Stream
from tests.extensions.helpers import TURN, add_book, extension, studio_with


class Nonsense:
    """Nothing that any field can be."""


@dataclass(frozen=True, kw_only=True)
class Known:
    inserts: tuple[mg.Insert, ...] = ()
    limits: mg.Limits = field(default_factory=mg.Limits)
    variables: dict[str, str] | None = None
    share: float = 0.5


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer([Stream(Reasoning("Well."), "Done.")]) as server:
        yield server


def put(name: str, _run: mg.Run, event: Any) -> Any:
    return replace(event, **{name: Nonsense()})


@pytest.mark.parametrize("event", mg.events.ALL, ids=lambda event: event.__name__)
async def test_no_field_of_an_event_can_be_answered_with_nonsense(event: Any, server: ScriptedServer) -> None:
    def install(host: Host) -> None:
        for each in fields(event):
            host.on(event, partial(put, each.name))

    studio, book = studio_with(extension(install), base_url=server.base_url)
    async with studio:
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Salt", payload="Salt.")
        run = studio.generate(studio.books.save(replace(book, lorebook_id=world.id)), TURN)
        with anyio.fail_after(10):
            outcome = await run.settled()
    assert outcome.state is mg.RunState.SUCCESSFUL, outcome.error
    assert outcome.part is not None
    assert outcome.part.text == "Done."
    told = {str(each.error).partition(" ")[0] for each in run.problems}
    assert {each.name for each in fields(event)} <= told


@pytest.mark.parametrize(
    "wrong",
    [
        {"inserts": ("It is dark.",)},
        {"inserts": (mg.Insert(text=None, owner="me"),)},  # type: ignore[arg-type]
        {"inserts": (mg.Insert(text="Dark.", owner="me", role="robot"),)},  # type: ignore[arg-type]
        {"inserts": []},
        {"limits": mg.Limits(context="many")},  # type: ignore[arg-type]
        {"variables": {"mood": 3}},
        {"share": "half"},
    ],
)
def test_what_does_not_fit_is_named_with_its_field(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(wrong))} cannot be"):
        check(replace(Known(), **wrong), Known())


@pytest.mark.parametrize(
    "right",
    [
        {"inserts": (mg.Insert(text="Dark.", owner="me"),)},
        {"limits": mg.Limits(context=5)},
        {"variables": {"mood": "calm"}},
        {"variables": None},
        {"share": 1},
    ],
)
def test_what_fits_is_taken(right: dict[str, Any]) -> None:
    check(replace(Known(), **right), Known())


def test_what_the_listener_was_given_is_not_looked_at_again() -> None:
    given: Any = (mg.Insert(text=None, owner="me"),)  # type: ignore[arg-type]
    known = Known(inserts=given)
    check(replace(known, share=1.0), known)
    check(replace(known, inserts=(*given, mg.Insert(text="Dark.", owner="me"))), known)


def nothing(*_: Any) -> Any:
    return None


def word(*_: Any) -> Any:
    return "It is dark."


@pytest.mark.parametrize(
    ("install", "sentence"),
    [
        (lambda host: host.on("BeforeCleanup", nothing), "is no event"),
        (lambda host: host.wrap("CLEANUP", nothing), "is no step"),
        (lambda host: host.panel(Panel(title="P", show=nothing, form=Known)), "form of a panel"),
        (lambda host: host.panel("P"), "Panel"),
    ],
)
def test_what_cannot_be_installed_is_said_in_a_sentence(install: Any, sentence: str) -> None:
    studio, _ = studio_with(extension(install))
    with studio:
        assert sentence in str(studio.extensions.failures[0].error)


async def test_a_message_a_macro_and_a_panel_of_the_wrong_kind_are_named() -> None:
    def install(host: Host) -> None:
        host.insert(word)
        host.macro("nothing", nothing)
        host.panel(Panel(title="P", show=nothing))

    studio, book = studio_with(extension(install), user_prompt="{{nothing}}")
    with studio:
        prompt = await studio.preview(book, TURN)
        assert [each.text for each in prompt.problems] == [
            "trial failed in the macro nothing: it gave nothing; a macro gives the text that it prints",
            "trial failed in BeforePrepareContent: it gave str; it has to give an Insert or None",
        ]
        (panel,) = studio.extensions.panels
        shown = await studio.extensions.shown(panel, studio, book, prompt)
        assert shown == (
            "This panel of the extension *trial* failed: it gave NoneType; a panel gives a text or a Table"
        )


async def test_a_step_that_is_replaced_by_one_with_nonsense_is_done_by_the_step_itself(
    server: ScriptedServer,
) -> None:
    async def step(_run: mg.Run, known: Any) -> Any:
        return mg.events.onward(known, mg.events.AfterPreparePayload, messages=(Nonsense(),))

    studio, book = studio_with(extension(lambda host: host.replace(mg.steps.PREPARE_PAYLOAD, step)))
    with studio:
        prompt = await studio.preview(add_book(studio, base_url=server.base_url), TURN)
        assert prompt.messages[-1].content
        assert "messages cannot be" in prompt.problems[0].text
    assert book.name == "Salt"


@pytest.mark.parametrize("wanted", [-1, 1_000_000])
async def test_more_room_than_there_is_cannot_be_reserved(wanted: int) -> None:
    studio, book = studio_with(extension(lambda host: host.reserve(lambda _run, _event: wanted)))
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.budget.reserved == 0
        assert "tokens reserved; a whole prompt has 3,500" in prompt.problems[0].text
