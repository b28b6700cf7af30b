"""The shelf of summaries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.errors import NotFound
from marginalia.store import Change, Store
from marginalia.story.parts import Part, Summary
from marginalia.values import Book, SummaryId
from tests.store.helpers import START, forget


def plain(part: Part, text: str) -> Summary:
    return Summary(
        id=SummaryId(0), part_id=part.id, text=text, source_hash=f"h-{text}", created=START, tokens=1
    )


def test_an_attached_summary_is_on_its_part_and_in_the_manuscript(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    assert store.summaries.summary_for(part) is None
    summary = store.summaries.attach(replace(plain(part, "s1"), extra={"model": "m"}))
    assert summary.id
    assert store.summaries.summary_for(part.id) == summary
    assert store.story.part(part).summary_id == summary.id
    forget(store)
    manuscript = store.library.manuscript(book.id)
    assert manuscript.summaries == {summary.id: summary}
    assert manuscript.tree[part.id].summary_id == summary.id
    assert store.summaries.all(book) == (summary,)


def test_a_meta_summary_takes_over_the_id_and_gives_back_one_level_at_a_time(
    store: Store, book: Book
) -> None:
    first, second = store.story.append(book, "P1"), store.story.append(book, "P2")
    oldest, inner = store.summaries.attach(plain(first, "s1")), store.summaries.attach(plain(second, "s2"))
    meta = replace(inner, text="m", source_hash="hm", oldest_id=first.id, replaced=inner)
    upper = replace(meta, text="mm", source_hash="hmm", replaced=meta)
    store.summaries.attach(meta)
    store.summaries.attach(upper)
    forget(store)
    assert store.summaries.summary_for(second) == upper
    assert store.summaries.remove(second, unwind=True) == meta
    assert store.summaries.remove(second) == inner
    assert store.summaries.remove(second) is None
    assert store.summaries.all(book) == (oldest,)


def test_removing_without_unwinding_leaves_the_part_without_summary(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    inner = store.summaries.attach(plain(part, "s"))
    store.summaries.attach(replace(inner, text="m", replaced=inner, oldest_id=part.id))
    assert store.summaries.remove(part, unwind=False) is None
    assert store.summaries.summary_for(part) is None
    assert store.story.part(part).summary_id is None


def test_a_removed_summary_is_kept_in_the_trash(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    store.summaries.attach(plain(part, "long work"))
    store.summaries.remove(part)
    rows = store._desk.database.read(lambda session: session.rows("SELECT kind, data FROM trash"))
    assert rows[0][0] == "summary"
    assert "long work" in rows[0][1]


def test_an_edited_text_is_counted_again_and_keeps_its_hash(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    summary = store.summaries.attach(plain(part, "s"))
    edited = store.summaries.replace_text(part, "three words now")
    assert edited == replace(summary, text="three words now", tokens=3)
    with pytest.raises(NotFound, match="no summary"):
        store.summaries.replace_text(store.story.append(book, "P2"), "x")


def test_a_summary_goes_to_the_trash_with_its_part_and_comes_back_with_it(store: Store, book: Book) -> None:
    store.story.append(book, "P1")
    part = store.story.append(book, "P2")
    summary = store.summaries.attach(plain(part, "s"))
    store.story.delete(part)
    assert store.summaries.all(book) == ()
    store.story.undelete(part)
    assert store.summaries.all(book) == (summary,)


def test_another_users_summaries_are_not_there_and_changes_are_told(store: Store, book: Book) -> None:
    part = store.story.append(book, "P1")
    told: list[Change] = []
    store.on_change(told.append)
    store.summaries.attach(plain(part, "s"))
    assert told == [Change(kind="summary", book_id=book.id)]
    other = store.for_user("odo").summaries
    for attempt in (
        lambda: other.summary_for(part),
        lambda: other.attach(plain(part, "x")),
        lambda: other.remove(part),
    ):
        with pytest.raises(NotFound):
            attempt()
