from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.errors import NotFound
from marginalia.story.columns import BLANK, BOOKMARKED, PARTIAL, Columns
from marginalia.story.tree import Node, StoryTree
from marginalia.values import EPOCH, PartId

START = datetime(2027, 1, 1, tzinfo=UTC)


def node(number: int, parent: int | None = None, after: int = 0, **more: object) -> Node:
    created = START + timedelta(seconds=after)
    return Node(
        id=PartId(number), parent_id=None if parent is None else PartId(parent), created=created, **more
    )  # type: ignore[arg-type]


def packed(nodes: Iterable[Node]) -> StoryTree:
    """The tree of *nodes* as the store reads it: rows, of which none is a node yet."""
    rows = sorted(nodes, key=lambda each: each.id)

    def column(value: Callable[[Node], int | None]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([value(each) or 0 for each in rows], dtype=np.int64)

    return StoryTree(
        columns=Columns(
            ids=column(lambda each: each.id),
            parents=column(lambda each: each.parent_id),
            tokens=column(lambda each: each.tokens),
            words=column(lambda each: each.words),
            flags=column(
                lambda each: BLANK * each.blank + PARTIAL * each.partial + BOOKMARKED * each.bookmarked
            ),
            summaries=column(lambda each: each.summary_id),
            texts=column(lambda each: each.text_id),
            created=column(lambda each: (each.created - EPOCH) // timedelta(microseconds=1)),
            labels={each.id: each.label for each in rows if each.label},
        )
    )


def test_siblings_are_ordered_by_creation_then_id() -> None:
    tree = StoryTree([node(1), node(4, 1, 5), node(3, 1, 5), node(2, 1, 9)])
    assert tree.children(PartId(1)) == (3, 4, 2)
    assert tree.siblings(PartId(4)) == (3, 4, 2)


def test_the_deepest_follows_the_newest_child() -> None:
    tree = StoryTree([node(1), node(2, 1, 1), node(3, 1, 2), node(4, 3, 3), node(5, 2, 9)])
    assert tree.deepest(PartId(1)) == 4


def test_a_branch_ends_where_an_ancestor_is_missing() -> None:
    tree = StoryTree([node(2, 1), node(3, 2)])
    assert tree.branch(PartId(3)) == (2, 3)
    assert tree.branch(None) == ()


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(NotFound, match="no part 9"):
        StoryTree().branch(PartId(9))


parents = st.lists(st.integers(min_value=0, max_value=30), min_size=1, max_size=30)


@given(parents, st.randoms())
def test_growing_a_tree_step_by_step_gives_the_same_tree_as_making_it_at_once(
    choices: list[int], dice: object
) -> None:
    nodes = [node(i + 1, choice % i + 1 if i else None, after=choice % 3) for i, choice in enumerate(choices)]
    grown = StoryTree()
    for each in nodes:
        grown.children(None)  # so that what is known has to be taken over
        if each.parent_id is not None:
            grown.branch(each.parent_id)
        grown = grown.with_nodes(each)
    made = StoryTree(nodes)
    for each in nodes:
        assert grown.children(each.id) == made.children(each.id)
        assert grown.branch(each.id) == made.branch(each.id)
        assert grown.deepest(each.id) == made.deepest(each.id)


def test_a_part_that_moves_takes_its_branch_along() -> None:
    tree = StoryTree([node(1), node(2, 1), node(3, 2), node(4, 1, 1)])
    assert tree.branch(PartId(3)) == (1, 2, 3)
    moved = tree.with_nodes(node(2, 4))
    assert moved.branch(PartId(3)) == (1, 4, 2, 3)
    assert moved.children(PartId(1)) == (4,)
    assert tree.branch(PartId(3)) == (1, 2, 3)


def test_a_tree_without_a_part_is_as_one_that_never_had_it() -> None:
    tree = StoryTree([node(1), node(2, 1), node(3, 2), node(4, 2, 1)])
    tree.children(None)
    for leaf in (3, 4):
        tree.branch(PartId(leaf))
    less = tree.without(PartId(4))
    assert (less.children(PartId(2)), less.branch(PartId(3))) == ((3,), (1, 2, 3))
    assert PartId(4) not in less
    moved = less.with_nodes(node(3, 1)).without(PartId(2))
    assert (moved.children(PartId(1)), moved.branch(PartId(3))) == ((3,), (1, 3))
    assert (tree.children(PartId(2)), tree.branch(PartId(4))) == ((3, 4), (1, 2, 4))


@given(parents, st.data())
def test_changing_a_tree_step_by_step_gives_the_same_tree_as_making_it_at_once(
    choices: list[int], data: st.DataObject
) -> None:
    nodes = [node(i + 1, choice % (i + 1) or None, after=choice % 3) for i, choice in enumerate(choices)]
    tree = data.draw(st.sampled_from([StoryTree, packed]))(nodes)
    for _ in range(data.draw(st.integers(1, 5))):
        numbers = list(tree.nodes())
        tree.children(None)
        tree.branch(data.draw(st.sampled_from(numbers)))
        part, place = data.draw(st.sampled_from(numbers)), data.draw(st.sampled_from(numbers))
        if part not in tree.branch(place):
            tree = tree.with_nodes(replace(tree[part], parent_id=place))
        elif not tree.children(part) and len(tree) > 1:
            tree = tree.without(part)
        made = StoryTree(tree)
        assert tree.changed_from(made) == ()
        assert (len(tree), tree.sums()) == (len(made), made.sums())
        for each in (None, *tree.nodes()):
            assert tree.children(each) == made.children(each)
        for each in tree.nodes():
            assert tree.branch(each) == made.branch(each)


def test_the_changes_between_two_trees_are_named() -> None:
    older = StoryTree([node(1), node(2, 1), node(3, 1)])
    newer = older.with_nodes(node(2, 1, tokens=5), node(4, 2)).without(PartId(3))
    assert sorted(newer.changed_from(older)) == [2, 3, 4]
    assert older.changed_from(older) == ()
    aside = older.with_nodes(node(2, None))
    assert sorted(newer.changed_from(aside)) == [2, 3, 4]
    assert sorted(newer.changed_from(StoryTree(older))) == [2, 3, 4]


def test_the_end_near_a_found_part_is_the_active_one_or_the_newest_of_the_nearest() -> None:
    tree = StoryTree(
        [node(1), node(2, 1, 1), node(3, 2, 2), node(4, 3, 9), node(5, 2, 3), node(6, 2, 4), node(7, 1, 5)]
    )
    assert tree.end_near(PartId(2), PartId(4)) == 4
    assert tree.end_near(PartId(2), PartId(7)) == 6
    assert tree.end_near(PartId(1), None) == 7
    assert tree.end_near(PartId(4), PartId(99)) == 4


@given(parents, st.integers(0, 30))
def test_a_tree_of_rows_is_the_tree_of_their_nodes(choices: list[int], changed: int) -> None:
    nodes = [
        node(
            i + 1, choice % (i + 1) or None, after=choice % 3, tokens=choice, words=i, text_id=i, label="x" * (i % 2),
            blank=not choice % 2, partial=not choice % 3, bookmarked=not choice % 5, summary_id=choice or None,
        )
        for i, choice in enumerate(choices)
    ]  # fmt: skip
    over = [replace(each, tokens=99) for each in nodes if each.id == changed]
    rows, made = packed(nodes).with_nodes(*over), StoryTree(nodes).with_nodes(*over)
    assert list(rows) == list(made)
    assert dict(rows.nodes()) == dict(made.nodes())
    assert rows.versions() == made.versions()
    assert rows.summarised() == made.summarised()
    assert rows.texts(made.nodes()) == tuple(each.text_id for each in made)
    for each in nodes:
        assert rows.branch(each.id) == made.branch(each.id)
        assert rows.children(each.id) == made.children(each.id)
        assert rows.blank(each.id) == made.blank(each.id)
        assert rows.sums(rows.branch(each.id)) == made.sums(made.branch(each.id))


def test_of_a_long_story_only_the_parts_that_are_looked_at_become_nodes() -> None:
    tree = packed(node(i, i - 1 or None, i) for i in range(1, 10_001))
    assert len(tree.branch(PartId(10_000))) == 10_000
    assert [tree.siblings(PartId(part)) for part in (9_999, 10_000)] == [(9_999,), (10_000,)]
    assert tree.sums().parts == tree.sums(tree.branch(PartId(10_000))).parts == 10_000
    assert len(tree._columns._made) == 2


def test_branches_of_many_leaves_are_not_all_remembered() -> None:
    tree = StoryTree([node(1), *(node(i, 1, i) for i in range(2, 200))])
    for leaf in range(2, 200):
        assert tree.branch(PartId(leaf)) == (1, leaf)
    assert len(tree._branches) < 64
