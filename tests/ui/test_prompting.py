"""The prompts' sheet: what may stand in a template can, faults have their places, the newest typing wins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

import marginalia as mg
from marginalia.errors import InvalidInput
from marginalia.pipeline.trying import Trial
from marginalia.prompt.context import Rendered, Span
from marginalia.prompt.macros.builtin import MACROS, WITHOUT_MEANING
from marginalia.prompt.macros.meanings import MEANINGS, VARIABLES
from marginalia.prompt.templates import TemplateKind, check, known_names
from marginalia.testing import WordTokenizer
from marginalia.ui.components.prompts import PromptsSheet
from marginalia.ui.desk import Desk
from marginalia.ui.prompting import CARET, changes_of, lint_row, name_rows, preview_row, prompt_rows
from marginalia.ui.views.prompts import PromptsView
from marginalia.values import PLAIN_PROMPTS, TEMPLATES, Book, Syntax

KINDS = cast("tuple[TemplateKind, ...]", (*TEMPLATES, "lore"))


@pytest.fixture(scope="module")
def studio() -> Iterator[mg.Studio]:
    with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=3) as studio:
        studio.extensions.enable("snippets")
        yield studio


@pytest.fixture(scope="module")
def book(studio: mg.Studio) -> Book:
    return studio.books.create(name="Tides")


def test_every_variable_and_every_macro_with_a_meaning_is_explained() -> None:
    assert {name for kind in KINDS for name in known_names(kind)} == set(VARIABLES)
    explained = {name.lower() for names in MEANINGS for name in names.split(", ")}
    silent = {name.lower() for name in WITHOUT_MEANING}
    assert {name.lower() for name in MACROS} - silent - explained == set()


@pytest.mark.parametrize("syntax", ["macros", "jinja"])
@pytest.mark.parametrize("kind", TEMPLATES)
def test_whatever_is_offered_can_be_inserted(studio: mg.Studio, kind: TemplateKind, syntax: Syntax) -> None:
    names = name_rows(studio)
    rows = [*names[kind], *names[""]]
    assert {row["group"] for row in rows} == {"variable", "block", "macro"}
    assert "snippet" in {row["name"] for row in rows}
    for row in rows:
        text = str(row["jinja" if syntax == "jinja" else "insert"]).replace(CARET, "style")
        found = check(text, kind=kind, syntax=syntax, macros=studio.prompting.macros())
        assert found.valid, (row, found.message)
        assert set(found.unknown) <= {"item"}, row
        assert not found.hints, (row, found.hints)
        assert found.names or found.macros or row["name"] in {"comment", "trim"}, row


@pytest.mark.parametrize(
    ("source", "syntax", "places"),
    [
        ("a\n{{ oops }} {{style}}", "macros", [(2, 4, True)]),
        ("oops {{#if oops}}x{{/if}}", "macros", [(1, 12, True)]),
        ("{{style}}\n\n {{#if style}}", "macros", [(3, 2, True)]),
        ("x {{/if}} {{ y|upper }}", "macros", [(1, 3, False), (1, 11, False)]),
        ("a\n{% for x in oops %}{{ x }}{% endfor %}", "jinja", [(2, 13, True)]),
        ("{{ x.oops }}{{ oops }}", "jinja", [(1, 4, True), (1, 16, True)]),
        ("{{}} {{ {", "macros", [(1, 1, False), (1, 6, False)]),
    ],
)
def test_faults_have_their_places(source: str, syntax: Syntax, places: list[tuple[int, int, bool]]) -> None:
    row = lint_row(source, check(source, kind="user_prompt", syntax=syntax))
    assert [(each["line"], each["column"], each["bad"]) for each in row["rows"]] == places


def test_it_is_said_what_a_template_reads_sets_and_could_print() -> None:
    source = "{{#if style}}{{.mood}}{{/if}}{{setglobalvar::day::2}}{{random::a::{{instructions}}}}"
    row = lint_row(source, check(source, kind="user_prompt"))
    assert row["facts"] == [
        ["Could print", "style, instructions"],
        ["Calls", "setglobalvar, random"],
        ["Reads", ".mood"],
        ["Sets", "$day"],
    ]


def test_the_pieces_of_a_preview_are_its_text_with_where_it_came_from() -> None:
    text = "a Varro b Varro"
    rendered = Rendered(text=text, spans=(Span(2, 7, "lore"), Span(10, 15, "lore")))
    row = preview_row(Trial(rendered=rendered, tokens=4))
    assert row["pieces"] == [["a ", ""], ["Varro", "lore"], [" b ", ""], ["Varro", "lore"]]
    assert row["figures"] == "4 tokens · 15 characters"
    long = Rendered(text="x" * 50_000, spans=(Span(39_990, 50_000, "text"),))
    row = preview_row(Trial(rendered=long))
    assert (sum(len(piece) for piece, _ in row["pieces"]), row["more"]) == (40_000, 10_000)


def test_a_page_cannot_send_prompts_that_do_not_exist() -> None:
    with pytest.raises(InvalidInput):
        changes_of({"changes": {"api_key": {"text": "x"}}})
    typed = changes_of(
        {"changes": {"style": {"text": "x", "syntax": "jinja"}, "user_prompt": {"text": None}}}
    )
    assert (typed.style, typed.jinja) == ("x", ())


def test_all_prompts_are_listed_templates_first(studio: mg.Studio, book: Book) -> None:
    rows = prompt_rows(studio.prompting.of(book))
    assert [row["name"] for row in rows] == [*TEMPLATES, *PLAIN_PROMPTS]
    assert [row["template"] for row in rows] == [True] * 4 + [False] * 3
    assert all(row["text"] and row["from"] == "built in" for row in rows)


@pytest.fixture
async def told(
    studio: mg.Studio, book: Book, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[PromptsView, list[dict[str, Any]]]]:
    """A view on an open desk, and the messages that it sends to its page."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(PromptsSheet, "_send_msg", lambda _, message: messages.append(message))
    desk = Desk(studio)
    view = PromptsView(desk)
    await view.__panel__()._listen(SimpleNamespace(data={"do": "ready"}))
    await desk.open(book.id)
    await view.open()
    yield view, messages
    desk.close()


