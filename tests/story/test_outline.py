"""The rows of the outline, and counting."""

from __future__ import annotations

import pytest

from marginalia.story.outline import Count, count, first_words, outline
from marginalia.story.parts import Summary
from marginalia.story.tree import StoryTree
from marginalia.values import PartId, SummaryId
from tests.story.test_tree import node


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Snow fell\n all night.", ("Snow fell all night.", False)),
        ("## The Ford ##\nSnow fell.", ("The Ford", True)),
        ("Chapter One\n\nSnow fell.", ("Chapter One", True)),
        ("Snow fell.\n\nWolves came.", ("Snow fell. Wolves came.", False)),
        ("#hashtag", ("#hashtag", False)),
        ("", ("", False)),
        ("one twoo three", ("one…", False)),
        ("onetwothree", ("onetwot…", False)),
    ],
)
def test_a_row_shows_a_heading_or_the_first_words(text: str, expected: tuple[str, bool]) -> None:
    most = 7 if text.startswith("one") else 90
    assert first_words(text, most) == expected


def test_rows_have_numbers_versions_summaries_and_marks() -> None:
    tree = StoryTree(
        [
            node(1, tokens=3, bookmarked=True),
            node(2, 1, 1),
            node(3, 1, 2, label="here", partial=True),
            node(4, 3, 3),
        ]
    )
    on = {PartId(3): Summary(id=SummaryId(1), part_id=PartId(3), text="s3", source_hash="h")}
    texts = {PartId(1): "First.", PartId(3): "Third.", PartId(4): "Fourth."}
    branch = tree.branch(PartId(4))
    rows = outline(tree, branch, texts, on, represented=PartId(3))
    assert [(row.part, row.number, row.words, row.version, row.versions) for row in rows] == [
        (1, 1, "First.", 1, 1),
        (3, 2, "Third.", 2, 2),
        (4, 3, "Fourth.", 1, 1),
    ]
    assert [(row.summary, row.covered) for row in rows] == [("", True), ("s3", True), ("", False)]
    assert [(row.label, row.bookmarked, row.partial, row.tokens) for row in rows] == [
        ("", True, False, 3),
        ("here", False, True, 0),
        ("", False, False, 0),
    ]
    assert outline(tree, branch, texts, on, start=1, stop=2, represented=PartId(3)) == rows[1:2]
    assert outline(tree, branch, texts, on, start=-5, stop=90) == outline(tree, branch, texts, on)


def test_counting_adds_up() -> None:
    tree = StoryTree([node(1, tokens=3, words=2), node(2, 1, tokens=4, words=5)])
    assert count(tree) == count(tree, [PartId(1), PartId(2)]) == Count(parts=2, words=7, tokens=7)
    assert count(StoryTree()) == Count()
