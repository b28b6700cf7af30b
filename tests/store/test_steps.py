"""Steps of a story: undone and done again, alone and in random sequences."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.errors import Busy, InvalidInput, MarginaliaError, NotFound
from marginalia.store import Store
from marginalia.store.backup import Backups
from marginalia.store.backup_check import checked
from marginalia.story.parts import Summary
from marginalia.values import Book, NewPart, PartId, Regenerate, SummaryId, Swipe
from tests.store.helpers import START, forget, open_store, opening

Story = dict[str, Any]


def story_of(store: Store, book: Book) -> Story:
    """Everything that a step can change, as it is stored."""
    forget(store)
    now = store.books.get(book)
    return {
        "leaf": now.active_leaf,
        "shared": dict(now.global_variables),
        "parts": {part.id: replace(part, variables=dict(part.variables)) for part in store.story.parts(book)},
        "summaries": {each.id: each for each in store.summaries.all(book)},
    }


def write(store: Store, book: Book, text: str, request: Any = None, parent: PartId | None = None) -> PartId:
    """A generation that is done, or taken back when there is no *text*."""

    async def run() -> PartId:
        opened = await store.archive.open_part(opening(book, request, parent))
        if not text:
            await store.archive.withdraw(opened)
        else:
            await store.archive.close_part(replace(opened.part, text=text, tokens=1), None)
        return opened.part.id

    return asyncio.run(run())


def summarise(store: Store, part: PartId, text: str) -> Summary:
    return store.summaries.attach(
        Summary(id=SummaryId(0), part_id=part, text=text, source_hash="h", created=START)
    )


# One step at a time: what is done, and that undoing and redoing it gives both stories exactly.


def three_parts(store: Store, book: Book) -> tuple[PartId, PartId, PartId]:
    first, second, third = (store.story.append(book, text).id for text in ("One two.", "Three.", "Four."))
    summarise(store, second, "s2")
    return first, second, third


STEPS = {
    "append": lambda store, book, parts: store.story.append(book, "Five."),
    "edit": lambda store, book, parts: store.story.edit(parts[1], "Changed."),
    "fork": lambda store, book, parts: store.story.fork(parts[1]),
    "delete in the middle": lambda store, book, parts: store.story.delete(parts[1]),
    "delete the leaf": lambda store, book, parts: store.story.delete(parts[2]),
    "activate": lambda store, book, parts: store.story.activate(book, parts[0]),
    "merge": lambda store, book, parts: store.story.merge(parts[1]),
    "split": lambda store, book, parts: store.story.split(parts[0], 4),
    "move": lambda store, book, parts: store.story.move(parts[2], parts[0]),
    "move to the root": lambda store, book, parts: store.story.move(parts[1], None),
    "mark": lambda store, book, parts: store.story.mark(parts[1], label="here", bookmarked=True),
    "summarise": lambda store, book, parts: summarise(store, parts[2], "s3"),
    "remove a summary": lambda store, book, parts: store.summaries.remove(parts[1]),
    "edit a summary": lambda store, book, parts: store.summaries.replace_text(parts[1], "other"),
    "generate": lambda store, book, parts: write(store, book, "New.", NewPart(), parts[2]),
    "swipe": lambda store, book, parts: write(store, book, "New.", Swipe(parts[2]), parts[1]),
    "regenerate": lambda store, book, parts: write(store, book, "New.", Regenerate(parts[1]), parts[0]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_undone_and_done_again_exactly(store: Store, book: Book, name: str) -> None:
    parts = three_parts(store, book)
    before, steps = story_of(store, book), len(store.story.history(book))
    STEPS[name](store, book, parts)
    after = story_of(store, book)
    assert after != before
    assert len(store.story.history(book)) == steps + 1
    for _ in range(2):
        undone = store.story.undo(book)
        assert undone is not None
        assert undone.undone
        assert story_of(store, book) == before
        redone = store.story.redo(book)
        assert redone == replace(undone, undone=False)
        assert story_of(store, book) == after


def test_steps_are_undone_after_a_restart(file: Path) -> None:
    store = open_store(file)
    book = store.books.create(name="B")
    states = [story_of(store, book)]
    for text in ("One.", "Two."):
        store.story.append(book, text)
        states.append(story_of(store, book))
    store.story.undo(book)
    store.close()
    store = open_store(file)
    assert story_of(store, book) == states[1]
    assert store.story.redo(book) is not None
    assert story_of(store, book) == states[2]
    for state in (states[1], states[0]):
        store.story.undo(book)
        assert story_of(store, book) == state
    assert store.story.undo(book) is None
    store.close()


def test_what_does_not_change_anything_is_no_step(store: Store, book: Book) -> None:
    part = store.story.append(book, "One.")
    steps = store.story.history(book)
    store.story.edit(part, "One.")
    store.story.activate(book, part)
    store.story.mark(part, label="")
    assert store.story.history(book) == steps


def test_a_new_step_ends_redoing_and_what_was_undone_is_in_the_trash(store: Store, book: Book) -> None:
    store.story.append(book, "One.")
    lost = store.story.append(book, "Two.")
    store.story.undo(book)
    assert [part.text for part in store.story.trash(book)] == ["Two."]
    store.story.append(book, "Other.")
    assert store.story.redo(book) is None
    back = store.story.undelete(lost)
    assert (back.text, back.parent_id) == ("Two.", lost.parent_id)


def test_an_undone_edit_stays_as_a_revision_that_can_be_restored(store: Store, book: Book) -> None:
    part = store.story.append(book, "One.")
    store.story.edit(part, "Two.")
    store.story.undo(book)
    revisions = store.story.revisions(part)
    assert [(each.text, each.current) for each in revisions] == [("One.", True), ("Two.", False)]
    assert store.story.restore(revisions[1]).text == "Two."


def test_a_generation_is_taken_back_as_one_step_with_its_variables(store: Store, book: Book) -> None:
    first = store.story.append(book, "One.")
    before = story_of(store, book)
    part = write(store, book, "Written.", NewPart(), first.id)
    assert [step.kind for step in store.story.history(book)] == ["generate", "append"]
    assert store.story.history(book)[0].part_id == part
    store.story.undo(book)
    assert story_of(store, book) == before
    assert [each.text for each in store.story.trash(book)] == ["Written."]


def test_nothing_is_undone_while_the_book_is_being_written_to(store: Store, book: Book) -> None:
    first = store.story.append(book, "One.")
    opened = asyncio.run(store.archive.open_part(opening(book, NewPart(), first.id)))
    for change in (store.story.undo, store.story.redo):
        with pytest.raises(Busy, match="being written"):
            change(book)
    asyncio.run(store.archive.withdraw(opened))
    assert store.story.undo(book) is not None


def test_a_step_whose_place_is_gone_for_good_is_done_again_at_the_nearest_one(
    store: Store, book: Book
) -> None:
    first = store.story.append(book, "One.")
    opened = asyncio.run(store.archive.open_part(opening(book, NewPart(), first.id)))
    note = store.story.append(book, "A note under it.")
    asyncio.run(store.archive.withdraw(opened))
    assert store.story.part(note).parent_id == first.id
    store.story.undo(book)
    assert [part.id for part in store.story.parts(book)] == [first.id]
    assert store.books.get(book).active_leaf == first.id
    store.story.redo(book)
    assert store.story.part(note).parent_id == first.id


def test_steps_on_a_part_whose_answer_never_came_do_not_stand_in_the_way(store: Store, book: Book) -> None:
    first = store.story.append(book, "One.")
    second = store.story.append(book, "Two.")
    opened = asyncio.run(store.archive.open_part(opening(book, NewPart(), second.id)))
    store.story.mark(opened.part, label="soon")
    store.story.delete(second)
    note = store.story.append(book, "A note.", parent=opened.part)
    store.story.edit(note, "A longer note.")
    asyncio.run(store.archive.withdraw(opened))
    last = story_of(store, book)
    steps = [step for step in store.story.history(book) if not step.undone]
    for _ in steps:
        assert store.story.undo(book) is not None
    assert store.story.parts(book) == ()
    for _ in steps:
        assert store.story.redo(book) is not None
    assert story_of(store, book) == last
    assert store.story.part(note).parent_id == first.id


def test_a_summary_that_comes_back_is_not_in_the_trash_any_more(store: Store, book: Book) -> None:
    part = store.story.append(book, "One.")
    summarise(store, part.id, "s1")
    store.summaries.remove(part)
    buried = "SELECT count(*) FROM trash WHERE kind = 'summary'"
    for _ in range(3):
        assert store._desk.database.read(lambda session: session.rows(buried)) == [(1,)]
        store.story.undo(book)
        assert store._desk.database.read(lambda session: session.rows(buried)) == [(0,)]
        store.story.redo(book)


def test_a_restored_backup_has_the_marks_and_begins_a_new_history(store: Store, book: Book) -> None:
    part = store.story.append(book, "One.")
    store.story.mark(part, label="here", bookmarked=True)
    backups = Backups(store.desk)
    taken = backups.take(book)
    store.story.mark(part, label="", bookmarked=False)
    backups.apply(book, checked(taken))
    (back,) = store.story.parts(book)
    assert (back.label, back.bookmarked) == ("here", True)
    assert store.story.history(book) == ()
    assert store.story.undo(book) is None
    store.story.edit(back, "Two.")
    assert store.story.undo(book) is not None
    assert store.story.parts(book) == (back,)


def test_another_users_steps_are_not_there(store: Store, book: Book) -> None:
    store.story.append(book, "One.")
    other = store.for_user("odo").story
    for attempt in (other.undo, other.redo, other.history):
        with pytest.raises(NotFound):
            attempt(book)


# Merging, splitting, moving and marking.


def test_a_part_is_merged_into_the_only_one_before_it(store: Store, book: Book) -> None:
    first = store.story.append(book, "Snow fell.", variables={"a": "1"})
    second = store.story.append(book, "Wolves came.", variables={"a": "2"})
    third = store.story.append(book, "Odo ran.")
    store.story.activate(book, second)
    whole = store.story.merge(second)
    assert (whole.id, whole.text, whole.tokens, whole.edited) == (
        first.id,
        "Snow fell.\n\nWolves came.",
        4,
        True,
    )
    assert whole.variables == {"a": "2"}
    assert store.books.get(book).active_leaf == first.id
    assert store.story.part(third).parent_id == first.id
    assert [part.text for part in store.story.trash(book)] == ["Wolves came."]


def test_merging_leaves_the_other_versions_what_stands_before_them(store: Store, book: Book) -> None:
    first = store.story.append(book, "Snow fell.")
    second = store.story.append(book, "Wolves came.")
    other = store.story.append(book, "Nobody came.", parent=first)
    third = store.story.append(book, "Odo ran.", parent=second)
    whole = store.story.merge(second)
    assert whole.id != first.id
    assert [part.text for part in store.story.branch(book, other)] == ["Snow fell.", "Nobody came."]
    assert [part.text for part in store.story.branch(book, third)] == [
        "Snow fell.\n\nWolves came.",
        "Odo ran.",
    ]


def test_a_first_part_cannot_be_merged(store: Store, book: Book) -> None:
    with pytest.raises(InvalidInput, match="first part"):
        store.story.merge(store.story.append(book, "One."))


def test_a_part_is_split_in_two_and_what_follows_it_follows_the_second(store: Store, book: Book) -> None:
    whole = store.story.append(book, "Snow fell. Wolves came.", reasoning="r", partial=True)
    last = store.story.append(book, "Odo ran.")
    first, second = store.story.split(whole, 10)
    assert (first.text, second.text) == ("Snow fell.", "Wolves came.")
    assert (first.id, first.reasoning, first.partial, first.words) == (whole.id, "r", False, 2)
    assert (second.parent_id, second.reasoning, second.partial, second.words) == (whole.id, "", True, 2)
    assert store.story.branch(book) == (first, second, store.story.part(last))
    assert store.story.part(last).parent_id == second.id


@pytest.mark.parametrize("at", [-1, 0, 4, 5])
def test_a_part_is_not_split_beside_its_text(store: Store, book: Book, at: int) -> None:
    part = store.story.append(book, "One. ")
    with pytest.raises(InvalidInput, match="inside the text"):
        store.story.split(part, at)


def test_a_branch_moves_with_everything_below_it_but_never_below_itself(store: Store, book: Book) -> None:
    first, second, third = three_parts(store, book)
    other = store.story.append(book, "Elsewhere.", parent=None)
    assert store.story.move(second, other.id).parent_id == other.id
    assert [part.id for part in store.story.branch(book, third)] == [other.id, second, third]
    assert [part.id for part in store.story.children(first)] == []
    for place in (second, third):
        with pytest.raises(InvalidInput, match="below itself"):
            store.story.move(second, place)
    with pytest.raises(NotFound):
        store.story.move(second, store.story.append(store.books.create(name="other"), "x").id)


def test_marks_survive_edits_and_regenerations_and_are_not_copied(store: Store, book: Book) -> None:
    part = store.story.append(book, "One.")
    store.story.mark(part, label="  the\n fork ", bookmarked=True)
    store.story.edit(part, "Two.")
    write(store, book, "Three.", Regenerate(part.id))
    marked = store.story.part(part)
    assert (marked.label, marked.bookmarked, marked.text) == ("the fork", True, "Three.")
    copy = store.story.fork(part)
    assert (copy.label, copy.bookmarked) == ("", False)
    assert store.story.mark(part, bookmarked=False).label == "the fork"


# Random sequences.

KINDS = [
    *(
        "append",
        "root",
        "fork",
        "edit",
        "restore",
        "delete",
        "undelete",
        "activate",
        "go_to",
        "merge",
        "split",
    ),
    *(
        "move",
        "mark",
        "summarise",
        "unsummarise",
        "generate",
        "swipe",
        "regenerate",
        "failed",
        "undo",
        "redo",
    ),
]
ACTIONS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=10
)


def act(store: Store, book: Book, kind: str, one: int, two: int) -> None:  # noqa: C901, PLR0912, PLR0915 - a table
    story = store.story
    parts, trash = [part.id for part in story.parts(book)], story.trash(book)
    if kind == "undelete" and trash:
        story.undelete(trash[one % len(trash)])
    elif kind in {"undo", "redo"}:
        getattr(story, kind)(book)
    elif kind == "root" or not parts:
        story.append(book, f"Root {one}. It goes on.", parent=None)
    else:
        part, other = parts[one % len(parts)], parts[two % len(parts)]
        if kind == "append":
            story.append(book, f"Text {one} {two}. More of it.", parent=part)
        elif kind in {"fork", "delete", "go_to", "merge"}:
            getattr(story, kind)(part)
        elif kind == "edit":
            story.edit(part, f"Edited {two}. And on.")
        elif kind == "restore":
            revisions = story.revisions(part)
            story.restore(revisions[two % len(revisions)])
        elif kind == "activate":
            story.activate(book, part)
        elif kind == "split":
            story.split(part, two % 12)
        elif kind == "move":
            story.move(part, other if two % 5 else None)
        elif kind == "mark":
            story.mark(part, label=f"label {two % 3}", bookmarked=bool(two % 2))
        elif kind == "summarise":
            summarise(store, part, f"summary {two}")
        elif kind == "unsummarise":
            store.summaries.remove(part)
        elif kind in {"generate", "swipe", "regenerate", "failed"}:
            requests = {"swipe": Swipe(part), "regenerate": Regenerate(part)}
            parent = part if kind in {"generate", "failed"} else story.part(part).parent_id
            write(store, book, "" if kind == "failed" else f"Made {two}.", requests.get(kind), parent)


def check(store: Store, book: Book, texts: set[tuple[PartId, str]]) -> Story:
    """The story is a tree, what is remembered is what is stored, and no text is lost; returns the story."""
    remembered = dict(store.story.tree(book).nodes())
    state = story_of(store, book)
    tree = store.story.tree(book)
    assert dict(tree.nodes()) == remembered
    for part in tree.nodes():
        branch = tree.branch(part)
        assert len(set(branch)) == len(branch)
        assert tree[branch[0]].parent_id is None
    assert state["leaf"] is None or state["leaf"] in tree
    texts |= {(part.id, part.text) for part in state["parts"].values()}
    trash = store.story.trash(book)
    kept = {(part.id, part.text) for part in trash}
    for number in state["parts"]:
        kept |= {(number, each.text) for each in store.story.revisions(number)}
    assert texts - kept <= older_texts(store, {part.id for part in trash})
    return state


def older_texts(store: Store, parts: set[PartId]) -> set[tuple[PartId, str]]:
    """What parts in the trash said before they came there; they have it again when they are restored."""
    sql = "SELECT part_id, text FROM part_text WHERE part_id IN (SELECT unnest(?))"
    return set(store._desk.database.read(lambda session: session.rows(sql, list(parts))))


@given(ACTIONS)
@settings(max_examples=25)
def test_undoing_everything_gives_every_state_back_and_no_text_is_ever_lost(
    actions: list[tuple[str, int, int]],
) -> None:
    store = open_store(":memory:")
    try:
        book = store.books.create(name="B")
        texts: set[tuple[PartId, str]] = set()
        states, at = [check(store, book, texts)], 0
        for action in actions:
            try:
                act(store, book, *action)
            except MarginaliaError:
                assert story_of(store, book) == states[at]
                continue
            state = check(store, book, texts)
            done = sum(not step.undone for step in store.story.history(book))
            if action[0] in {"undo", "redo"}:
                assert state == states[done]
            elif done > at:
                states[done:] = [state]
            assert state == states[done]
            at = done
        last = story_of(store, book)
        for number in range(at - 1, -1, -1):
            assert store.story.undo(book) is not None
            assert check(store, book, texts) == states[number]
        assert store.story.undo(book) is None
        for number in range(1, at + 1):
            assert store.story.redo(book) is not None
            assert check(store, book, texts) == states[number]
        assert story_of(store, book) == last
    finally:
        store.close()


BUSY_KINDS = [
    "append",
    "root",
    "fork",
    "edit",
    "delete",
    "undelete",
    "activate",
    "merge",
    "split",
    "move",
    "mark",
]


def act_during(store: Store, book: Book, kind: str, one: int, two: int) -> None:
    """A generation, and while it waits for its answer something by hand; every third one gets no answer."""
    leaf = store.books.get(book).active_leaf
    request = NewPart() if leaf is None or one % 2 else (Swipe(leaf), Regenerate(leaf))[two % 2]
    parent = leaf if leaf is None or isinstance(request, NewPart) else store.story.part(leaf).parent_id
    opened = asyncio.run(store.archive.open_part(opening(book, request, parent)))
    try:
        act(store, book, kind, one, two)
    except MarginaliaError:
        pass
    finally:
        if (one + two) % 3:
            done = replace(opened.part, text=f"Made {one} {two}.", tokens=1)
            asyncio.run(store.archive.close_part(done, None))
        else:
            asyncio.run(store.archive.withdraw(opened))


@given(
    st.lists(
        st.tuples(st.sampled_from(BUSY_KINDS), st.integers(0, 50), st.integers(0, 50), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=25)
def test_what_was_written_by_hand_during_a_generation_is_undone_and_done_again_too(
    actions: list[tuple[str, int, int, bool]],
) -> None:
    store = open_store(":memory:")
    try:
        book = store.books.create(name="B")
        first = check(store, book, set())
        texts: set[tuple[PartId, str]] = set()
        for *action, during in actions:
            try:
                (act_during if during else act)(store, book, *action)
            except MarginaliaError:
                continue
            check(store, book, texts)
        last = story_of(store, book)
        while store.story.undo(book) is not None:
            check(store, book, texts)
        assert story_of(store, book) == first
        while store.story.redo(book) is not None:
            check(store, book, texts)
        assert story_of(store, book) == last
    finally:
        store.close()
