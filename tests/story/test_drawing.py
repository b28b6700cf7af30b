"""The picture of all branches."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.errors import NotFound
from marginalia.story.drawing import draw
from marginalia.story.tree import StoryTree
from marginalia.values import PartId
from tests.story.test_tree import node, parents

NO_FOLDS = 1_000_000


def placed(tree: StoryTree, **more: object) -> list[tuple[str, tuple[int, ...], int, int]]:
    return [(mark.kind, mark.parts, mark.lane, mark.row) for mark in draw(tree, **more).marks]  # type: ignore[arg-type]


def test_the_branch_that_is_read_stands_straight_and_others_leave_to_the_right() -> None:
    tree = StoryTree([node(1), node(2, 1, 1), node(3, 1, 2), node(4, 2, 3), node(5, 3, 4)])
    assert placed(tree, active=PartId(4)) == [
        ("part", (1,), 0, 0),
        ("part", (2,), 0, 1),
        ("part", (4,), 0, 2),
        ("part", (3,), 1, 1),
        ("part", (5,), 1, 2),
    ]
    drawing = draw(tree, active=PartId(4))
    assert (drawing.lanes, drawing.rows) == (2, 3)
    assert [mark.parts[0] for mark in drawing.marks if mark.active] == [1, 2, 4]
    assert [mark.parts[0] for mark in drawing.marks if mark.here] == [4]
    assert [mark.parent for mark in drawing.marks] == [None, 0, 1, 0, 3]


def test_without_a_reader_the_newest_line_is_straight() -> None:
    tree = StoryTree([node(1), node(2, 1, 1), node(3, 1, 2)])
    assert placed(tree) == [("part", (1,), 0, 0), ("part", (3,), 0, 1), ("part", (2,), 1, 1)]


def chain(length: int, **marks: object) -> StoryTree:
    return StoryTree(node(i, i - 1 or None, i, **(marks if i == 4 else {})) for i in range(1, length + 1))


def test_long_runs_are_folded_until_they_are_opened() -> None:
    assert placed(chain(9), active=PartId(9)) == [("run", tuple(range(1, 9)), 0, 0), ("part", (9,), 0, 1)]
    assert len(placed(chain(9), active=PartId(9), opened={PartId(1)})) == 9
    assert len(placed(chain(6), active=PartId(6))) == 6


def test_a_label_or_bookmark_is_never_folded_away() -> None:
    for marks in ({"label": "the ford"}, {"bookmarked": True}):
        drawing = draw(chain(9, **marks), active=PartId(9), fold_from=3)
        assert [mark.parts for mark in drawing.marks] == [(1, 2, 3), (4,), (5, 6, 7, 8), (9,)]
        assert (drawing.marks[1].label or "the ford", drawing.marks[1].bookmarked or True) == (
            "the ford",
            True,
        )


def test_swipes_that_nothing_follows_are_stacked_until_they_are_opened() -> None:
    tree = StoryTree([node(1), *(node(i, 1, i) for i in range(2, 7)), node(7, 3, 9)])
    assert placed(tree, active=PartId(2)) == [
        ("part", (1,), 0, 0),
        ("part", (2,), 0, 1),
        ("part", (3,), 1, 1),
        ("part", (7,), 1, 2),
        ("stack", (4, 5, 6), 2, 1),
    ]
    assert len(placed(tree, active=PartId(2), opened={PartId(4)})) == 7


def test_a_lane_is_used_again_below_the_end_of_a_line() -> None:
    tree = StoryTree([node(1), node(2, 1), node(3, 2), node(4, 3), node(9, 1, 50), node(8, 3, 60)])
    lanes = {mark.parts[0]: mark.lane for mark in draw(tree, active=PartId(4)).marks}
    assert (lanes[PartId(9)], lanes[PartId(8)]) == (1, 1)


def test_hoisting_shows_what_is_below_a_part() -> None:
    tree = StoryTree([node(1), node(2, 1), node(3, 2), node(4, 1, 9)])
    assert [mark.parts for mark in draw(tree, active=PartId(3), root=PartId(2)).marks] == [(2,), (3,)]
    assert draw(StoryTree()).marks == ()
    with pytest.raises(NotFound):
        draw(tree, root=PartId(9))


def test_a_part_is_found_in_the_mark_that_shows_it() -> None:
    drawing = draw(chain(9), active=PartId(9))
    assert drawing.find(PartId(5)) == drawing.marks[0]
    assert drawing.find(PartId(99)) is None


@given(parents, st.integers(2, 6), st.integers(0, 29))
def test_every_part_is_drawn_once_below_what_it_follows_and_no_two_marks_share_a_place(
    choices: list[int], fold_from: int, reader: int
) -> None:
    nodes = [node(i + 1, choice % (i + 1) or None, after=choice % 3) for i, choice in enumerate(choices)]
    tree, active = StoryTree(nodes), PartId(reader % len(nodes) + 1)
    drawing = draw(tree, active=active, fold_from=fold_from)
    shown = [part for mark in drawing.marks for part in mark.parts]
    assert sorted(shown) == sorted(tree.nodes())
    assert len({(mark.lane, mark.row) for mark in drawing.marks}) == len(drawing.marks)
    for mark in drawing.marks:
        if mark.parent is None:
            assert mark.row == 0
            continue
        above = drawing.marks[mark.parent]
        assert (mark.row, mark.lane >= above.lane) == (above.row + 1, True)
        assert tree[mark.parts[0]].parent_id == above.parts[-1]
        if mark.kind == "run":
            assert all(tree[lower].parent_id == upper for upper, lower in pairwise(mark.parts))
    assert all(mark.lane == 0 for mark in drawing.marks if mark.active)


def test_ten_thousand_parts_are_drawn_at_once() -> None:
    line = [node(i, i - 1 or None, i) for i in range(1, 5_001)]
    swipes = [node(5_000 + i, i, 5_000 + i) for i in range(1, 5_001)]
    tree = StoryTree([*line, *swipes])
    tree.children(None)
    began = time.process_time()
    drawing = draw(tree, active=PartId(5_000), fold_from=NO_FOLDS)
    assert time.process_time() - began < 1.0
    assert len(drawing.marks) == 10_000
