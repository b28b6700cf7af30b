"""Reading from other threads while somebody writes."""

from __future__ import annotations

import threading
from dataclasses import replace

import anyio

from marginalia.errors import NotFound
from marginalia.store import Store
from marginalia.store.rows import pages_of
from marginalia.store.session import Session
from marginalia.store.tables import BOOKS
from marginalia.values import Book
from tests.store.helpers import forget, opening


def test_an_answer_put_together_from_two_moments_is_put_together_again(store: Store, book: Book) -> None:
    store.story.append(book, "R")
    leaf, looks = store.story.append(book, "L"), list[bool]()

    def look(session: Session) -> bool:
        record = BOOKS.mine(session, book.id, "mara")
        if not looks:
            store.story.delete(leaf)  # as another thread may
        looks.append(record.active_leaf in pages_of(session, book.id).tree)
        return looks[-1]

    assert store._desk.database.read(look)
    assert looks == [False, True]


def test_a_manuscript_read_beside_a_writer_is_always_of_one_moment(store: Store, book: Book) -> None:
    root, wrong, done = store.story.append(book, "R"), list[str](), threading.Event()

    def look() -> None:
        while not done.is_set():
            manuscript = store.library.manuscript(book.id)
            leaf = manuscript.book.active_leaf
            if leaf not in manuscript.tree:
                wrong.append(f"the active leaf {leaf} is not in the tree")
            try:
                store.story.branch(book)
            except NotFound as error:
                wrong.append(str(error))

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(40):
        forget(store)  # so that readers load while the writer commits
        store.story.delete(store.story.append(book, "L", parent=root))
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


async def test_a_cancelled_call_is_finished_all_the_same(store: Store, book: Book) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        opened = await store.archive.open_part(opening(book))
        assert opened.part.id in store.story.tree(book)
    assert len(store.story.parts(book)) == 1


async def test_two_books_can_be_written_at_once(store: Store, book: Book) -> None:
    other = store.books.create(name="Other")
    texts: dict[int, str] = {}

    async def write(which: Book, text: str) -> None:
        opened = await store.archive.open_part(opening(which))
        for end in range(1, len(text)):
            await store.archive.checkpoint(replace(opened.part, text=text[:end]))
        closed = await store.archive.close_part(replace(opened.part, text=text), None)
        texts[closed.book_id] = closed.text

    async with anyio.create_task_group() as group:
        group.start_soon(write, book, "Snow fell.")
        group.start_soon(write, other, "Wolves came.")
    assert texts == {book.id: "Snow fell.", other.id: "Wolves came."}
    assert [part.text for part in store.story.branch(book)] == ["Snow fell."]
