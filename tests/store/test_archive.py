"""Opening, closing and taking back the parts that wait for an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.errors import Busy, NotFound
from marginalia.store import Change, Store
from marginalia.story.parts import Part, Summary
from marginalia.values import Book, PartId, Regenerate, SummaryId, Swipe, Turn
from tests.store.helpers import START, opening, receipt


async def test_a_new_part_is_the_active_leaf_before_its_answer_comes(store: Store, book: Book) -> None:
    first = store.story.append(book, "Snow fell.")
    opened = await store.archive.open_part(opening(book, parent=first.id))
    now = store.books.get(book)
    assert now.active_leaf == opened.part.id
    assert now.global_variables == {"laps": "5"}
    assert opened.previous_leaf == first.id
    assert opened.previous_shared == {}
    assert opened.part.parent_id == first.id
    assert store.library.part(opened.part.id) == opened.part
    assert store.story.receipt(opened.part) == receipt("Write well.", "Go on.")


async def test_a_closed_part_has_what_came_and_no_draft(store: Store, book: Book) -> None:
    opened = await store.archive.open_part(opening(book))
    came = replace(opened.part, text="Done.", tokens=1, words=1, finish_reason="stop", first_token_time=START)
    closed = await store.archive.close_part(came, None)
    assert closed == came
    assert store.library.part(closed.id) == closed
    assert store.story.receipt(closed) == receipt("Write well.", "Go on.")
    node = store.story.tree(book)[closed.id]
    assert (node.tokens, node.words, node.blank) == (1, 1, False)
    assert store._desk.database.read(lambda session: session.rows("SELECT * FROM draft")) == []


async def test_a_receipt_can_be_replaced_before_and_with_the_answer(store: Store, book: Book) -> None:
    opened = await store.archive.open_part(opening(book))
    await store.archive.store_receipt(opened.part.id, receipt("changed"))
    assert store.story.receipt(opened.part) == receipt("changed")
    await store.archive.close_part(replace(opened.part, text="x"), receipt("final"))
    assert store.story.receipt(opened.part) == receipt("final")


async def test_a_checkpoint_shows_the_partial_text_to_everybody(store: Store, book: Book) -> None:
    opened = await store.archive.open_part(opening(book))
    await store.archive.checkpoint(replace(opened.part, text="So far", reasoning="because"))
    assert store.library.part(opened.part.id).text == "So far"
    assert store.library.texts([opened.part.id]) == {opened.part.id: "So far"}
    assert [part.text for part in store.story.branch(book)] == ["So far"]


async def test_a_checkpoint_after_the_end_changes_nothing(store: Store, book: Book) -> None:
    opened = await store.archive.open_part(opening(book))
    closed = await store.archive.close_part(replace(opened.part, text="Done."), None)
    await store.archive.checkpoint(replace(opened.part, text="late"))
    assert store.library.part(closed.id).text == "Done."


async def test_withdrawing_a_new_part_deletes_it_and_hands_its_children_up(store: Store, book: Book) -> None:
    book = store.books.set_variables(book, {"laps": "4"})
    first = store.story.append(book, "Snow fell.")
    opened = await store.archive.open_part(opening(book, parent=first.id))
    graft = store.story.append(book, "graft", parent=opened.part)
    await store.archive.withdraw(opened)
    assert store.books.get(book).active_leaf == first.id
    assert store.books.get(book).global_variables == {"laps": "4"}
    assert [(part.id, part.parent_id) for part in store.story.parts(book)] == [
        (first.id, None),
        (graft.id, first.id),
    ]
    left = store._desk.database.read(
        lambda session: session.rows("SELECT id FROM part WHERE id = ?", opened.part.id)
    )
    assert left == []


async def test_withdrawing_leaves_a_writer_alone_who_went_elsewhere(store: Store, book: Book) -> None:
    first = store.story.append(book, "Snow fell.")
    other = store.story.append(book, "Rain fell.", parent=None)
    store.story.activate(book, first)
    opened = await store.archive.open_part(opening(book, parent=first.id))
    store.story.activate(book, other)
    await store.archive.withdraw(opened)
    assert store.books.get(book).active_leaf == other.id


async def test_withdrawing_a_swipe_follows_the_newest_line_of_the_swiped_part(
    store: Store, book: Book
) -> None:
    first = store.story.append(book, "P1")
    second = store.story.append(book, "P2")
    third = store.story.append(book, "P3")
    store.story.activate(book, first)
    opened = await store.archive.open_part(opening(book, Swipe(second), first.id))
    assert [part.id for part in store.story.siblings(second)] == [second.id, opened.part.id]
    await store.archive.withdraw(opened)
    assert store.books.get(book).active_leaf == third.id
    assert opened.part.id not in store.story.tree(book)


def old_part(store: Store, book: Book) -> Part:
    return store.story.append(
        book,
        "Wolves came.",
        turn=Turn(scene_setting="ford", instructions="two"),
        reasoning="because",
        tokens=41,
        words=2,
        reasoning_tokens=7,
        edited=True,
        partial=True,
        request_time=START,
        first_token_time=START,
        reasoning_end_time=START,
        model="Old model",
        protocol="Old protocol",
        prompt_tokens=812,
        finish_reason="length",
        background_lore="old lore",
        variables={"step": "2"},
        attributes={"ext.mark": "keep"},
        images=({"resource": "img-1"},),
        receipt=receipt("old order"),
    )


async def test_regenerate_clears_all_but_images_and_what_extensions_keep(store: Store, book: Book) -> None:
    old = old_part(store, book)
    opened = await store.archive.open_part(opening(book, Regenerate(old), attributes={"ext.new": 1}))
    assert opened.original == old
    part = opened.part
    assert (part.id, part.uid, part.parent_id, part.created) == (old.id, old.uid, old.parent_id, old.created)
    assert (part.text, part.reasoning, part.tokens, part.words, part.reasoning_tokens) == ("", "", 0, 0, 0)
    assert (part.edited, part.partial, part.prompt_tokens, part.finish_reason) == (False, False, None, "")
    assert (part.first_token_time, part.reasoning_end_time) == (None, None)
    assert (part.model, part.variables, part.turn) == ("stub-1", {"step": "3"}, Turn(instructions="Go on."))
    assert part.images == old.images
    assert part.attributes == {"ext.mark": "keep", "ext.new": 1}
    assert store.story.tree(book)[part.id].blank


async def test_the_text_before_a_regenerate_stays_as_a_revision(store: Store, book: Book) -> None:
    old = old_part(store, book)
    opened = await store.archive.open_part(opening(book, Regenerate(old)))
    await store.archive.close_part(replace(opened.part, text="Done."), None)
    assert [(each.text, each.current) for each in store.story.revisions(old)] == [
        ("Wolves came.", False),
        ("Done.", True),
    ]


@pytest.mark.parametrize("closed_first", [False, True])
async def test_a_withdrawn_regenerate_leaves_everything_as_it_was(
    store: Store, book: Book, *, closed_first: bool
) -> None:
    old = old_part(store, book)
    later = store.story.append(book, "And went.")
    opened = await store.archive.open_part(opening(book, Regenerate(old)))
    if closed_first:
        await store.archive.close_part(opened.part, None)
    await store.archive.withdraw(opened)
    assert store.library.part(old.id) == old
    assert store.story.receipt(old) == (None if closed_first else receipt("old order"))
    assert store.books.get(book).active_leaf == later.id
    assert store.books.get(book).global_variables == {}
    assert store.story.tree(book)[old.id].tokens == 41


async def test_a_summary_on_a_regenerated_part_goes_with_its_text_and_comes_back_with_it(
    store: Store, book: Book
) -> None:
    old = old_part(store, book)
    summary = store.summaries.attach(Summary(id=SummaryId(0), part_id=old.id, text="s", source_hash="h"))
    opened = await store.archive.open_part(opening(book, Regenerate(old)))
    assert store.summaries.summary_for(old) is None
    await store.archive.withdraw(opened)
    assert store.summaries.summary_for(old) == summary
    opened = await store.archive.open_part(opening(book, Regenerate(old)))
    await store.archive.close_part(replace(opened.part, text="Done."), None)
    assert store.summaries.summary_for(old) is None
    assert store.summaries.all(book) == ()


async def test_what_is_being_written_is_not_edited_deleted_or_opened_twice(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    await store.archive.open_part(opening(book, Regenerate(part)))
    with pytest.raises(Busy):
        store.story.edit(part, "other")
    with pytest.raises(Busy):
        store.story.delete(part)
    with pytest.raises(Busy):
        store.books.delete(book)
    with pytest.raises(Busy):
        await store.archive.open_part(opening(book, Regenerate(part)))


async def test_a_parent_that_is_gone_refuses_the_part_and_stores_nothing(store: Store, book: Book) -> None:
    with pytest.raises(NotFound):
        await store.archive.open_part(opening(book, parent=PartId(999)))
    assert store.story.parts(book) == ()
    assert store.books.get(book).global_variables == {}


async def test_another_users_book_is_not_there(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    other = store.for_user("odo")
    with pytest.raises(NotFound):
        await other.archive.open_part(opening(book))
    with pytest.raises(NotFound):
        other.library.manuscript(book.id)
    with pytest.raises(NotFound):
        other.library.part(part.id)
    assert other.library.texts([part.id]) == {}


async def test_saving_a_book_in_the_middle_of_a_run_keeps_leaf_and_variables(
    store: Store, book: Book
) -> None:
    opened = await store.archive.open_part(opening(book))
    saved = store.books.save(replace(book, name="Renamed"))
    assert (saved.name, saved.active_leaf) == ("Renamed", opened.part.id)
    assert saved.global_variables == {"laps": "5"}
    closed = await store.archive.close_part(replace(opened.part, text="Done."), None)
    assert store.books.get(book).name == "Renamed"
    assert store.story.branch(book) == (closed,)


async def test_half_a_character_becomes_a_mark_and_the_rest_is_stored(store: Store, book: Book) -> None:
    opened = await store.archive.open_part(opening(book, variables={"v": "\ud83d"}))
    broken = replace(opened.part, text="smile \ud83d", reasoning="\ude00!")
    await store.archive.checkpoint(broken)
    closed = await store.archive.close_part(broken, None)
    assert closed.text == "smile \ufffd"
    assert store.library.part(closed.id).text == "smile \ufffd"


async def test_changes_are_told_after_each_commit(store: Store, book: Book) -> None:
    told: list[Change] = []
    end = store.on_change(told.append)
    foreign: list[Change] = []
    store.for_user("odo").on_change(foreign.append)
    opened = await store.archive.open_part(opening(book))
    await store.archive.checkpoint(replace(opened.part, text="So"))
    await store.archive.close_part(replace(opened.part, text="So."), None)
    assert [(change.kind, change.book_id) for change in told] == [
        ("story", book.id),
        ("draft", book.id),
        ("story", book.id),
    ]
    assert foreign == []
    end()
    store.story.append(book, "x")
    assert len(told) == 3


async def test_outdated_summaries_are_dropped_and_a_meta_summary_gives_back_what_it_replaced(
    store: Store, book: Book
) -> None:
    first, second = store.story.append(book, "P1"), store.story.append(book, "P2")
    plain = store.summaries.attach(Summary(id=SummaryId(0), part_id=first.id, text="s1", source_hash="h1"))
    inner = store.summaries.attach(Summary(id=SummaryId(0), part_id=second.id, text="s2", source_hash="h2"))
    meta = replace(inner, text="m", source_hash="hm", oldest_id=first.id, replaced=inner)
    store.summaries.attach(meta)
    await store.archive.drop_summaries(book.id, [meta.id, plain.id])
    assert store.summaries.summary_for(second) == inner
    assert store.summaries.summary_for(first) is None
    assert store.library.manuscript(book.id).summaries == {inner.id: inner}
