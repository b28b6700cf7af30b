"""The inspector of a studio: what-ifs that change nothing, the stable layout, the cache meter, exports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

import marginalia as mg
from marginalia.lore.book import When
from marginalia.prompt.budget import ContextTooSmall
from marginalia.prompt.segments import PartFate, SegmentKind
from marginalia.studio.wishes import WhatIf
from marginalia.testing import ScriptedServer, Stream
from tests.worlds import salt, studio_in_memory

PARTS = 30
QUIET = mg.Turn(instructions="Go on.")
BELL = mg.Turn(instructions="Ring the bell.")


@dataclass
class Desk:
    studio: mg.Studio
    server: ScriptedServer
    book: mg.Book

    async def preview(self, turn: mg.Turn = QUIET, **more: object) -> mg.Prompt:
        return await self.studio.preview(self.book, turn, **more)  # type: ignore[arg-type]

    async def write(self, turn: mg.Turn = QUIET) -> mg.Part:
        self.server.script(Stream("word " * 60))
        outcome = await self.studio.generate(self.book, turn).settled()
        assert outcome.part is not None, outcome.error
        return outcome.part


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with ScriptedServer([Stream("Done.")]) as server:
        studio = studio_in_memory()
        book = salt(studio, server)
        for index in range(PARTS):
            studio.story.append(book, f"Part{index} " + "word " * 59)
        yield Desk(studio, server, studio.books.get(book.id))
        await studio.aclose()


# What-if.


async def test_a_what_if_without_wishes_is_the_preview(desk: Desk) -> None:
    assert (await desk.studio.what_if(desk.book, QUIET)).messages == (await desk.preview()).messages


async def test_a_what_if_leaves_the_book_alone(desk: Desk) -> None:
    before = (desk.studio.books.get(desk.book.id), desk.studio.protocols.all(), await desk.preview())
    more = await desk.studio.what_if(
        desk.book, BELL, context=8000, response=300, lore_tokens=4, parts=9, stable=True
    )
    assert (more.limits.context, more.limits.response, more.budget.sent_parts) == (8000, 300, 9)
    assert [verdict.entry.name for verdict in more.active_lore] == ["Always"]
    after = (desk.studio.books.get(desk.book.id), desk.studio.protocols.all(), await desk.preview())
    assert after[:2] == before[:2]
    assert after[2].messages == before[2].messages


async def test_a_larger_context_says_what_came_in(desk: Desk) -> None:
    now = await desk.preview()
    then = await desk.studio.what_if(desk.book, QUIET, context=4200)
    found = then.diff(now)
    assert found.notes == ("The context is 4,200 tokens instead of 4,000.",)
    assert {change.cause for change in found.changes} == {"there is room for it now"}
    assert found.changes[0].source == f"part {now.history.left_out}"


async def test_what_falls_out_of_a_smaller_context_names_the_budget(desk: Desk) -> None:
    then = await desk.studio.what_if(desk.book, QUIET, context=3800)
    changes = then.diff(await desk.preview()).changes
    assert changes
    assert all(change.cause.startswith("budget: ") for change in changes)


async def test_the_most_parts_that_were_asked_for_explain_what_is_left_out(desk: Desk) -> None:
    prompt = await desk.studio.what_if(desk.book, QUIET, parts=3)
    assert [each.number for each in prompt.history if each.fate is PartFate.SENT] == [28, 29, 30]
    assert prompt.history[20].reason == "at most 3 were asked for"


async def test_lore_may_have_a_share_of_the_context(desk: Desk) -> None:
    tight = await desk.studio.what_if(desk.book, BELL, context=900, lore_share=1)
    assert sum(verdict.tokens for verdict in tight.active_lore) <= 9
    with pytest.raises(mg.InvalidInput, match="at most 100"):
        await desk.studio.what_if(desk.book, BELL, lore_share=101)
    desk.studio.inspector.apply(desk.book, WhatIf(lore_share=1))
    assert desk.studio.books.get(desk.book.id).settings["lore_share"] == 1


async def test_the_curve_grows_with_the_context(desk: Desk) -> None:
    rungs = await desk.studio.inspector.curve(desk.book, QUIET, contexts=(300, 2000, 4000, 8000))
    assert [rung.fits for rung in rungs] == [False, True, True, True]
    assert [rung.sent_parts for rung in rungs] == sorted(rung.sent_parts for rung in rungs)
    assert all(rung.sent_parts + rung.left_out == PARTS for rung in rungs)


async def test_a_context_too_small_is_said(desk: Desk) -> None:
    with pytest.raises(ContextTooSmall):
        await desk.studio.what_if(desk.book, QUIET, context=510)
    with pytest.raises(mg.InvalidInput, match="context cannot be -1"):
        await desk.studio.what_if(desk.book, QUIET, context=-1)


async def test_applying_a_what_if_makes_it_the_preview(desk: Desk) -> None:
    wanted = await desk.studio.what_if(desk.book, BELL, context=3000, response=300, lore_tokens=4, parts=5)
    desk.studio.inspector.apply(desk.book, WhatIf(context=3000, response=300, lore_tokens=4, parts=5))
    assert (await desk.preview(BELL)).messages == wanted.messages
    assert len(desk.studio.protocols.all()) == 1


async def test_applying_to_a_new_protocol_leaves_the_old_one(desk: Desk) -> None:
    old = desk.studio.protocols.get(desk.book.protocol_id)
    new = desk.studio.inspector.apply(desk.book, WhatIf(context=3000), new_protocol="Small")
    assert new is not None
    assert desk.studio.protocols.get(old.id) == old
    assert (new.name, new.max_tokens, new.sampling) == ("Small", 3000, old.sampling)
    assert desk.studio.books.get(desk.book.id).protocol_id == new.id


async def test_what_is_no_limit_is_kept_in_the_book_alone(desk: Desk) -> None:
    bare = desk.studio.books.create(name="Bare", provider=desk.book.provider_id)
    assert desk.studio.inspector.apply(bare, WhatIf(parts=3)) is None
    assert desk.studio.books.get(bare.id).settings["most_parts"] == 3
    assert len(desk.studio.protocols.all()) == 1
    made = desk.studio.inspector.apply(bare, WhatIf(context=3000))
    assert made is not None
    assert desk.studio.books.get(bare.id).protocol_id == made.id


# The stable layout.


async def test_lore_that_comes_and_goes_stands_behind_the_story(desk: Desk) -> None:
    desk.studio.inspector.set_stable(desk.book, True)
    prompt = await desk.preview(BELL)
    where = {each.source: (each.kind, each.message) for each in prompt.segments if "LORE" in each.kind.name}
    assert where == {
        "Always": (SegmentKind.LORE, 0),
        "Bell": (SegmentKind.USER_LORE, len(prompt.messages) - 1),
    }
    assert prompt.messages[-1].content.startswith("The bell is quiet.\n\n")
    for segment in prompt.segments:
        if segment.source == "Bell":
            text = prompt.messages[-1].content[segment.start : segment.end]
            assert text == "The bell is quiet."


async def test_the_system_message_stays_whatever_is_asked(desk: Desk) -> None:
    assert (await desk.preview(BELL)).messages[0] != (await desk.preview()).messages[0]
    desk.studio.inspector.set_stable(desk.book, True)
    assert (await desk.preview(BELL)).messages[0] == (await desk.preview()).messages[0]


async def test_chance_and_time_count_as_coming_and_going(desk: Desk) -> None:
    lore = desk.studio.lorebooks.get(desk.book.lorebook_id)
    desk.studio.lorebooks.add_entry(lore, name="Rare", payload="A gull.", when=When(chance=99.9))
    desk.studio.lorebooks.add_entry(lore, name="Fixed", payload="The pier.", when=When(always=True))
    prompt = await desk.studio.what_if(desk.book, QUIET, stable=True)
    kinds = {each.source: each.kind for each in prompt.segments if each.source in {"Rare", "Fixed"}}
    assert kinds == {"Rare": SegmentKind.USER_LORE, "Fixed": SegmentKind.LORE}


async def test_old_parts_leave_in_blocks_and_the_figures_add_up(desk: Desk) -> None:
    desk.studio.inspector.set_stable(desk.book, True)
    first: list[int] = []
    for turn in (QUIET, BELL) * 10:
        prompt = await desk.preview(turn)
        sent = [each for each in prompt.history if each.fate is PartFate.SENT]
        assert sum(each.tokens for each in sent) == prompt.budget.story
        assert len(sent) == prompt.budget.sent_parts
        assert sum(share.tokens for share in prompt.budget.shares) == prompt.limits.context
        first.append(sent[0].number)
        desk.studio.story.append(desk.book, "word " * 60)
    assert first == sorted(first)
    assert len(set(first)) <= 4


async def test_a_story_that_fits_whole_is_left_whole(desk: Desk) -> None:
    prompt = await desk.studio.what_if(desk.book, QUIET, context=20_000, stable=True)
    assert prompt.budget.sent_parts == PARTS


async def test_the_preview_of_a_stable_book_is_what_is_sent(desk: Desk) -> None:
    desk.studio.inspector.set_stable(desk.book, True)
    preview = await desk.preview(BELL)
    await desk.write(BELL)
    body = desk.server.completions[-1].body["messages"]
    assert [(each["role"], each["content"]) for each in body] == [
        (each.role, each.content) for each in preview.messages
    ]


async def test_without_the_layout_nothing_is_different(desk: Desk) -> None:
    before = await desk.preview(BELL)
    desk.studio.inspector.set_stable(desk.book, True)
    assert (await desk.preview(BELL)).diff(before).changes
    desk.studio.inspector.set_stable(desk.book, False)
    assert (await desk.preview(BELL)).messages == before.messages


# The cache meter.


async def test_a_receipt_keeps_what_was_predicted(desk: Desk) -> None:
    desk.studio.inspector.set_stable(desk.book, True)
    first, second = await desk.write(), await desk.write()
    one, two = desk.studio.story.receipt(first), desk.studio.story.receipt(second)
    assert one is not None
    assert two is not None
    assert one.extra["cache"]["predicted"] == 0
    assert two.extra["cache"]["predicted"] > 0.85 * two.extra["cache"]["of"]
    assert two.extra["cache"]["cause"] == "part 31: it was written since"


async def test_the_preview_knows_what_the_server_holds(desk: Desk) -> None:
    inspector = desk.studio.inspector
    assert inspector.beginning(desk.book, await desk.preview()).tokens == 0
    await desk.write()
    beginning = inspector.beginning(desk.book, await desk.preview(BELL))
    assert beginning.message == 0
    assert beginning.cause.startswith("*Bell*: ")


async def test_after_a_new_start_the_receipt_stands_for_what_was_sent(desk: Desk) -> None:
    await desk.write()
    kept = desk.studio.inspector.last_sent(desk.book)
    desk.studio.inspector._last = type(desk.studio.inspector._last)()
    again = desk.studio.inspector.last_sent(desk.book)
    assert kept is not None
    assert again is not None
    assert again.messages == kept.messages


async def test_another_server_was_sent_nothing(desk: Desk) -> None:
    await desk.write()
    other = desk.studio.providers.create(name="Other", base_url="http://127.0.0.1:9/v1", model="m")
    desk.studio.books.save(replace(desk.studio.books.get(desk.book.id), provider_id=other.id))
    assert desk.studio.inspector.last_sent(desk.book) is None


# Servers that keep what only moved.


def asked(desk: Desk) -> int | None:
    """What the last request asked to be kept."""
    found = desk.server.completions[-1].body.get("n_cache_reuse")
    return found if isinstance(found, int) else None


async def know_the_server(desk: Desk) -> None:
    """Have the server count, by which it is known."""
    desk.server.counts_tokens = True
    provider = desk.studio.providers.get(desk.book.provider_id)
    await desk.studio.inspector._models.count_texts(provider, ["one"])


async def test_llama_cpp_is_asked_to_keep_what_moved_for_a_book_with_a_stable_layout(desk: Desk) -> None:
    await know_the_server(desk)
    await desk.write()
    assert asked(desk) is None
    desk.studio.inspector.set_stable(desk.book, True)
    await desk.write()
    assert asked(desk) == 64
    body = json.loads(desk.studio.inspector.export(desk.book, await desk.preview(), "json"))
    assert body["n_cache_reuse"] == 64


async def test_once_more_as_it_was_is_asked_as_it_was(desk: Desk) -> None:
    await know_the_server(desk)
    desk.studio.inspector.set_stable(desk.book, True)
    part = await desk.write()
    desk.studio.inspector.set_stable(desk.book, False)
    desk.server.script(Stream("word " * 60))
    await desk.studio.rerun(part).settled()
    first, again = desk.server.completions[-2:]
    assert again.body == first.body


async def test_other_servers_are_not(desk: Desk) -> None:
    desk.studio.inspector.set_stable(desk.book, True)
    await desk.write()
    assert asked(desk) is None


async def test_what_a_provider_says_by_hand_stays(desk: Desk) -> None:
    await know_the_server(desk)
    provider = desk.studio.providers.get(desk.book.provider_id)
    desk.studio.providers.save(replace(provider, additional_parameters={"n_cache_reuse": 0}))
    desk.studio.inspector.set_stable(desk.book, True)
    await desk.write()
    assert asked(desk) == 0


async def test_the_cut_of_old_parts_costs_next_to_nothing_where_what_moved_is_kept(desk: Desk) -> None:
    await know_the_server(desk)
    desk.studio.inspector.set_stable(desk.book, True)
    await desk.write()
    first = (await desk.preview()).budget.sent_parts
    while (await desk.preview()).budget.sent_parts >= first:
        await desk.write()
        first += 1
    beginning = desk.studio.inspector.beginning(desk.book, await desk.preview())
    assert beginning.tokens < 0.2 * beginning.total
    assert beginning.share > 0.8


# Comparing and taking along.


async def test_a_prompt_can_be_compared_with_the_receipt_of_a_part(desk: Desk) -> None:
    part = await desk.write(BELL)
    receipt = desk.studio.story.receipt(part)
    assert receipt is not None
    found = (await desk.preview()).diff(receipt)
    assert "\N{MINUS SIGN} *Bell*: *bell* is not in the request" in found.text
    assert "+ part 31: it was written since" in found.text


async def test_the_json_of_a_prompt_is_the_body_that_is_sent(desk: Desk) -> None:
    prompt = await desk.preview()
    body = json.loads(desk.studio.inspector.export(desk.book, prompt, "json"))
    await desk.write()
    assert body == desk.server.completions[-1].body


async def test_the_json_of_a_part_is_the_body_that_was_sent_for_it_whatever_is_set_today(desk: Desk) -> None:
    part = await desk.write()
    sent = desk.server.completions[-1].body
    protocol = desk.studio.protocols.get(desk.book.protocol_id)
    desk.studio.protocols.save(replace(protocol, sampling=replace(protocol.sampling, temperature=1.9)))
    provider = desk.studio.providers.get(desk.book.provider_id)
    desk.studio.providers.save(replace(provider, model="other", additional_parameters={"seed": 4}))
    receipt = desk.studio.story.receipt(part)
    assert receipt is not None
    assert json.loads(desk.studio.inspector.export(desk.book, receipt, "json")) == sent


async def test_curl_has_the_address_and_no_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = desk.studio.providers.get(desk.book.provider_id)
    monkeypatch.setenv("MINE", "sk-secret")
    desk.studio.providers.save(replace(provider, key_ref="env:MINE"))
    command = desk.studio.inspector.export(desk.book, await desk.preview(), "curl")
    assert f"{desk.server.base_url}/chat/completions" in command
    assert "$API_KEY" in command
    assert "sk-secret" not in command
    with pytest.raises(mg.InvalidInput, match="only as text, json or curl"):
        desk.studio.inspector.export(desk.book, await desk.preview(), "xml")  # type: ignore[arg-type]


async def test_everything_shows_itself_in_a_notebook(desk: Desk) -> None:
    prompt = await desk.preview(BELL)
    assert "The bell is quiet." in prompt._repr_html_()
    assert "**system**" in prompt._repr_markdown_()
    assert "of 4,000" in prompt.budget._repr_html_()
    assert "2 of 2 entries are in." in prompt.lore._repr_html_()  # type: ignore[attr-defined]
