"""The preview is the prompt: the same steps, the same dice, and nothing is changed by looking."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginalia as mg
from marginalia.prompt.budget import (
    BASE_MARGIN,
    SAFETY_MARGIN,
    Budget,
    ContextTooSmall,
    Costs,
    choose_parts,
)
from marginalia.prompt.segments import PartFate, SegmentKind
from marginalia.prompt.stages import MESSAGE_TOKENS
from marginalia.story.tree import Node, StoryTree
from marginalia.testing import Stream
from marginalia.values import Limits, PartId
from tests.pipeline.conftest import TURN, World


def stored(world: World) -> list[object]:
    def dump(session: object) -> list[object]:
        rows = session.rows  # type: ignore[attr-defined]
        tables = [name for (name,) in rows("SELECT table_name FROM duckdb_tables() ORDER BY 1")]
        return [(name, sorted(map(str, rows(f"SELECT * FROM {name}")))) for name in tables]  # noqa: S608 - our own names

    return world.studio._store._desk.database.read(dump)


async def test_looking_changes_nothing_that_is_stored(world: World) -> None:
    book = world.studio.books.get(world.book.id)
    prompts = mg.Prompts(user_prompt="{{.n++}}{{$g++}}{{random::a::b}} {{instructions}}")
    world.studio.books.save(_with_prompts(book, prompts))
    before = stored(world)
    for request in (mg.NewPart(), mg.Swipe(world.parts[-1]), mg.Regenerate(world.parts[1])):
        await world.studio.preview(world.book, TURN, request=request)
    assert stored(world) == before


def _with_prompts(book: mg.Book, prompts: mg.Prompts) -> mg.Book:
    return replace(book, prompts=prompts)


async def test_the_preview_is_what_is_sent_with_the_same_dice(world: World) -> None:
    prompts = mg.Prompts(user_prompt="{{random::a::b::c::d::e::f::g::h}}{{roll::1d1000}} {{instructions}}")
    world.studio.books.save(_with_prompts(world.studio.books.get(world.book.id), prompts))
    previews = [await world.studio.preview(world.book, TURN) for _ in range(3)]
    run = world.generate()
    await run.settled()
    sent = [(each["role"], each["content"]) for each in world.server.completions[-1].body["messages"]]
    assert {preview.text for preview in previews} == {previews[0].text}
    assert sent == [(each.role, each.content) for each in previews[0].messages]
    following = await world.studio.preview(world.book, TURN)
    assert following.messages[-1] != previews[0].messages[-1]  # the next turn throws new dice


@pytest.mark.parametrize("event", [mg.events.BeforeGenerateNewMessage, mg.events.BeforeInference])
async def test_a_preview_says_who_is_asked_after_it(world: World, event: type[mg.events.Event]) -> None:
    others = world.studio.books.create(name="Other").id
    world.studio.on(event, lambda _run, _event: None, owner="elsewhere", book=others)
    assert (await world.studio.preview(world.book, TURN)).problems == ()
    with_it = world.studio.on(event, lambda _run, _event: None, owner="rewriter")
    (told,) = (await world.studio.preview(world.book, TURN)).problems
    assert told.text == "rewriter is asked once more when this is sent, and may change it then."
    with_it.close()
    assert (await world.studio.preview(world.book, TURN)).problems == ()


async def test_every_character_of_the_prompt_has_a_segment(world: World) -> None:
    prompt = await world.studio.preview(world.book, TURN)
    for index, message in enumerate(prompt.messages):
        mine = [each for each in prompt.segments if each.message == index]
        bare = "".join(
            character
            for at, character in enumerate(message.content)
            if not any(each.start <= at < each.end for each in mine)
        )
        assert not bare.strip()
    kinds = [each.kind for each in prompt.segments]
    assert SegmentKind.LORE in kinds
    lore = next(each for each in prompt.segments if each.kind is SegmentKind.LORE)
    assert prompt.messages[lore.message].content[lore.start : lore.end] == "The sea is cold."
    assert lore.source == "Always"


async def test_a_verdict_for_every_entry_and_every_part(world: World) -> None:
    prompt = await world.studio.preview(
        world.book, mg.Turn(instructions="Ring it."), request=mg.Swipe(world.parts[-1])
    )
    assert [(verdict.entry.name, verdict.active) for verdict in prompt.lore] == [
        ("Always", True),
        ("Bell", False),
    ]
    assert [each.fate for each in prompt.history] == [PartFate.SENT, PartFate.SENT, PartFate.REPLACED]
    assert [each.number for each in prompt.history] == [1, 2, 3]


async def test_a_part_that_does_not_fit_says_how_much_was_missing(world: World) -> None:
    for index in range(4):
        world.studio.story.append(world.book, f"{index} " + "word " * 900)
    prompt = await world.studio.preview(world.book, TURN)
    verdicts = list(prompt.history)
    assert [each.fate for each in verdicts].count(PartFate.LEFT_OUT) == prompt.history.left_out
    newest = [each for each in verdicts if each.fate is PartFate.LEFT_OUT][-1]
    assert "too many" in newest.reason
    assert prompt.budget.used <= prompt.budget.room


async def test_a_book_without_model_can_still_be_looked_at(world: World) -> None:
    bare = world.studio.books.create(name="Bare", lorebook=world.book.lorebook_id)
    prompt = await world.studio.preview(bare, TURN)
    assert [trouble.text for trouble in prompt.problems] == ["Book is missing model."]
    assert [verdict.entry.name for verdict in prompt.active_lore] == ["Always"]


async def test_a_context_too_small_carries_the_numbers(world: World) -> None:
    tight = world.studio.protocols.create(name="Tight", max_tokens=520)
    book = world.studio.books.create(name="T", provider=world.book.provider_id, protocol=tight)
    with pytest.raises(ContextTooSmall, match="Contextual limit not sufficient") as caught:
        await world.studio.preview(book, TURN)
    assert caught.value.budget.overflow > 0


async def test_a_preview_that_is_cancelled_leaves_nothing_running(world: World) -> None:
    hanging = anyio.Event()

    async def hang(_run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
        hanging.set()
        await anyio.sleep_forever()

    subscription = world.studio.on(mg.events.BeforePrepareContent, hang)
    async with anyio.create_task_group() as group:
        group.start_soon(world.studio.preview, world.book, TURN)
        await hanging.wait()
        group.cancel_scope.cancel()
    subscription.close()
    world.script(Stream("Still works."))
    assert (await world.generate().settled()).state is mg.RunState.SUCCESSFUL


numbers = st.integers(min_value=0, max_value=5000)


@given(
    tokens=st.lists(numbers, max_size=30),
    blank=st.sets(st.integers(min_value=0, max_value=29)),
    context=st.integers(min_value=0, max_value=20_000),
    response=numbers,
    costs=st.builds(
        Costs,
        system=numbers,
        request=numbers,
        jailbreak=numbers,
        inserts=numbers,
        reserved=st.integers(-5000, 5000),
    ),
)
def test_the_budget_never_exceeds_its_limit(
    tokens: list[int], blank: set[int], context: int, response: int, costs: Costs
) -> None:
    nodes = [
        Node(id=PartId(i + 1), parent_id=PartId(i) if i else None, tokens=count, blank=i in blank)
        for i, count in enumerate(tokens)
    ]
    tree, branch = StoryTree(nodes), tuple(node.id for node in nodes)
    limits = Limits(context=context, response=response)
    start = costs.base + costs.all_reserved
    cut = choose_parts(tree, branch, None, start, limits)
    budget = Budget(
        limits=limits, costs=costs, story=cut.story, sent_parts=len(cut.sent), branch_parts=len(branch)
    )
    assert not cut.sent or budget.used <= limits.prompt - SAFETY_MARGIN
    assert budget.base == costs.system + costs.request + costs.jailbreak + BASE_MARGIN
    wordy = [part for part in branch if not tree[part].blank]
    assert list(cut.sent) == wordy[len(wordy) - len(cut.sent) :]
    if cut.needed:
        left = tree[wordy[-len(cut.sent) - 1]]
        assert (
            budget.used + left.tokens + MESSAGE_TOKENS
            == cut.needed[0]
            > max(0, limits.prompt - SAFETY_MARGIN)
        )
    if budget.fits and budget.used <= limits.prompt:
        assert sum(share.tokens for share in budget.shares) == limits.context
    assert choose_parts(tree, branch, None, start, limits) == cut
