"""The prompts of books: where they come from, tried before they are kept; and other people's templates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import marginalia as mg
from marginalia.pipeline.defaults import default_prompts
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.values import Prompts
from tests.prompt.hostile import AS_SET, HOSTILE
from tests.waits import wait_beside


def small_book(studio: mg.Studio, **prompts: str) -> mg.Book:
    """A book with a model that is never asked."""
    provider = studio.providers.create(
        name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8000, max_response=500
    )
    protocol = studio.protocols.create(name="Plain")
    return studio.books.create(name="Tides", provider=provider, protocol=protocol, prompts=Prompts(**prompts))  # type: ignore[arg-type]


@pytest.fixture
def studio() -> mg.Studio:
    return mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=7, extensions=())


def test_a_prompt_comes_from_the_book_else_the_settings_else_it_is_built_in(studio: mg.Studio) -> None:
    book, prompting = small_book(studio), studio.prompting
    assert {each.origin for each in prompting.of(book).values()} == {"built in"}
    prompting.keep_for_all(book, "style", "lush")
    prompting.keep(book, "style", "dry")
    style = prompting.of(book)["style"]
    assert (style.text, style.origin, style.default, style.default_origin) == ("dry", "book", "lush", "user")
    assert prompting.follow_default(book, "style") == "book"
    assert prompting.of(book)["style"].text == "lush"
    assert prompting.follow_default(book, "style") == "user"
    assert prompting.of(book)["style"].origin == "built in"
    assert prompting.follow_default(book, "style") == "built in"


def test_a_text_that_is_kept_for_all_books_is_used_in_this_one_too(studio: mg.Studio) -> None:
    book, other = small_book(studio, tense="present"), small_book(studio)
    studio.prompting.keep_for_all(book, "tense", "future")
    assert [studio.effective_prompts(each).tense for each in (book, other)] == ["future", "future"]


def test_the_built_in_text_kept_for_a_book_wins_over_the_settings(studio: mg.Studio) -> None:
    book, built_in = small_book(studio), default_prompts().user_prompt or ""
    studio.prompting.keep_for_all(book, "user_prompt", "{{instructions}}!")
    studio.prompting.keep(book, "user_prompt", built_in)
    assert studio.effective_prompts(book).user_prompt == built_in
    studio.prompting.keep(book, "user_prompt", "{{instructions}}!")
    assert studio.prompting.of(book)["user_prompt"].origin == "user"


async def test_each_template_keeps_the_syntax_it_was_written_in(studio: mg.Studio) -> None:
    book, prompting = small_book(studio), studio.prompting
    prompting.keep_for_all(
        book, "master_template", "{% for i in [1, 2] %}{{ style }};{% endfor %}", syntax="jinja"
    )
    prompting.keep(book, "user_prompt", "{% if x %} {{instructions}}")
    prompt = await studio.preview(book, mg.Turn(instructions="Go."))
    assert prompt.messages[0].content == f"{default_prompts().style};" * 2
    assert prompt.messages[-1].content == "{% if x %} Go."
    prompting.keep(book, "user_prompt", "{% if instructions %}Jinja{% endif %}", syntax="jinja")
    prompting.keep(book, "master_template", "{% if x %}")
    prompt = await studio.preview(book, mg.Turn(instructions="Go."))
    assert [message.content for message in prompt.messages] == ["{% if x %}", "Jinja"]


def test_a_book_whose_prompts_are_all_in_one_syntax_keeps_the_others_when_one_changes(
    studio: mg.Studio,
) -> None:
    book = small_book(studio, master_template="{{ style }}", user_prompt="{{ style }}", syntax="jinja")
    studio.prompting.keep(book, "user_prompt", "{{style}}")
    prompts = studio.effective_prompts(book)
    assert (prompts.syntax_of("master_template"), prompts.syntax_of("user_prompt")) == ("jinja", "macros")


async def test_what_is_tried_is_what_would_be_sent_and_nothing_is_kept(studio: mg.Studio) -> None:
    book, turn = small_book(studio), mg.Turn(instructions="Go.")
    studio.story.append(book, "The bell rang.")
    changes = Prompts(user_prompt="{{.n++}} {{roll::1d1000}} {{instructions}}", style="odd")
    tried = await studio.prompting.try_out(book, "user_prompt", changes, turn=turn)
    seen = await studio.prompting.try_out(book, "style", changes, turn=turn)
    assert studio.effective_prompts(book).style == default_prompts().style
    studio.prompting.keep(book, "user_prompt", changes.user_prompt or "")
    studio.prompting.keep(book, "style", "odd")
    prompt = await studio.preview(book, turn)
    assert tried.rendered is not None
    assert seen.rendered is not None
    assert tried.rendered.text == prompt.messages[-1].content
    assert tried.rendered.text.startswith("1 ")
    assert (seen.rendered.text, seen.tokens) == (prompt.messages[0].content, prompt.budget.costs.system)
    assert any(span.name == "style" for span in seen.rendered.spans)


async def test_a_trial_says_why_there_is_no_text(studio: mg.Studio) -> None:
    book = small_book(studio)
    broken = await studio.prompting.try_out(book, "user_prompt", Prompts(user_prompt="a\n{{#if x}}"))
    assert (broken.rendered, broken.problem[:16]) == (None, "Line 2, column 1")
    empty = await studio.prompting.try_out(book, "summary_prompt", Prompts())
    assert (empty.rendered, empty.problem) == (
        None,
        "The story has no part yet: there is nothing to summarise.",
    )


async def test_a_context_that_is_too_small_still_shows_what_the_template_comes_to(studio: mg.Studio) -> None:
    book = small_book(studio)
    long = Prompts(master_template="word " * 9000)
    trial = await studio.prompting.try_out(book, "master_template", long)
    assert trial.tokens == 9000
    assert "limit" in trial.note


async def test_a_summary_prompt_is_tried_with_the_last_parts_and_the_summaries() -> None:
    with ScriptedServer([Stream("They rowed.")]) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            book = small_book(
                studio, summary_prompt="Sum: {{text}}", meta_summary_prompt="M: {{summaryBlocks}}"
            )
            provider = replace(studio.providers.all()[0], base_url=server.base_url)
            studio.providers.save(provider)
            first = studio.story.append(book, "One.")
            meta = await studio.prompting.try_out(book, "meta_summary_prompt", Prompts())
            await studio.summaries.create(book, first)
            studio.story.append(book, "Two.")
            studio.story.append(book, "Three.")
            plain = await studio.prompting.try_out(book, "summary_prompt", Prompts())
            after = await studio.prompting.try_out(
                book, "summary_prompt", Prompts(summary_prompt="{{summaries}}")
            )
            merged = await studio.prompting.try_out(book, "meta_summary_prompt", Prompts())
            draft = studio.summaries.draft(book, studio.story.branch(book)[-1])
    assert meta.rendered is not None
    assert (meta.rendered.text, "no summaries yet" in meta.note) == ("M: One.", True)
    assert plain.rendered is not None
    assert (plain.rendered.text, plain.note) == ("Sum: Two.\n\nThree.", "With parts 2 to 3.")
    assert draft.messages[0].content == plain.rendered.text
    assert after.rendered is not None
    assert after.rendered.text == "They rowed."
    assert merged.rendered is not None
    assert merged.rendered.text == "M: They rowed."


def test_a_template_is_checked_with_the_macros_of_extensions() -> None:
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        before = studio.prompting.check("{{snippet::winter}} {{ wether }}", kind="lore")
        studio.extensions.enable("snippets")
        found = studio.prompting.check("{{snippet::winter}} {{ wether }}", kind="lore")
    assert (before.macros, len(before.hints)) == ((), 1)
    assert (found.macros, found.unknown, found.hints) == (("snippet",), ("wether",), ())


async def test_a_macro_of_an_extension_reads_what_its_user_kept_also_in_a_process(tmp_path: Path) -> None:
    async with mg.Studio(tmp_path / "shared.db", tokenizer=WordTokenizer()) as owner:
        guest = owner.for_user("guest")
        guest.extensions.enable("snippets")
        guest.settings.set("extension.snippets", {"texts": {"winter": "Ice on the quay."}})
        book = small_book(guest)
        guest.prompting.keep(
            book, "user_prompt", "{% for i in [1] %}{{snippet::winter}}{% endfor %}", syntax="jinja"
        )
        prompt = await guest.preview(book)
        await guest.aclose()
    assert prompt.messages[-1].content == "Ice on the quay."


async def test_nobodys_loop_waits_for_the_hostile_templates_of_another_user(tmp_path: Path) -> None:
    async with mg.Studio(tmp_path / "shared.db", tokenizer=WordTokenizer(), extensions=()) as owner:
        guest = owner.for_user("guest")
        book = small_book(guest)
        mine = small_book(owner)
        await guest.prompting.try_out(book, "user_prompt", Prompts(user_prompt="{{ 1 }}", syntax="jinja"))

        async def attacked() -> None:
            stopped = 0
            for template in HOSTILE.values():
                changes = Prompts(user_prompt=AS_SET + template, jinja=("user_prompt",))
                trial = await guest.prompting.try_out(book, "user_prompt", changes)
                found = await anyio.to_thread.run_sync(
                    lambda source=template: guest.prompting.check(source, kind="user_prompt", syntax="jinja")
                )
                stopped += trial.rendered is None or not found.valid
                plain = await guest.prompting.try_out(book, "user_prompt", replace(changes, jinja=()))
                assert plain.rendered is not None
            await owner.preview(mine)
            assert stopped == len(HOSTILE) >= 57

        assert await wait_beside(attacked) < 0.1
        await guest.aclose()
