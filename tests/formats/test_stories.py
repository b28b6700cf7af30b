"""Stories of other tools are trees: nothing that was written is lost, and the branch that was open is open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from marginalia.errors import FormatError
from marginalia.formats.stories import read_stories
from marginalia.formats.stories.tree import Leaf, in_order
from tests.formats.helpers import DATA, as_bytes

if TYPE_CHECKING:
    from marginalia.formats.stories import StoryFile

FIRST = "The tide had already turned when Ilse Marrow found the second boat."
EMPTY = "It rode low in the Keyhole, empty"
OTHER = "It rode low in the Keyhole, and it was not empty at all."
LAST = "Žofie counted the tide marks twice"


def read(name: str) -> StoryFile:
    (story,) = read_stories((DATA / name).read_bytes(), name)
    return story


def active(story: StoryFile) -> list[str]:
    """The texts of the branch that was open."""
    by_key = {leaf.key: leaf for leaf in story.leaves}
    found: list[str] = []
    at = story.active
    while at is not None:
        found.insert(0, by_key[at].text)
        at = by_key[at].parent
    return found


TREES = [
    "koboldai.save-v1.json",
    "koboldai.save-v2.json",
    "loom.exoloom.json",
    "loom.loomsidian-note.json",
    "loom.pyloom-tree.json",
]


@pytest.mark.parametrize("name", TREES)
def test_a_tree_comes_in_with_both_branches_and_the_one_that_was_open(name: str) -> None:
    story = read(name)
    first, empty, last = active(story)
    assert (first.strip(), empty[: len(EMPTY)], last[: len(LAST)]) == (FIRST, EMPTY, LAST)
    (other,) = [leaf for leaf in story.leaves if leaf.text == OTHER]
    assert [leaf.text.strip() for leaf in story.leaves if leaf.key == other.parent] == [FIRST]
    assert len(story.leaves) == 4


def test_a_chat_becomes_answers_with_their_questions_and_swipes_become_siblings() -> None:
    story = read("tavernai.chat.jsonl")
    greeting, first, second = story.leaves
    assert (greeting.text, greeting.turn.instructions) == (FIRST, None)
    assert first.parent == second.parent == greeting.key
    assert first.turn.instructions == second.turn.instructions == "What is in it?"
    assert (second.text, story.active) == (OTHER, first.key)


def chat(*lines: dict[str, Any]) -> StoryFile:
    text = "\n".join(json.dumps(line) for line in ({"user_name": "You", "character_name": "Ilse"}, *lines))
    (story,) = read_stories(text.encode(), "chat.jsonl")
    return story


def test_the_chat_goes_on_under_the_swipe_that_was_chosen_as_it_was_edited() -> None:
    story = chat(
        {"is_user": False, "mes": "edited", "swipes": ["a", "b"], "swipe_id": 1},
        {"is_user": True, "mes": "go on"},
        {"is_user": False, "mes": "end", "extra": {"reasoning": "why", "model": "m"}},
    )
    assert [leaf.text for leaf in story.leaves] == ["a", "edited", "end"]
    assert story.leaves[2].parent == story.leaves[1].key
    assert (story.leaves[2].reasoning, story.leaves[2].model) == ("why", "m")


def test_a_question_without_an_answer_is_kept() -> None:
    story = chat({"is_user": True, "mes": "hello"}, {"is_user": True, "mes": "anybody?"})
    (leaf,) = story.leaves
    assert (leaf.text, leaf.turn.instructions) == ("", "hello\n\nanybody?")


def test_a_chat_whose_last_line_was_cut_off_is_read_without_it() -> None:
    data = (DATA / "tavernai.chat.jsonl").read_bytes().rstrip()
    (story,) = read_stories(data[:-20], "chat.jsonl")
    assert [leaf.text for leaf in story.leaves] == [FIRST, ""]


def test_a_tree_of_messages_keeps_every_answer() -> None:
    story = read("openwebui.chats.json")
    assert [bool(leaf.text) for leaf in story.leaves] == [True, True, False]
    assert {leaf.turn.instructions for leaf in story.leaves[:2]} == {"Start with the second boat."}
    assert story.leaves[0].model == "local-model"


def test_several_chats_are_several_stories() -> None:
    exported = json.loads((DATA / "openwebui.chats.json").read_bytes())
    assert len(read_stories(as_bytes(exported * 2))) == 2


def test_a_session_is_what_was_typed_and_what_was_predicted() -> None:
    story = read("mikupad.session.json")
    assert [leaf.text.strip()[:20] for leaf in story.leaves] == [FIRST[:20], EMPTY[:20]]


def test_greetings_of_a_card_are_first_parts() -> None:
    story = read("tavern.card-v3.json")
    assert [leaf.parent for leaf in story.leaves] == [None, None]
    assert story.lore_too


def test_what_a_file_says_of_a_part_is_kept_with_it() -> None:
    story = read("loom.pyloom-tree.json")
    assert story.leaves[0].kept["tags"] == ["bookmark"]
    assert story.kept["canonical"] == ["n2"]


def test_lore_is_refused_as_a_story_and_said_to_be_lore() -> None:
    with pytest.raises(FormatError, match="import it as a lorebook"):
        read_stories((DATA / "novelai.lorebook").read_bytes(), "lore")
    with pytest.raises(FormatError, match="import it as a lorebook"):
        read_stories((DATA / "tavern.lorebook-v3.json").read_bytes(), "lore")


def test_parts_that_hang_on_nothing_or_on_each_other_become_first_parts() -> None:
    def leaf(key: str, parent: str | None) -> Leaf:
        return Leaf(key=key, parent=parent, text=key)

    found = in_order(
        [leaf("b", "a"), leaf("a", None), leaf("x", "y"), leaf("y", "x"), leaf("z", "z"), leaf("o", "gone")]
    )
    assert [(each.key, each.parent) for each in found] == [
        ("a", None),
        ("o", None),
        ("b", "a"),
        ("x", None),
        ("y", "x"),
        ("z", None),
    ]


def test_the_oldest_trees_are_nothing_but_their_root() -> None:
    (story,) = read_stories(
        as_bytes({"text": "a", "children": [{"text": "b", "children": []}, {"text": "c", "children": []}]})
    )
    assert [(leaf.text, leaf.parent) for leaf in story.leaves] == [
        ("a", None),
        ("b", "node 0"),
        ("c", "node 0"),
    ]
