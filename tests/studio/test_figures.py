"""The figures of a budget are the figures of what is sent, whatever the book; and a preview is what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginalia as mg
from marginalia.lore.book import Insertion
from marginalia.prompt.segment import SegmentKind
from marginalia.prompt.segments import PartFate
from marginalia.prompt.stages import MESSAGE_TOKENS, Insert, Passage
from marginalia.testing import ScriptedServer, Stream, WordTokenizer

words = st.integers(0, 60).map(lambda number: "word " * number)
places = st.sampled_from([Insertion.LORE_BLOCK, Insertion.BEFORE_USER_PROMPT, Insertion.DEPTH])
entries = st.lists(st.tuples(words, places, st.sampled_from(["bell", "sea", "none"])), max_size=5)
inserts = st.lists(st.tuples(words, st.integers(0, 3)), max_size=2)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=Stream("Done.")) as server:
        yield server


@dataclass(frozen=True)
class Case:
    parts: list[str]
    lore: list[tuple[str, Insertion, str]]
    notes: list[tuple[str, int]]
    context: int
    wish: mg.WhatIf


cases = st.builds(
    Case,
    parts=st.lists(words, max_size=9),
    lore=entries,
    notes=inserts,
    context=st.integers(900, 4000),
    wish=st.builds(mg.WhatIf, stable=st.booleans(), parts=st.integers(0, 4), lore_share=st.integers(0, 5)),
)


def book_of(studio: mg.Studio, server: ScriptedServer, case: Case) -> mg.Book:
    provider = studio.providers.create(
        name="Stub", base_url=server.base_url, model="m", max_context=case.context, max_response=100,
        needs_jailbreak=True, jailbreak="Write well.",
    )  # fmt: skip
    world = studio.lorebooks.create(name="World")
    for number, (payload, place, key) in enumerate(case.lore):
        studio.lorebooks.add_entry(
            world, name=f"Entry {number}", payload=payload, insertion=place, filter=mg.TextFilter(key)
        )
    book = studio.books.create(
        name="B", provider=provider, protocol=studio.protocols.create(name="P"), lorebook=world
    )
    for text in case.parts:
        studio.story.append(book, text)
    return studio.books.get(book.id)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases)
async def test_the_figures_add_up_to_what_is_sent_and_the_preview_is_what_follows(
    server: ScriptedServer, case: Case
) -> None:
    async with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=()) as studio:
        book = book_of(studio, server, case)
        studio.inspector.apply(book, case.wish)

        def note(_run: mg.Run, event: mg.events.BeforePrepareContent) -> mg.events.BeforePrepareContent:
            more = tuple(Insert(text=text, owner="notes", depth=depth) for text, depth in case.notes)
            return replace(event, inserts=(*event.inserts, *more))

        def last_word(_run: mg.Run, event: mg.events.AfterPreparePayload) -> mg.events.AfterPreparePayload:
            *others, last = event.messages
            return replace(event, messages=(*others, replace(last, content=last.content + "\nBe brief.")))

        studio.on(mg.events.BeforePrepareContent, note, owner="notes")
        closing = studio.on(mg.events.AfterPreparePayload, last_word, owner="brief")
        turn = mg.Turn(instructions="Ring the bell by the sea.")
        try:
            prompt = await studio.preview(book, turn)
        except mg.ContextTooSmall:
            return
        outcome = await studio.generate(book, turn).settled()
        assert outcome.part is not None, outcome.error
        body = server.completions[-1].body
        assert body is not None
        sent = [(each["role"], each["content"]) for each in body["messages"]]
        assert sent == [(each.role, each.content) for each in prompt.messages]
        check_figures(prompt)
        receipt = studio.story.receipt(outcome.part)
        assert receipt is not None
        assert receipt.shares == tuple(share for share in prompt.budget.shares if share.tokens > 0)
        closing.close()
        check_figures(await studio.what_if(book, turn))


def tail(text: str) -> str:
    return f"{text} and some more words"


def longer(passage: Passage) -> Passage:
    return replace(passage, text=tail(passage.text))


LATE = {
    "user_prompt": (mg.events.BeforePrepareContent, lambda e: replace(e, user_prompt=tail(e.user_prompt))),
    "lore": (
        mg.events.AfterProcessLorebook,
        lambda e: replace(e, lore=replace(e.lore, background=tail(e.lore.background or ""))),
    ),
    "made up": (
        mg.events.AfterManuscriptConcatenation,
        lambda e: replace(e, chronicle=(*e.chronicle, Passage(text="Nobody wrote this."))),
    ),
    "shorter": (mg.events.AfterManuscriptConcatenation, lambda e: replace(e, chronicle=e.chronicle[1:])),
    "longer": (
        mg.events.AfterManuscriptConcatenation,
        lambda e: replace(e, chronicle=tuple(longer(each) for each in e.chronicle)),
    ),
    "system": (mg.events.AfterPrepareContent, lambda e: replace(e, system_prompt=tail(e.system_prompt))),
    "more": (
        mg.events.AfterPreparePayload,
        lambda e: replace(e, messages=(*e.messages, mg.Message(role="user", content="Be brief."))),
    ),
    "fewer": (mg.events.AfterPreparePayload, lambda e: replace(e, messages=e.messages[:1] + e.messages[-1:])),
}


@pytest.mark.parametrize("request_kind", [None, mg.Swipe, mg.Regenerate])
@pytest.mark.parametrize("changes", [*((name,) for name in LATE), tuple(LATE)[:-1]])
async def test_the_figures_add_up_whatever_listeners_change(
    server: ScriptedServer, changes: tuple[str, ...], request_kind: type | None
) -> None:
    async with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=()) as studio:
        lore = [
            ("word " * 9, Insertion.LORE_BLOCK, "bell"),
            ("word " * 5, Insertion.BEFORE_USER_PROMPT, "bell"),
        ]
        case = Case(parts=["word " * 30] * 6, lore=lore, notes=[], context=1400, wish=mg.WhatIf())
        book = book_of(studio, server, case)
        for name in changes:
            kind, change = LATE[name]
            studio.on(kind, lambda _, event, change=change: change(event), owner=name)
        request = request_kind(studio.story.branch(book)[-1]) if request_kind is not None else None
        turn = mg.Turn(instructions="Ring the bell.")
        prompt = await studio.preview(book, turn, request=request)
        pieces: dict[SegmentKind, int] = {}
        for each in prompt.segments:
            pieces[each.kind] = pieces.get(each.kind, 0) + each.tokens
        check_sums(prompt, pieces)
        outcome = await studio.generate(book, turn, request=request).settled()
        assert outcome.part is not None, outcome.error
        receipt = studio.story.receipt(outcome.part)
        assert receipt is not None
        assert receipt.messages == prompt.messages
        assert receipt.shares == tuple(share for share in prompt.budget.shares if share.tokens > 0)


def check_figures(prompt: mg.Prompt) -> None:
    """What the budget says of each kind is what the pieces of the messages come to."""
    budget = prompt.budget
    assert sum(share.tokens for share in budget.shares) == max(
        budget.limits.context, budget.used + budget.limits.response
    )
    if not budget.foreign:
        assert budget.used + budget.limits.response <= budget.limits.context
    pieces: dict[SegmentKind, int] = {}
    for segment in prompt.segments:
        text = prompt.messages[segment.message].content[segment.start : segment.end]
        assert segment.tokens == WordTokenizer().count(text) or segment.kind is SegmentKind.STORY
        pieces[segment.kind] = pieces.get(segment.kind, 0) + segment.tokens
    costs = budget.costs
    assert pieces.get(SegmentKind.STORY, 0) == budget.story
    assert pieces.get(SegmentKind.LORE, 0) == costs.lore
    assert pieces.get(SegmentKind.USER_LORE, 0) == costs.user_lore
    assert pieces.get(SegmentKind.REQUEST, 0) == costs.request
    assert pieces.get(SegmentKind.FOREIGN, 0) == budget.foreign
    assert pieces.get(SegmentKind.JAILBREAK, 0) == costs.jailbreak
    check_sums(prompt, pieces)
    sent = [each for each in prompt.history if each.fate is PartFate.SENT]
    assert (len(sent), sum(each.tokens for each in sent)) == (budget.sent_parts, budget.story)
    assert budget.placeholders == len(sent) * MESSAGE_TOKENS


def check_sums(prompt: mg.Prompt, pieces: Mapping[SegmentKind, int]) -> None:
    """Everything that stands in a message is counted in one share."""
    budget, costs = prompt.budget, prompt.budget.costs
    shares = costs.system + costs.jailbreak + costs.user_lore + costs.request + budget.story + budget.foreign
    notes = sum(each.kind is SegmentKind.INSERT for each in prompt.segments) * MESSAGE_TOKENS
    shares += costs.inserts - notes + pieces.get(SegmentKind.PLACEHOLDER, 0)
    words = sum(WordTokenizer().count(message.content) for message in prompt.messages)
    assert shares == words
