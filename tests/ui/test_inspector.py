"""What the inspector shows: a picture that adds up, knobs that bear anything, words that called lore, comparisons."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginalia as mg
from marginalia.lore.book import Entry
from marginalia.lore.verdicts import Hit, Verdict
from marginalia.prompt.budget import Budget, Costs
from marginalia.prompt.leftout import left_out_then
from marginalia.prompt.segments import Segment, SegmentKind
from marginalia.studio.wishes import WhatIf
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.ui.desk import Desk
from marginalia.ui.knobs import knobs, rung_rows, ways_to_keep, wish_of
from marginalia.ui.lens import Lens
from marginalia.ui.messages import calls_of, message_rows
from marginalia.ui.picture import bars, shares_of, shares_of_receipt
from marginalia.ui.view import View
from marginalia.ui.views.prompt import PromptView
from marginalia.values import Limits, Message

numbers = st.integers(0, 3000)
segments = st.lists(
    st.builds(
        Segment,
        kind=st.sampled_from(SegmentKind),
        message=st.just(0),
        start=st.just(0),
        end=st.just(1),
        tokens=numbers,
        source=st.text(max_size=5),
    ),
    max_size=20,
)


# The picture.


@given(
    st.builds(Costs, system=numbers, lore=numbers, request=numbers, jailbreak=numbers, inserts=numbers),
    st.integers(0, 20_000),
    numbers,
    segments,
)
def test_the_picture_is_the_budget_and_no_piece_leaves_its_share(
    costs: Costs, context: int, story: int, pieces: list[Segment]
) -> None:
    budget = Budget(limits=Limits(context=context, response=100), costs=costs, story=story, sent_parts=2)
    shares = [share for share in budget.shares if share.tokens > 0]
    found = bars(shares, pieces)
    above = [at for at, top in enumerate(found["top"]) if top > 0.5]
    assert sum(found["right"][at] - found["left"][at] for at in above) == sum(
        share.tokens for share in shares
    )
    spans = {(found["left"][at], found["right"][at]) for at in above}
    for at in set(range(len(found["top"]))) - set(above):
        assert any(left <= found["left"][at] <= found["right"][at] <= right for left, right in spans)
    assert len({len(column) for column in found.values()}) == 1


# The knobs.

BOOK = mg.Book(name="B", settings={"lore_tokens": 300})
BUDGET = Budget(limits=Limits(context=4096, response=512), branch_parts=9)


def test_knobs_left_where_they_are_wish_for_nothing() -> None:
    values = {knob["name"]: knob["value"] for knob in knobs(BUDGET, BOOK)}
    assert values == {"context": 4096, "response": 512, "lore_tokens": 300, "lore_share": 0, "parts": 0}
    assert wish_of(values, BUDGET, BOOK) == WhatIf()


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(
    json
    | st.dictionaries(st.sampled_from(["context", "response", "lore_tokens", "lore_share", "parts"]), json)
)
def test_whatever_a_browser_sends_is_a_wish_within_bounds(values: object) -> None:
    wish = wish_of(values, BUDGET, BOOK)
    for name in ("context", "response", "lore_tokens", "lore_share", "parts"):
        number = getattr(wish, name)
        assert number is None or 0 <= number <= 131_072


def test_an_answer_or_a_context_of_nothing_cannot_be_wished_for() -> None:
    values = {knob["name"]: 0 for knob in knobs(BUDGET, BOOK)}
    assert wish_of(values, BUDGET, BOOK) == WhatIf(context=1, response=1, lore_tokens=0)


def test_what_can_be_kept_says_whom_it_changes() -> None:
    labels = [way["label"] for way in ways_to_keep(WhatIf(context=8192), "Plain")]
    assert labels == ["Keep in Plain", "Keep as a new protocol"]
    assert [way["label"] for way in ways_to_keep(WhatIf(context=8192), "")] == ["Keep as a new protocol"]
    assert [way["label"] for way in ways_to_keep(WhatIf(parts=3), "Plain")] == ["Keep in this book"]


# Words that called lore.


def verdict(name: str, *hits: tuple[str, int, int]) -> Verdict:
    found = tuple(Hit(key="k", source=source, start=start, end=end) for source, start, end in hits)
    return Verdict(entry=Entry(name=name), lorebook="L", active=True, hits=found)


def test_words_that_called_an_entry_are_pieces_of_their_own() -> None:
    text = "The lore.\n\nRing the bell."
    request = Segment(
        kind=SegmentKind.REQUEST, message=0, start=11, end=len(text), tokens=3, source="request"
    )
    rows = message_rows(
        [Message(role="user", content=text)], [request], calls_of([verdict("Bell", ("request", 9, 13))])
    )
    pieces = [(piece["text"], bool(piece.get("calls"))) for piece in rows[0]["pieces"]]
    assert pieces == [("The lore.\n\n", False), ("Ring the ", False), ("bell", True), (".", False)]
    assert rows[0]["pieces"][2]["title"].startswith("calls Bell\n")


places = st.tuples(st.sampled_from(["request", "part 1", "part 9"]), st.integers(-3, 40), st.integers(-3, 40))


@given(st.text(min_size=30, max_size=30), st.integers(0, 20), st.lists(places, max_size=8))
def test_no_character_is_lost_whatever_called_lore(
    text: str, start: int, hits: list[tuple[str, int, int]]
) -> None:
    request = Segment(kind=SegmentKind.REQUEST, message=0, start=start, end=30, tokens=3)
    rows = message_rows(
        [Message(role="user", content=text)], [request], calls_of([verdict("A", *hits), verdict("B", *hits)])
    )
    assert "".join(piece["text"] for piece in rows[0]["pieces"]) == text


# The lens. Panel, which ``View`` loads, lets parameters be watched by coroutines.

assert View


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as server:
        yield server


@pytest.fixture
async def lens(server: ScriptedServer) -> AsyncIterator[Lens]:
    async with mg.Studio(":memory:", extensions=(), tokenizer=WordTokenizer()) as studio:
        provider = studio.providers.create(
            name="Scripted", base_url=server.base_url, model="m", max_context=2000, max_response=200
        )
        book = studio.books.create(name="B", provider=provider, protocol=studio.protocols.create(name="P"))
        for _ in range(20):
            studio.story.append(book, "word " * 60)
        desk = Desk(studio)
        lens = Lens(desk)
        await desk.open()
        await until(lambda: lens.beginning is not None)
        yield lens
        desk.close()
        await asyncio.sleep(0)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


def sources(lens: Lens) -> set[str]:
    """What is different in the comparison that is shown."""
    found = lens.comparison.diff if lens.comparison is not None else None
    return {change.source for change in found.changes} if found is not None else set()


def notes(lens: Lens) -> tuple[str, ...]:
    """What the comparison that is shown says of the whole."""
    found = lens.comparison.diff if lens.comparison is not None else None
    return found.notes if found is not None else ()


async def write(lens: Lens, server: ScriptedServer) -> mg.Part:
    assert lens.desk.book is not None
    server.script(Stream("Done."))
    outcome = await lens.desk.studio.generate(lens.desk.book, lens.desk.turn.freeze()).settled()
    assert outcome.part is not None
    await until(lambda: outcome.part.id in lens.desk.shape.branch and not lens.desk.running)
    return outcome.part


async def test_a_trial_is_shown_and_then_kept(lens: Lens) -> None:
    sent = lens.desk.budget.sent_parts
    await lens.try_out(WhatIf(context=3000))
    assert lens.trial is not None
    assert lens.trial.budget is not None
    assert lens.trial.budget.sent_parts > sent
    assert len(lens.trial.left.first) == 20 - lens.trial.budget.sent_parts
    assert lens.desk.budget.sent_parts == sent
    await lens.apply()
    assert lens.trial is None
    await until(lambda: lens.desk.budget.limits.context == 3000)


async def test_a_trial_that_cannot_be_sent_says_why(lens: Lens) -> None:
    await lens.try_out(WhatIf(context=220))
    assert lens.trial is not None
    assert lens.trial.prompt is None
    assert lens.trial.text
    await lens.try_out(WhatIf())
    assert lens.trial is None


async def test_what_is_missing_needs_more_the_older_it_is(lens: Lens) -> None:
    needs = [each.needs for each in lens.left.first]
    assert len(needs) == 20 - lens.desk.budget.sent_parts
    assert needs == sorted(needs)
    assert 0 < needs[0] <= 160
    prompt = await lens.desk.studio.what_if(lens.desk.book, context=2000 + needs[1])
    assert prompt.budget.sent_parts == lens.desk.budget.sent_parts + 2


async def test_a_part_is_looked_at_and_compared_with_now(lens: Lens, server: ScriptedServer) -> None:
    part = await write(lens, server)
    await lens.look_at(part.id)
    assert lens.look is not None
    assert lens.look.number == 21
    assert lens.shown is lens.look.receipt
    assert shares_of(lens.look.receipt)
    await lens.compare_with("now")
    assert lens.comparison is not None
    assert lens.comparison.diff is not None
    assert any("21" in change.source for change in lens.comparison.diff.changes)
    await lens.now()
    assert lens.shown is lens.desk.prompt
    assert lens.comparison is None


async def test_two_parts_are_compared_wherever_they_are(lens: Lens, server: ScriptedServer) -> None:
    first = await write(lens, server)
    for _ in range(14):
        lens.desk.studio.story.append(lens.desk.book, "word " * 10)
    await until(lambda: len(lens.desk.shape.branch) == 35)
    assert f"part:{first.id}" not in [each.key for each in lens.choices()]
    await lens.look_at(first.id)
    second = await write(lens, server)
    await lens.look_at(second.id)
    await lens.compare_with(f"part:{first.id}")
    assert lens.comparison is not None
    assert lens.comparison.title == "Compared with part 21"
    assert lens.comparison.diff is not None


async def test_the_budget_of_a_part_is_the_one_it_was_sent_under(lens: Lens, server: ScriptedServer) -> None:
    then = lens.desk.budget
    left = lens.left.first
    part = await write(lens, server)
    await lens.look_at(part.id)
    assert lens.look is not None
    assert shares_of_receipt(lens.look.receipt) == [share for share in then.shares if share.tokens]
    assert lens.look.receipt.missing == left


async def test_a_part_is_written_once_more_after_a_look(lens: Lens, server: ScriptedServer) -> None:
    part = await write(lens, server)
    body = server.completions[-1].body
    await lens.look_at(part.id)
    await lens.prepare(as_it_was=False)
    assert lens.again is not None
    assert lens.again.ready
    await lens.prepare(as_it_was=True)
    assert lens.again.as_it_was
    assert lens.again.shown.diff is not None
    assert lens.again.shown.diff.changes == ()
    server.script(Stream("Done again."))
    await lens.write_again()
    assert lens.look is None
    assert lens.again is None
    await until(lambda: len(lens.desk.shape.tree.siblings(part.id)) == 2 and not lens.desk.running)
    assert server.completions[-1].body == body


async def test_a_part_written_by_hand_cannot_be_written_once_more(lens: Lens) -> None:
    await lens.look_at(lens.desk.shape.branch[-1])
    await lens.prepare(as_it_was=True)
    assert lens.again is not None
    assert not lens.again.ready
    assert "written by hand" in lens.again.shown.text
    await lens.write_again()
    assert lens.look is not None


async def test_a_part_written_by_hand_has_nothing_to_compare(lens: Lens) -> None:
    await lens.compare_with(f"part:{lens.desk.shape.branch[0]}")
    assert lens.comparison is None  # it is none of those that are offered
    await lens.compare_with(f"part:{lens.desk.shape.branch[-1]}")
    assert lens.comparison is not None
    assert "written by hand" in lens.comparison.text


async def test_what_can_be_compared_with_has_other_branches_and_settings(lens: Lens) -> None:
    studio, branch = lens.desk.studio, lens.desk.shape.branch
    studio.story.go_to(studio.story.fork(branch[9]))
    await until(lambda: len(lens.desk.shape.branch) == 10)
    end = next(each for each in lens.choices() if each.name == "the branch that ends in part 20")
    await lens.compare_with(end.key)  # neither of them was written by a model
    await until(lambda: "part 20" in sources(lens))  # the prompt of the new branch may be on its way
    long = studio.protocols.create(name="Long", max_tokens=3000)
    await lens.desk.refresh_library()
    await lens.compare_with(f"protocol:{long.id}")
    await until(lambda: notes(lens) == ("The context is 2,000 tokens instead of 3,000.",))
    assert lens.comparison is not None
    assert lens.comparison.title == "Compared with the protocol Long"
    await lens.try_out(WhatIf(context=2500))
    await lens.compare_with("try")
    await until(lambda: notes(lens) == ("The context is 2,000 tokens instead of 2,500.",))
    await lens.try_out(WhatIf())
    await until(lambda: lens.comparison is None)
    await lens.compare_with("double")
    await until(lambda: notes(lens) == ("The context is 2,000 tokens instead of 4,000.",))
    await lens.compare_with("stable")
    await until(lambda: lens.comparison is not None and lens.comparison.title.endswith("the other layout"))


async def test_the_rungs_mark_where_one_is(lens: Lens) -> None:
    await lens.climb()
    rows = rung_rows(lens.rungs, 8192)
    assert [row["label"] for row in rows] == ["4k", "8k", "16k", "32k", "128k"]
    assert [row["here"] for row in rows] == [False, True, False, False, False]
    assert rows[-1]["text"] == "20 of 20 parts"


async def test_what_more_room_would_not_bring_in_is_said_without_a_number(lens: Lens) -> None:
    await lens.try_out(WhatIf(parts=3))
    assert lens.trial is not None
    assert {(each.needs, each.reason) for each in lens.trial.left.first} == {(0, "at most 3 were asked for")}
    await lens.try_out(WhatIf(stable=True))
    blocks = [each for each in lens.trial.left.first if "leave in blocks" in each.reason]
    assert {each.needs for each in blocks} <= {0}


async def test_all_that_was_left_out_is_counted_although_only_the_first_of_it_is_named(
    lens: Lens, server: ScriptedServer
) -> None:
    for _ in range(80):
        lens.desk.studio.story.append(lens.desk.book, "word " * 60)
    await until(lambda: lens.left.parts > 80)
    prompt = lens.desk.prompt
    assert lens.left.parts == 100 - prompt.budget.sent_parts == len(lens.left.first) + lens.left.more
    assert lens.left.text == f"{lens.left.parts} parts"
    part = await write(lens, server)
    receipt = lens.desk.studio.story.receipt(part.id)
    then = left_out_then(receipt)
    assert (then.parts, then.entries, len(then.first)) == (receipt.left_out, 0, 20)
    assert then.text == f"{receipt.left_out} parts"


async def test_a_what_if_that_was_kept_is_taken_back(lens: Lens) -> None:
    studio, book = lens.desk.studio, lens.desk.book
    before = (studio.books.get(book.id).settings, studio.protocols.all())
    for fresh in ("", "P, tried out"):
        await lens.try_out(WhatIf(context=3000, parts=3, lore_tokens=9))
        await lens.apply(new_protocol=fresh)
        assert lens.kept is not None
        kept = studio.books.get(book.id)
        assert (kept.settings["most_parts"], studio.limits(book).context) == (3, 3000)
        studio.books.save(replace(kept, settings={**kept.settings, "mine": 1}))
        await lens.take_back()
        assert lens.kept is None
        after = studio.books.get(book.id)
        assert {name: value for name, value in after.settings.items() if name != "mine"} == before[0]
        assert after.settings["mine"] == 1
        assert (after.protocol_id, studio.protocols.all()) == (book.protocol_id, before[1])


async def test_the_rungs_follow_what_is_tried_out_and_what_is_typed(lens: Lens) -> None:
    await lens.climb()
    assert {rung.sent_parts for rung in lens.rungs} == {20}
    await lens.try_out(WhatIf(parts=4))
    await until(lambda: {rung.sent_parts for rung in lens.rungs} == {4})
    await lens.try_out(WhatIf())
    await until(lambda: {rung.sent_parts for rung in lens.rungs} == {20})
    used = lens.rungs[0].budget.used
    lens.desk.typed({"instructions": "word " * 40})
    await until(lambda: lens.rungs[0].budget.used > used + 30)


async def test_an_older_prompt_is_compared_from_then_to_now(lens: Lens, server: ScriptedServer) -> None:
    first, second = await write(lens, server), await write(lens, server)
    await lens.look_at(first.id)
    for key, title in (("now", "what would be sent now"), (f"part:{second.id}", "part 22")):
        await lens.compare_with(key)
        assert lens.comparison is not None
        assert lens.comparison.title == f"From part 21 to {title}"
        assert lens.comparison.diff is not None
        causes = {change.source: change.cause for change in lens.comparison.diff.changes}
        assert causes["part 21"] == "it was written since"
    await lens.now()
    assert lens.against == f"part:{second.id}"
    assert lens.comparison.title == "Compared with part 22"


async def test_while_nothing_can_be_sent_nothing_is_shown_copied_or_compared(lens: Lens) -> None:
    assert lens.shown is not None
    studio, book = lens.desk.studio, lens.desk.book
    studio.inspector.apply(book, WhatIf(context=230))
    await until(lambda: bool(lens.desk.unsendable) and lens.beginning is None)
    assert lens.shown is None
    assert lens.left.first == ()
    assert await lens.export("text") == ""
    studio.inspector.apply(book, WhatIf(context=2000))
    await until(lambda: lens.shown is not None and lens.beginning is not None)


async def test_a_prompt_has_as_many_tokens_everywhere(lens: Lens, server: ScriptedServer) -> None:
    view = PromptView(lens.desk, lens)
    assert lens.beginning is not None
    total = lens.beginning.total
    assert f"{total:,} tokens" in view._top(view._rows())
    part = await write(lens, server)
    await lens.look_at(part.id)
    receipt = lens.look.receipt
    assert (receipt.prompt_tokens, receipt.extra["cache"]["of"]) == (total, total)
    assert f"{total:,} tokens" in view._top(view._rows())
