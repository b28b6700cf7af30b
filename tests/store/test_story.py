"""Reading a story, moving about in it, writing by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.errors import InvalidInput, NotFound
from marginalia.store import Store
from marginalia.story.parts import Summary
from marginalia.values import Book, PartId, SummaryId, Turn
from tests.store.helpers import START, forget, receipt


def test_a_part_by_hand_is_counted_follows_the_leaf_and_inherits_variables(store: Store, book: Book) -> None:
    first = store.story.append(book, "Snow fell.", variables={"step": "1"}, turn=Turn(instructions="one"))
    second = store.story.append(book, "Wolves came, two of them.", reasoning="a b c")
    assert (second.parent_id, second.tokens, second.words, second.reasoning_tokens) == (first.id, 5, 5, 3)
    assert second.variables == {"step": "1"}
    assert second.model == ""
    assert store.books.get(book).active_leaf == second.id
    assert store.story.branch(book) == (first, second)
    assert store.story.branch(book, first) == (first,)
    assert store.library.texts([second.id, first.id, PartId(99)]) == {
        first.id: first.text,
        second.id: second.text,
    }


def test_given_counts_win_and_a_receipt_can_come_along(store: Store, book: Book) -> None:
    part = store.story.append(
        book, "Snow fell.", tokens=41, words=7, receipt=receipt("old order"), created=START
    )
    assert (part.tokens, part.words, part.created) == (41, 7, START)
    assert store.story.receipt(part) == receipt("old order")


def test_an_explicit_parent_makes_a_sibling_and_none_a_first_part(store: Store, book: Book) -> None:
    first = store.story.append(book, "P1")
    left = store.story.append(book, "L", parent=first)
    right = store.story.append(book, "R", parent=first.id)
    root = store.story.append(book, "other", parent=None)
    assert store.story.children(first) == (left, right)
    assert store.story.siblings(right) == (left, right)
    assert store.story.siblings(root) == (first, root)
    assert store.story.parts(book) == (first, left, right, root)
    assert store.books.get(book).active_leaf == root.id


def test_siblings_of_one_moment_are_ordered_by_id(store: Store, book: Book) -> None:
    made = [store.story.append(book, text, parent=None, created=START) for text in "abc"]
    assert [each.text for each in store.story.siblings(made[1])] == ["a", "b", "c"]


def test_activate_takes_exactly_this_part_and_go_to_the_newest_line_below(store: Store, book: Book) -> None:
    first = store.story.append(book, "P1")
    store.story.append(book, "old", parent=first)
    newer = store.story.append(book, "new", parent=first)
    last = store.story.append(book, "end", parent=newer)
    assert store.story.activate(book, first).active_leaf == first.id
    assert store.story.go_to(first) == last
    assert store.books.get(book).active_leaf == last.id
    assert store.story.activate(book, None).active_leaf is None
    assert store.story.branch(book) == ()


def test_an_edit_counts_again_marks_the_part_and_keeps_the_old_text(store: Store, book: Book) -> None:
    part = store.story.append(book, "Snow fell.", receipt=receipt("order"))
    edited = store.story.edit(part, "Snow fell all night.")
    assert (edited.text, edited.tokens, edited.words, edited.edited) == ("Snow fell all night.", 4, 4, True)
    assert store.story.part(part) == edited
    assert store.story.receipt(part) == receipt("order")
    revisions = store.story.revisions(part)
    assert [(each.text, each.origin, each.current) for each in revisions] == [
        ("Snow fell.", "written", False),
        ("Snow fell all night.", "edited", True),
    ]
    assert store.story.restore(revisions[0]) == part
    assert [each.text for each in store.story.revisions(part)] == [
        "Snow fell.",
        "Snow fell all night.",
        "Snow fell.",
    ]


def test_saving_the_same_text_is_no_change(store: Store, book: Book) -> None:
    part = store.story.append(book, "Snow fell.")
    before = store.story.tree(book)[part.id]
    assert store.story.edit(part, "Snow fell.") == part
    assert store.story.tree(book)[part.id] == before


def test_an_edited_turn_is_kept_and_leaves_the_text_alone(store: Store, book: Book) -> None:
    part = store.story.append(book, "Snow fell.", turn=Turn(instructions="one"))
    edited = store.story.edit(part, "Snow fell.", turn=Turn(instructions="two"))
    assert (edited.turn, edited.edited) == (Turn(instructions="two"), False)
    assert len(store.story.revisions(part)) == 1


def test_a_fork_is_a_sibling_with_everything_and_a_summary_of_its_own(store: Store, book: Book) -> None:
    first = store.story.append(book, "P1")
    part = store.story.append(
        book, "P2", variables={"a": "1"}, attributes={"x": [1]}, edited=True, receipt=receipt("order")
    )
    inner = store.summaries.attach(Summary(id=SummaryId(0), part_id=part.id, text="s", source_hash="h"))
    meta = replace(inner, text="m", source_hash="hm", oldest_id=first.id, replaced=inner)
    store.summaries.attach(meta)
    copy = store.story.fork(part)
    assert copy.id != part.id
    assert copy.uid != part.uid
    assert store.books.get(book).active_leaf == part.id
    same = replace(part, id=copy.id, uid=copy.uid, created=copy.created, summary_id=copy.summary_id)
    assert store.story.part(copy) == copy == same
    assert store.story.receipt(copy) == receipt("order")
    own = store.summaries.summary_for(copy)
    assert own is not None
    assert (own.text, own.part_id) == ("m", copy.id)
    assert own.id != meta.id
    back = store.summaries.remove(copy)
    assert back is not None
    assert (back.text, back.part_id, back.id) == ("s", copy.id, own.id)
    assert store.summaries.summary_for(part) == meta


def test_deleting_a_part_in_the_middle_hands_its_children_up(store: Store, book: Book) -> None:
    first, middle = store.story.append(book, "R"), store.story.append(book, "M")
    left = store.story.append(book, "L1", parent=middle)
    right = store.story.append(book, "L2", parent=middle)
    store.story.delete(middle)
    assert [(each.id, each.parent_id) for each in store.story.parts(book)] == [
        (first.id, None),
        (left.id, first.id),
        (right.id, first.id),
    ]
    assert store.books.get(book).active_leaf == right.id
    with pytest.raises(NotFound):
        store.story.part(middle)


def test_deleting_the_active_leaf_goes_to_its_parent_or_to_the_newest_line_beside_it(
    store: Store, book: Book
) -> None:
    root = store.story.append(book, "R")
    leaf = store.story.append(book, "L")
    other = store.story.append(book, "other", parent=None)
    store.story.activate(book, leaf)
    store.story.delete(leaf)
    assert store.books.get(book).active_leaf == root.id
    store.story.delete(root)
    assert store.books.get(book).active_leaf == other.id
    store.story.delete(other)
    assert store.books.get(book).active_leaf is None
    assert store.story.append(book, "anew").parent_id is None


def test_a_deleted_part_comes_back_between_its_parent_and_its_children(store: Store, book: Book) -> None:
    store.story.append(book, "R")
    middle = store.story.append(book, "M")
    store.story.append(book, "L")
    before = store.story.parts(book)
    store.story.delete(middle)
    assert store.story.trash(book) == (middle,)
    assert store.story.undelete(middle) == middle
    assert store.story.parts(book) == before
    assert store.story.trash(book) == ()
    with pytest.raises(NotFound):
        store.story.undelete(middle)


def test_a_deleted_line_comes_back_in_any_order(store: Store, book: Book) -> None:
    parts = [store.story.append(book, text) for text in ("R", "M", "L")]
    for part in reversed(parts):
        store.story.delete(part)
    assert store.books.get(book).active_leaf is None
    assert store.story.undelete(parts[2]).parent_id is None
    assert store.books.get(book).active_leaf is None or store.books.get(book).active_leaf == parts[2].id
    for part in (parts[1], parts[0]):
        store.story.undelete(part)
    assert {each.id for each in store.story.parts(book)} == {part.id for part in parts}


def test_rewrite_stores_every_field_as_given(store: Store, book: Book) -> None:
    first, second = store.story.append(book, "P1"), store.story.append(book, "P2")
    new = replace(
        second, parent_id=None, text="other", tokens=9, created=START, attributes={"k": 1}, partial=True
    )
    assert store.story.rewrite(new) == new
    forget(store)
    assert store.story.part(second) == new
    with pytest.raises(InvalidInput, match="below itself"):
        store.story.rewrite(replace(first, parent_id=first.id))


def test_everything_is_the_same_after_closing_and_opening(filed: Store) -> None:
    book = filed.books.create(name="B")
    filed.story.append(book, "Snow fell.", background_lore="lore", images=({"resource": "i"},))
    part = filed.story.append(book, "Wolves \x00 came. ÎLE 🐺", request_time=START, receipt=receipt("order"))
    filed.story.edit(part, "Wolves went.")
    branch, tree = filed.story.branch(book), dict(filed.story.tree(book).nodes())
    forget(filed)
    assert filed.story.branch(book) == branch
    assert dict(filed.story.tree(book).nodes()) == tree
    assert filed.story.receipt(part) == receipt("order")


def test_another_users_story_can_be_neither_read_nor_written(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    other = store.for_user("odo").story
    for attempt in (
        lambda: other.branch(book),
        lambda: other.part(part),
        lambda: other.append(book, "x"),
        lambda: other.edit(part, "x"),
        lambda: other.delete(part),
        lambda: other.receipt(part),
        lambda: other.revisions(part),
        lambda: other.restore(store.story.revisions(part)[0]),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert store.story.branch(book) == (part,)


def test_a_part_of_another_book_is_no_place_in_this_one(store: Store, book: Book) -> None:
    foreign = store.story.append(store.books.create(name="other"), "x")
    with pytest.raises(NotFound):
        store.story.append(book, "y", parent=foreign)
    with pytest.raises(NotFound):
        store.story.activate(book, foreign)
