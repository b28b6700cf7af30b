"""A part written once more: exactly as it was, or with today's lore and settings; looked at before it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

import marginalia as mg
from marginalia.prompt.stages import Insert
from marginalia.testing import ScriptedServer, Stream, WordTokenizer

BELL = mg.Turn(instructions="Ring the bell. {{random::a::b::c::d::e::f}}")


@dataclass
class Desk:
    studio: mg.Studio
    server: ScriptedServer
    book: mg.Book
    bell: mg.Entry

    async def write(self) -> mg.Part:
        self.server.script(Stream("The bell rang."))
        outcome = await self.studio.generate(self.book, BELL).settled()
        assert outcome.part is not None, outcome.error
        return outcome.part

    async def again(self, part: mg.Part, **more: Any) -> mg.Part:
        self.server.script(Stream("It rang again."))
        outcome = await self.studio.rerun(part, **more).settled()
        assert outcome.part is not None, outcome.error
        return outcome.part

    @property
    def body(self) -> dict[str, Any]:
        body = self.server.completions[-1].body
        assert body is not None
        return body

    def change_everything(self) -> None:
        """Lore, prompts, sampling, limits, what follows the part, and an extension: all of it is another now."""
        studio = self.studio
        studio.lorebooks.save_entry(replace(self.bell, payload="The bell is loud."))
        book = studio.books.get(self.book.id)
        studio.books.save(replace(book, prompts=mg.Prompts(user_prompt="Now: {{instructions}}")))
        protocol = studio.protocols.get(self.book.protocol_id)
        studio.protocols.save(replace(protocol, sampling=mg.Sampling(temperature=1.5), reply_tokens=77))
        provider = studio.providers.get(self.book.provider_id)
        studio.providers.save(replace(provider, additional_parameters={"top_k": 9, "api_key": "sk-two"}))
        studio.story.append(self.book, "And more.")

        def note(_run: mg.Run, event: mg.events.BeforePrepareContent) -> mg.events.BeforePrepareContent:
            return replace(event, inserts=(*event.inserts, Insert(text="Slowly.", owner="notes")))

        def rewrite(_run: mg.Run, event: mg.events.BeforeInference) -> mg.events.BeforeInference:
            return replace(event, messages=event.messages[:1])

        studio.on(mg.events.BeforePrepareContent, note, owner="notes")
        studio.on(mg.events.BeforeInference, rewrite, owner="rewriter")


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with ScriptedServer([Stream("Done.")]) as server:
        studio = mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=())
        provider = studio.providers.create(
            name="Stub", base_url=server.base_url, model="m", max_context=4000, max_response=500, max_retries=0,
            additional_parameters={"top_k": 40, "api_key": "sk-one"},
        )  # fmt: skip
        protocol = studio.protocols.create(name="Plain", temperature=0.7)
        lore = studio.lorebooks.create(name="World")
        bell = studio.lorebooks.add_entry(
            lore, name="Bell", payload="The bell is quiet.", filter=mg.TextFilter("bell")
        )
        book = studio.books.create(name="Salt", provider=provider, protocol=protocol, lorebook=lore)
        studio.story.append(book, "It snowed.")
        yield Desk(studio, server, studio.books.get(book.id), bell)
        await studio.aclose()


async def test_as_it_was_sends_byte_for_byte_what_was_sent(desk: Desk) -> None:
    part = await desk.write()
    first = desk.body
    desk.change_everything()
    new = await desk.again(part)
    assert desk.body == {**first, "api_key": "sk-two"}
    assert new.parent_id == part.parent_id
    assert new.id != part.id
    assert new.turn == part.turn
    assert desk.studio.books.get(desk.book.id).active_leaf == new.id
    before, after = desk.studio.story.receipt(part), desk.studio.story.receipt(new)
    assert before is not None
    assert after is not None
    assert (after.messages, after.segments, after.lore) == (before.messages, before.segments, before.lore)
    assert (after.sampling, after.limits, after.shares) == (before.sampling, before.limits, before.shares)
    assert after.extra["again"] == part.id
    assert "sk-" not in repr(before) + repr(after)


async def test_what_was_sent_once_more_can_be_sent_once_more(desk: Desk) -> None:
    part = await desk.write()
    first = desk.body
    second = await desk.again(part)
    desk.change_everything()
    await desk.again(second)
    assert desk.body["messages"] == first["messages"]


async def test_with_todays_lore_the_same_turn_is_asked_for(desk: Desk) -> None:
    part = await desk.write()
    desk.change_everything()
    look = await desk.studio.reruns.look(part, as_it_was=False)
    assert "~ *Bell*: its text was changed" in look.diff.text
    assert "The temperature is 1.5 instead of 0.7." in look.diff.notes
    desk.studio.pipeline.hooks._subscriptions.clear()
    wanted = await desk.studio.reruns.look(part, as_it_was=False)
    await desk.again(part, as_it_was=False)
    assert [each["content"] for each in desk.body["messages"]] == [
        each.content for each in wanted.prompt.messages
    ]
    assert desk.body["temperature"] == 1.5


async def test_looking_sends_nothing_and_says_that_nothing_is_different(desk: Desk) -> None:
    part = await desk.write()
    desk.change_everything()
    desk.studio.pipeline.hooks._subscriptions.clear()
    sent = len(desk.server.completions)
    look = await desk.studio.reruns.look(part)
    assert look.diff.changes == ()
    assert look.diff.notes == ()
    assert look.frame.equals(look.diff.frame)
    receipt = desk.studio.story.receipt(part)
    assert receipt is not None
    assert look.prompt.messages == receipt.messages
    assert next(share for share in look.prompt.budget.shares if share.kind == "lore").tokens == 4
    assert len(desk.server.completions) == sent
    assert len(desk.studio.story.siblings(part)) == 1


async def test_a_part_written_by_hand_has_nothing_to_send_again(desk: Desk) -> None:
    part = desk.studio.story.append(desk.book, "By hand.")
    with pytest.raises(mg.InvalidInput, match="written by hand"):
        await desk.studio.reruns.look(part)


async def test_a_model_that_is_gone_is_named(desk: Desk) -> None:
    part = await desk.write()
    other = desk.studio.providers.create(name="Other", base_url=desk.server.base_url, model="n")
    desk.studio.books.save(replace(desk.studio.books.get(desk.book.id), provider_id=other.id))
    await desk.again(part)
    assert desk.body["model"] == "m"  # it is still there, though the book has another one
    desk.studio.providers.delete(desk.book.provider_id)
    with pytest.raises(mg.InvalidInput, match="'Stub', which wrote this part, is not there any more"):
        desk.studio.rerun(part)


async def test_an_old_receipt_says_what_it_lacks(desk: Desk) -> None:
    part = await desk.write()
    receipt = desk.studio.story.receipt(part)
    assert receipt is not None
    old = replace(receipt, extra={})
    await desk.studio._ports.archive.close_part(part, old)
    look = await desk.studio.reruns.look(part)
    assert look.prompt.messages == receipt.messages
    assert "was not kept" in look.diff.notes[0]


async def test_one_run_at_a_time(desk: Desk) -> None:
    part = await desk.write()
    desk.server.script(Stream("It rang again."))
    run = desk.studio.rerun(part)
    with pytest.raises(mg.Busy):
        desk.studio.rerun(part)
    await run.settled()