async def _say(view: PromptsView, what: str, **said: object) -> None:
    answer = view.__panel__()._heard[what](said)
    if asyncio.iscoroutine(answer):
        await answer


async def _until(messages: list[dict[str, Any]], kind: str, **having: object) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            for message in messages:
                if message["type"] == kind and having.items() <= message.items():
                    return message
            await asyncio.sleep(0.01)


async def test_the_newest_typing_wins_and_what_was_typed_before_is_given_up(
    told: tuple[PromptsView, list[dict[str, Any]]],
) -> None:
    view, messages = told
    for at in range(1, 31):
        text = f"{{{{style}}}} {at}"
        changes = {"user_prompt": {"text": text, "syntax": "macros"}}
        await _say(view, "typed", name="user_prompt", at=at, text=text, syntax="macros", changes=changes)
    last = await _until(messages, "preview", at=30)
    assert "".join(text for text, _ in last["pieces"]).endswith(" 30")
    assert sum(message["type"] == "preview" for message in messages) < 30


async def test_a_failure_is_said_and_keeps_nothing(
    told: tuple[PromptsView, list[dict[str, Any]]], studio: mg.Studio, book: Book
) -> None:
    view, messages = told
    await _say(view, "keep", name="user_prompt", text="x" * 200_001, syntax="macros", where="book")
    trouble = await _until(messages, "trouble")
    assert "200,001" in trouble["text"]
    assert not any(message["type"] == "kept" for message in messages)
    await _say(view, "keep", name="id", text="x", syntax="macros", where="book")
    assert studio.prompting.of(book)["user_prompt"].origin == "built in"


async def test_a_template_that_cannot_be_read_is_linted_and_not_rendered(
    told: tuple[PromptsView, list[dict[str, Any]]],
) -> None:
    view, messages = told
    changes = {"master_template": {"text": "{{#if x}}", "syntax": "macros"}}
    await _say(
        view, "typed", name="master_template", at=1, text="{{#if x}}", syntax="macros", changes=changes
    )
    lint = await _until(messages, "lint", at=1)
    preview = await _until(messages, "preview", at=1)
    assert (lint["valid"], preview["pieces"]) == (False, None)
