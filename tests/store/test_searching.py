"""Searching a story, its outline, statistics and drawing as they are read from the store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginalia.errors import NotFound
from marginalia.store import Store
from marginalia.store import searchable as searchable_module
from marginalia.store.backup_write import clear_story
from marginalia.store.searchable import searchable_key
from marginalia.story.outline import Count
from marginalia.story.search import Query, fold
from marginalia.values import Book, NewPart, PartId
from tests.store.helpers import forget, open_store, opening


def found(store: Store, book: Book, query: str) -> list[PartId]:
    return [hit.part for hit in store.story.search(book, query)]


def rows(store: Store) -> list[str]:
    """What is stored to be searched."""
    read = store._desk.database.read
    return [row[0] for row in read(lambda session: session.rows("SELECT folded FROM search_text"))]


def test_all_branches_are_searched_and_hits_say_whether_they_are_on_the_one_that_is_read(
    store: Store, book: Book
) -> None:
    first = store.story.append(book, "The ferry at dusk")
    other = store.story.append(book, "No ferry", parent=first)
    store.story.append(book, "Hail fell", parent=first)
    assert [(hit.part, hit.on_branch) for hit in store.story.search(book, "FERRY")] == [
        (first.id, True),
        (other.id, False),
    ]
    assert store.story.search(book, " ") == ()
    assert store.story.excerpts(book, [other], "ferry", radius=0) == {other.id: "…ferry"}


def test_a_prepared_search_reads_no_text_any_more(store: Store, book: Book) -> None:
    part = store.story.append(book, "The ferry")
    store.story.prepare_search(book)
    assert rows(store) == ["the ferry"]
    memory = store._desk.database._memory
    store._desk.database.write(lambda transaction: transaction.rows("UPDATE part_text SET text = 'no more'"))
    assert found(store, book, "ferry") == [part.id]
    assert memory.known(searchable_key(book.id)) == {1}
    store.story.prepare_search(book)
    assert rows(store) == ["the ferry"]


def test_edits_deletions_and_undoing_are_found_as_they_are_now(store: Store, book: Book) -> None:
    part = store.story.append(book, "wheel")
    assert found(store, book, "wheel") == [part.id]
    store.story.edit(part, "lantern")
    assert (found(store, book, "wheel"), found(store, book, "lantern")) == ([], [part.id])
    store.story.undo(book)
    assert (found(store, book, "wheel"), found(store, book, "lantern")) == ([part.id], [])
    store.story.delete(part)
    assert found(store, book, "wheel") == []


def test_a_part_that_is_being_written_is_found_by_what_has_come(store: Store, book: Book) -> None:
    opened = asyncio.run(store.archive.open_part(opening(book, NewPart())))
    assert found(store, book, "wheel") == []
    asyncio.run(store.archive.checkpoint(replace(opened.part, text="The wheel")))
    assert found(store, book, "wheel") == [opened.part.id]


def test_another_users_book_is_not_searched(store: Store, book: Book) -> None:
    part = store.story.append(book, "wheel")
    other = store.for_user("odo").story
    for attempt in (
        lambda: other.search(book, "wheel"),
        lambda: other.leaf_for(part),
        lambda: other.excerpts(book, [part], "wheel"),
        lambda: other.outline(book),
        lambda: other.drawing(book),
    ):
        with pytest.raises(NotFound):
            attempt()


WORDS = ["ferry", "Île", "100%", "salt_cake", "back\\slash", "ferryman", "STRASSE", "straße", "a*b"]


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=6),
    st.lists(
        st.tuples(st.integers(0, 9), st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)), max_size=4
    ),
    st.lists(st.sampled_from([*WORDS, "f*y", "ÎLE", "_", "%"]), min_size=1, max_size=2).map(" ".join),
)
@settings(max_examples=20)
def test_searching_agrees_with_a_scan_of_all_texts(
    texts: list[str], edits: list[tuple[int, str]], query: str
) -> None:
    store = open_store(":memory:")
    try:
        book = store.books.create(name="B")
        parts = [store.story.append(book, text) for text in texts]
        for at, text in edits:
            found(store, book, query)
            if at % 2:
                store.story.prepare_search(book)
            if parts:
                store.story.edit(parts[at % len(parts)], text)
        expected = [
            each.id for each in store.story.parts(book) if Query.parse(query).matches(fold(each.text))
        ]
        assert found(store, book, query) == expected
    finally:
        store.close()


def test_what_is_kept_for_searching_is_bounded_by_the_book(
    store: Store, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searchable_module, "_SPARE", 3)
    part = store.story.append(book, "text 0")
    for number in range(1, 9):
        store.story.edit(part, f"text {number}")
        store.story.prepare_search(book)
        assert len(rows(store)) <= 5
        assert found(store, book, f"text {number}") == [part.id]


def test_what_a_search_had_to_fold_it_has_not_to_the_next_time(store: Store, book: Book) -> None:
    for number in range(120):
        store.story.append(book, f"text {number}")
    assert len(found(store, book, "text")) == 120
    store._desk.database.write(lambda _transaction: None)  # after what the search left to be stored
    assert len(rows(store)) == 120
    store.story.append(book, "one more text")
    assert len(found(store, book, "text")) == 121
    store._desk.database.write(lambda _transaction: None)
    assert len(rows(store)) == 120  # one text is not worth it


def test_a_book_that_is_deleted_for_good_leaves_nothing_to_search(tmp_path: Path) -> None:
    store = open_store(tmp_path / "m.db")
    book = store.books.create(name="B")
    store.story.append(book, "The ferry")
    store.story.prepare_search(book)
    store._desk.database.write(lambda transaction: clear_story(transaction, book.id))
    assert rows(store) == []
    forget(store)
    assert found(store, book, "ferry") == []
    store.close()


def test_a_file_without_search_texts_is_searched_all_the_same_after_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path / "m.db")
    book = store.books.create(name="B")
    parts = [store.story.append(book, f"The ferry {number}") for number in range(3)]
    store.story.prepare_search(book)
    parts.append(store.story.append(book, "Another ferry"))
    store.close()
    store = open_store(tmp_path / "m.db")
    assert len(rows(store)) == 3
    assert found(store, book, "ferry") == [part.id for part in parts]
    store.close()


def test_the_leaf_for_a_found_part_is_told_and_not_activated(store: Store, book: Book) -> None:
    first = store.story.append(book, "1")
    far = store.story.append(book, "far", parent=store.story.append(book, "2", parent=first))
    near = store.story.append(book, "near", parent=first)
    assert store.story.leaf_for(first) == near
    store.story.activate(book, far)
    assert store.story.leaf_for(first) == far
    assert store.books.get(book).active_leaf == far.id


def test_outline_statistics_and_drawing_are_of_the_branch_that_is_read(store: Store, book: Book) -> None:
    first = store.story.append(book, "# The Ford\nSnow fell.")
    second = store.story.append(book, "Wolves came.")
    other = store.story.append(book, "Nobody came.", parent=first)
    assert [(row.words, row.heading, row.version) for row in store.story.outline(book)] == [
        ("The Ford", True, 1),
        ("Nobody came.", False, 2),
    ]
    assert [row.part for row in store.story.outline(book, 1, 2, leaf=second)] == [second.id]
    assert store.story.statistics(book) == (
        Count(parts=2, words=6, tokens=7),
        Count(parts=3, words=8, tokens=9),
    )
    store.story.edit(other, "x")
    assert store.story.statistics(book)[0] == Count(parts=2, words=5, tokens=6)
    marks = store.story.drawing(book).marks
    assert [(mark.parts, mark.lane, mark.here) for mark in marks] == [
        ((first.id,), 0, False),
        ((other.id,), 0, True),
        ((second.id,), 1, False),
    ]
