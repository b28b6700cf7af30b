"""Which stretch a summary stands for, and whether it still does (spec/semantics.md, B1 58 to 68)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha512

import pytest

from marginalia.story.parts import Summary
from marginalia.story.summaries import Verifier, collect_blocks, hash_of, merge_range, summaries_on
from marginalia.story.tree import StoryTree
from marginalia.values import PartId, SummaryId
from tests.story.test_tree import node

BRANCH = tuple(PartId(number) for number in range(1, 9))
TEXTS = {part: f"Text {part}." for part in BRANCH}


def plain(part: int, text: str = "", source: str = "h") -> Summary:
    return Summary(id=SummaryId(part), part_id=PartId(part), text=text or f"s{part}", source_hash=source)


def meta(part: int, oldest: int, replaced: Summary, source: str = "h") -> Summary:
    return replace(plain(part, f"m{part}", source), oldest_id=PartId(oldest), replaced=replaced)


def on(*summaries: Summary) -> dict[PartId, Summary]:
    return {each.part_id: each for each in summaries}


def shown(blocks: Sequence[object]) -> list[tuple[str, tuple[int, ...]]]:
    return [(block.summary.text, block.parts) for block in blocks]  # type: ignore[attr-defined]


def sha(*texts: str) -> str:
    return sha512("".join(texts).encode()).hexdigest()


def test_a_summary_stands_for_its_part_and_those_before_it_down_to_the_next() -> None:
    assert shown(collect_blocks(BRANCH, on(plain(2), plain(5)))) == [("s5", (5, 4, 3)), ("s2", (2, 1))]
    assert collect_blocks(BRANCH, {}) == ()
    assert collect_blocks((), on(plain(2))) == ()


def test_a_meta_summary_stands_for_what_it_merged_and_can_be_nested() -> None:
    inner = meta(5, 3, plain(5))
    assert shown(collect_blocks(BRANCH, on(plain(1), plain(3), inner))) == [
        ("m5", (5, 4, 3, 2)),
        ("s1", (1,)),
    ]
    outer = meta(7, 5, plain(7))
    assert shown(collect_blocks(BRANCH, on(plain(1), plain(3), inner, outer))) == [
        ("m7", (7, 6, 5, 4, 3, 2)),
        ("s1", (1,)),
    ]


def test_a_meta_summary_whose_end_is_gone_is_a_plain_stretch() -> None:
    assert shown(collect_blocks(BRANCH, on(plain(3), meta(5, 4, plain(5))))) == [
        ("m5", (5, 4)),
        ("s3", (3, 2, 1)),
    ]


def test_hashes_run_over_the_texts_newest_first_and_inside_a_meta_summary_over_the_summaries_too() -> None:
    parts, summaries = BRANCH[2:5][::-1], on(plain(3), plain(5))
    assert hash_of(parts, summaries, TEXTS, meta=False) == sha("Text 5.", "Text 4.", "Text 3.")
    assert hash_of(parts, summaries, TEXTS, meta=True) == sha("Text 5.", "Text 4.", "Text 3.", "s3")
    assert hash_of((PartId(99),), {}, TEXTS, meta=False) == sha("")


@pytest.mark.parametrize(
    ("newest", "oldest", "merged"),
    [
        (7, 3, ["s7", "s5", "s3"]),
        (5, 3, ["s5", "s3"]),
        (7, 7, []),
        (3, 7, []),
        (7, 4, []),
        (6, 3, []),
        (99, 3, []),
    ],
)
def test_a_merge_needs_a_summary_at_both_ends_and_two_blocks(
    newest: int, oldest: int, merged: list[str]
) -> None:
    blocks = merge_range(BRANCH, on(plain(3), plain(5), plain(7)), PartId(newest), PartId(oldest))
    assert [text for text, _ in shown(blocks)] == merged


def test_a_merge_is_widened_to_whole_blocks() -> None:
    summaries = on(plain(2), plain(3), meta(5, 3, plain(5)), plain(7))
    blocks = merge_range(BRANCH, summaries, PartId(7), PartId(3))
    assert shown(blocks) == [("s7", (7, 6)), ("m5", (5, 4, 3))]


class Reader:
    """Texts, and how often they were asked for."""

    def __init__(self, texts: Mapping[PartId, str]) -> None:
        self.texts, self.asked = texts, 0

    def __call__(self, parts: Sequence[PartId]) -> Mapping[PartId, str]:
        self.asked += 1
        return {part: self.texts[part] for part in parts}


def tree_with(*summaries: Summary, version: int = 1) -> StoryTree:
    ids = {each.part_id: each.id for each in summaries}
    return StoryTree(
        node(n, n - 1 or None, n, summary_id=ids.get(PartId(n)), text_id=100 * version + n) for n in BRANCH
    )


def test_outdated_summaries_are_dropped_from_the_newest_on_and_meta_summaries_give_back_what_they_replaced() -> (
    None
):
    two, four = plain(2, source=sha("Text 2.", "Text 1.")), plain(4, source=sha("Text 4.", "Text 3."))
    merged = meta(4, 2, four, source=sha("Text 4.", "Text 3.", "Text 2.", "s2", "Text 1."))
    summaries = {two.id: two, merged.id: merged}
    tree = tree_with(two, merged)
    assert [b.summary for b in Verifier().chain(tree, BRANCH, summaries, Reader(TEXTS)).blocks] == [merged]
    edited = Reader({**TEXTS, PartId(1): "Other."})
    chain = Verifier().chain(tree, BRANCH, summaries, edited)
    assert ([b.summary for b in chain.blocks], chain.dropped) == ([], (merged, two, four))
    assert (chain.stop, chain.dropped_parts) == (None, (4, 2))
    edited = Reader({**TEXTS, PartId(3): "Other."})
    chain = Verifier().chain(tree, BRANCH, summaries, edited)
    assert ([b.summary for b in chain.blocks], chain.dropped) == ([two], (merged, four))
    assert chain.stop == PartId(2)


def test_a_stretch_that_did_not_change_is_not_read_again() -> None:
    two, reader, verifier = plain(2, source=sha("Text 2.", "Text 1.")), Reader(TEXTS), Verifier()
    for tree in (tree_with(two), tree_with(two)):
        assert verifier.chain(tree, BRANCH, {two.id: two}, reader).stop == 2
    assert reader.asked == 1
    verifier.chain(tree_with(two, version=2), BRANCH, {two.id: two}, reader)
    assert reader.asked == 2


def test_a_summary_that_is_not_in_use_is_not_on_its_part() -> None:
    assert summaries_on(tree_with(plain(2)), BRANCH, {}) == {}
