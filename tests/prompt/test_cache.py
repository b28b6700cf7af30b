"""How far a prompt begins like the last one, and what is first different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from marginalia.prompt.budget import Budget
from marginalia.prompt.cache import FRAME_TOKENS, reported, same_beginning
from marginalia.prompt.layout import in_blocks
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.segment import Segment, SegmentKind
from marginalia.prompt.stages import Passage
from marginalia.story.node import Node
from marginalia.story.tree import StoryTree
from marginalia.story.weighed import WeighedTree
from marginalia.testing import WordTokenizer
from marginalia.values import Limits, Message, PartId, Usage

count = WordTokenizer().count


def sent(*texts: str) -> Receipt:
    """A receipt with one part of a story per text, the last one a request."""
    last = len(texts) - 1
    return Receipt(
        run_id="r",
        request="new",
        messages=tuple(Message(role="user", content=text) for text in texts),
        segments=tuple(
            Segment(
                kind=SegmentKind.REQUEST if at == last else SegmentKind.STORY, message=at, start=0, end=len(text),
                tokens=count(text), source="request" if at == last else f"part {at + 1}",
                source_id=None if at == last else at,
            )
            for at, text in enumerate(texts)
        ),
    )  # fmt: skip


def test_a_prompt_that_is_sent_again_is_all_the_same() -> None:
    found = same_beginning(sent("one two", "go on"), sent("one two", "go on"), count)
    assert (found.tokens, found.total, found.share, found.cause) == (12, 12, 1.0, "")


def test_the_first_prompt_of_a_server_has_nothing_in_common() -> None:
    found = same_beginning(None, sent("one two", "go on"), count)
    assert (found.tokens, found.total, found.cause) == (0, 12, "")
    assert found.text == "Nothing of it begins like the last prompt this server was sent."


def test_the_first_difference_is_named() -> None:
    found = same_beginning(sent("one two", "go on"), sent("one two", "three four", "go on"), count)
    assert (found.tokens, found.message, found.offset) == (2 + FRAME_TOKENS, 1, 0)
    assert found.cause == "part 2: it was written since"
    assert found.text == (
        "Same beginning as last time: 33% (6 of 18 tokens). First difference: part 2: it was written since."
    )


def test_a_message_that_differs_in_its_middle_counts_up_to_there() -> None:
    found = same_beginning(sent("one two three"), sent("one two four"), count)
    assert (found.offset, found.tokens) == (len("one two "), 2 + FRAME_TOKENS)


texts = st.lists(st.text(alphabet="ab ", max_size=12), min_size=1, max_size=6)


@given(texts, texts)
def test_what_is_said_to_be_the_same_is_the_same(before: list[str], after: list[str]) -> None:
    found = same_beginning(sent(*before), sent(*after), count)
    assert before[: found.message] == after[: found.message]
    assert 0 <= found.tokens <= found.total
    if found.offset:
        assert before[found.message][: found.offset] == after[found.message][: found.offset]
    if min(len(before), len(after)) > found.message:
        old, new = before[found.message], after[found.message]
        assert old[found.offset : found.offset + 1] != new[found.offset : found.offset + 1]


def paragraph(name: str) -> str:
    """About three hundred characters that begin and end with *name*."""
    return " ".join(f"{name}{number}" for number in range(80))


def test_what_only_moved_is_kept_where_the_server_keeps_it() -> None:
    first, second, third = map(paragraph, "abc")
    before, now = sent("system", first, second, third, "go on"), sent("system", second, third, "new", "go on")
    plain = same_beginning(before, now, count)
    assert (plain.tokens, plain.moved) == (1 + FRAME_TOKENS, 0)
    found = same_beginning(before, now, count, keeps_what_moved=True)
    assert found.tokens == plain.tokens
    assert found.moved == 2 * (80 + FRAME_TOKENS)
    assert found.note["predicted"] == found.kept == found.tokens + found.moved
    assert found.text.endswith("Another 168 tokens only moved, and this server keeps them.")


def test_a_new_piece_ends_what_is_kept() -> None:
    """llama.cpp goes through the new prompt in one go: what is found again behind something new is read anew."""
    first, second, third = map(paragraph, "abc")
    before = sent("system", first, second, third, "go on")
    now = sent("system", second, "something new", third, "go on")
    assert same_beginning(before, now, count, keeps_what_moved=True).moved == 80 + FRAME_TOKENS


def test_short_pieces_are_read_anew() -> None:
    found = same_beginning(
        sent("system", "a b", "c d", "e f"), sent("system", "c d", "e f"), count, keeps_what_moved=True
    )
    assert found.moved == 0


moving = st.lists(st.sampled_from([paragraph(name) for name in "abcde"] + ["x", ""]), min_size=1, max_size=6)


@given(moving, moving)
def test_no_more_is_kept_than_there_is(before: list[str], after: list[str]) -> None:
    found = same_beginning(sent(*before), sent(*after), count, keeps_what_moved=True)
    assert 0 <= found.tokens <= found.kept <= found.total
    assert same_beginning(sent(*before), sent(*before), count, keeps_what_moved=True).kept == (
        same_beginning(sent(*before), sent(*before), count).total
    )


def test_what_was_predicted_stands_beside_what_the_server_says() -> None:
    extra = {"cache": {"predicted": 900, "of": 1200, "cause": "x"}}
    assert reported(Usage(prompt_tokens=1210, cached_tokens=905), extra) == (
        "The server took 905 of 1,210 tokens from its cache; predicted were 900 of 1,200."
    )
    assert reported(None, extra) == "Predicted from cache: 900 of 1,200 tokens."
    assert reported(Usage(prompt_tokens=1210)) == ""


def test_a_better_estimate_of_the_parts_does_not_move_the_border_of_a_block() -> None:
    nodes = [
        Node(id=PartId(at), parent_id=PartId(at - 1) if at > 1 else None, tokens=60) for at in range(1, 41)
    ]
    tree = StoryTree(nodes)
    branch = tree.branch(PartId(40))
    chronicle = [Passage(text="word", part=part) for part in branch[14:]]
    budget = Budget(limits=Limits(context=4600, response=100), sent_parts=26, needed=(1, 0))
    first = {
        in_blocks(chronicle, budget, each, branch, None)[0][0].part
        for each in (
            tree,
            *(WeighedTree(tree, lambda node, by=by: node.tokens * by // 20) for by in range(18, 23)),
        )
    }
    assert len(first) == 1
