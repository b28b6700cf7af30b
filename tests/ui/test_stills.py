"""The app's panels in a notebook: whole in themselves, safe whatever a story holds, plain where no script runs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest

import marginalia as mg
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.ui.live import live_html
from marginalia.ui.stills import html

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
async def studio() -> AsyncIterator[mg.Studio]:
    async with (
        ScriptedServer([Stream(HOSTILE)]) as server,
        mg.Studio(":memory:", extensions=(), tokenizer=WordTokenizer(), seed=1) as studio,
    ):
        provider = studio.providers.create(
            name="Stub", base_url=server.base_url, model="m", max_context=2000, max_response=200
        )
        lore = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(lore, name=HOSTILE, payload=HOSTILE, filter=mg.TextFilter("bell"))
        book = studio.books.create(
            name="B", provider=provider, protocol=studio.protocols.create(name="P"), lorebook=lore
        )
        for _ in range(4):
            studio.story.append(book, f"A text. {HOSTILE}")
        yield studio


def data_of(panel: str) -> dict[str, object]:
    found = re.search(r'appear_\("[0-9a-f]{16}", (\{.*\}), "', panel)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


async def test_every_thing_has_a_panel_and_a_table_and_nothing_of_a_story_is_markup(
    studio: mg.Studio,
) -> None:
    book = studio.books.all()[0]
    prompt = await studio.preview(book, mg.Turn(instructions="Ring the bell."))
    run = studio.generate(book, mg.Turn(instructions="Ring the bell."))
    outcome = await run.settled()
    assert outcome.part is not None
    receipt = studio.story.receipt(outcome.part)
    assert receipt is not None
    rerun = await studio.reruns.look(outcome.part)
    tree = studio.story.tree(book)
    later = await studio.preview(book, mg.Turn(instructions="Go on."))
    found = later.diff(receipt)
    things = (prompt, prompt.budget, prompt.lore, found, receipt, run.timeline, rerun, tree)
    for thing in things:
        shown = html(thing)
        assert shown.count("</script>") == shown.count("<script")
        assert "<img" not in shown
        assert "http:" not in shown.replace("http://www.w3.org/2000/svg", "")
        assert "https:" not in shown
    for thing in (prompt, prompt.budget, prompt.lore, prompt.history, found, receipt, run, tree):
        assert len(thing.frame) > 0
    assert "<img" not in live_html(run)
    assert "complete" in live_html(run)
    assert run._repr_html_()


async def test_a_panel_is_told_what_the_app_is_told(studio: mg.Studio) -> None:
    book = studio.books.all()[0]
    prompt = await studio.preview(book, mg.Turn(instructions="Ring the bell."))
    messages = data_of(html(prompt))["messages"]
    assert isinstance(messages, list)
    texts = ["".join(piece["text"] for piece in row["pieces"]) for _, row in messages[0]["changed"]]
    assert texts == [message.content for message in prompt.messages]
    params = data_of(html(prompt.lore))["params"]
    assert isinstance(params, dict)
    assert [row["state"] for row in params["rows"]] == ["in"]


def test_what_has_no_panel_says_so() -> None:
    with pytest.raises(TypeError, match="no panel for int"):
        html(3)
