"""Chapter marker, snippets, and the panel of the author's note."""

from __future__ import annotations

import pytest

import marginalia as mg
from marginalia.extensions.api import Table
from marginalia.extensions.authors_note import AuthorsNote, Note, described
from marginalia.extensions.chapter_marker import Chapter, ChapterMarker, chapters, current_title
from marginalia.extensions.lore_lint import LoreLint
from marginalia.extensions.snippets import Snippets
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from tests.extensions.helpers import TURN, studio_with

STORY = ("Before.", "# One\nSnow fell.", "Wolves came.", "## Two ##\nFire held.")


async def test_the_marker_names_the_chapter_that_is_written() -> None:
    studio, book = studio_with(ChapterMarker(), texts=STORY)
    with studio:
        prompt = await studio.preview(book, TURN)
        assert prompt.messages[-2].content == "The chapter that is being written now: Two."
        earlier = await studio.preview(book, TURN, request=mg.Regenerate(studio.story.branch(book)[-1]))
        assert earlier.messages[-2].content == "The chapter that is being written now: One."


async def test_a_story_without_headings_has_no_marker() -> None:
    studio, book = studio_with(ChapterMarker(), texts=("Snow fell.", "#hashtag is no heading"))
    with studio:
        assert "chapter" not in (await studio.preview(book, TURN)).text


async def test_the_panel_lists_the_chapters() -> None:
    studio, book = studio_with(ChapterMarker(), texts=STORY)
    with studio:
        (panel,) = studio.extensions.panels
        shown = await studio.extensions.shown(panel, studio, book, None)
        assert isinstance(shown, Table)
        assert shown.rows == (("(no title)", 1, 1, 1), ("One", 2, 2, 6), ("Two", 4, 1, 5))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["a b"], [Chapter(title="", part=1, parts=1, words=2)]),
        (["# A", "b"], [Chapter(title="A", part=1, parts=2, words=3)]),
    ],
)
def test_chapters_are_told_by_headings(texts: list[str], expected: list[Chapter]) -> None:
    assert list(chapters(texts)) == expected


def test_only_the_last_parts_are_searched_for_a_heading() -> None:
    assert current_title(["# Old", *["text"] * 199]) == "Old"
    assert current_title(["# Old", *["text"] * 200]) is None


async def test_a_snippet_is_printed_in_any_template() -> None:
    studio, book = studio_with(Snippets(), user_prompt="{{snippet::winter}}|{{snippet::nothing}}|")
    with studio:
        studio.settings.set("extension.snippets", {"texts": {"winter": "It is cold."}})
        assert (await studio.preview(book, TURN)).messages[-1].content == "It is cold.||"
        (panel,) = studio.extensions.panels
        assert await studio.extensions.shown(panel, studio, book, None) == Table(
            columns=("Name", "Text"), rows=(("winter", "It is cold."),)
        )


async def test_the_note_is_edited_through_its_panel() -> None:
    studio, book = studio_with(AuthorsNote())
    with studio:
        (panel,) = studio.extensions.panels
        form = panel.panel.form
        assert form is not None
        assert form.kind is Note
        book = form.store(book, Note(text="Keep it cold.", role="user", depth=3))
        shown = await studio.extensions.shown(panel, studio, book, None)
        assert shown == "Sent as a *user* message 3 messages before the end."
        assert "Keep it cold." in (await studio.preview(book, TURN)).text


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (Note(), "Nothing is sent: the note is empty."),
        (Note(text="x", on=False), "Nothing is sent: the note is switched off."),
        (Note(text="x", depth=0), "Sent as a *system* message after the request."),
        (Note(text="x", depth=-4), "Sent as a *system* message after the request."),
    ],
)
def test_the_panel_says_what_becomes_of_the_note(note: Note, text: str) -> None:
    assert described(note) == text


def test_all_bundled_ones_load_and_those_that_change_prompts_unasked_start_switched_off() -> None:
    with mg.Studio(":memory:", tokenizer=WordTokenizer()) as studio:
        assert studio.extensions.failures == ()
        assert {each.name: each.on for each in studio.extensions.all()} == {
            "authors-note": True,
            "chapter-marker": False,
            "lore-lint": True,
            "snippets": False,
        }
        assert all(each.title and each.description for each in studio.extensions.all())


async def test_with_every_bundled_extension_on_the_preview_is_what_is_sent() -> None:
    async with ScriptedServer([Stream("Done.")]) as server:
        studio, book = studio_with(
            AuthorsNote(), ChapterMarker(), LoreLint(), Snippets(), texts=STORY, base_url=server.base_url,
            user_prompt="{{instructions}} {{snippet::winter}} {{random::a::b::c}}",
            settings={"authors_note": {"text": "Keep it cold."}},
        )  # fmt: skip
        async with studio:
            studio.settings.set("extension.snippets", {"texts": {"winter": "It is cold."}})
            prompt = await studio.preview(book, TURN)
            run = studio.generate(book, TURN)
            assert (await run.settled()).state is mg.RunState.SUCCESSFUL
            sent = [(each["role"], each["content"]) for each in server.completions[-1].body["messages"]]
            assert sent == [(each.role, each.content) for each in prompt.messages]
            assert run.problems == ()
            assert {"author's note", "chapter marker"} <= {each.source for each in prompt.segments}
