"""Figures of the story, each measured side by side in one run: ``uv run python -m benchmarks.story``.

* opening a book (nothing in memory) and reading its leaf, and what a page shows of it: 10,000 parts against 100
* the same with the file opened before, and once everything is in memory
* writing: open and withdraw a part, edit, undo, redo
* searching 10,000 parts of 500 words on all branches: never opened, with nothing in memory, and again
* drawing the tree of 5,000 and 10,000 parts
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from marginalia.store.backup_write import _insert
from marginalia.store.pages import pages_key
from marginalia.store.tables import BOOKS
from tests.store.helpers import forget, open_store, opening

if TYPE_CHECKING:
    from collections.abc import Callable

    from marginalia.store import Store
    from marginalia.store.session import Transaction
    from marginalia.values import Book, PartId

RUNS = 15
START = datetime(2027, 1, 1)  # noqa: DTZ001 - as the database has it
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "story.db")
        short, long = _book(store, 100), _book(store, 10_000)
        _compare(
            "reading the leaf of a book that is not in memory",
            lambda book: _leaf(store, book),
            short,
            long,
            lambda: forget(store),
        )
        _compare(
            "the first page of a book that is not in memory: 24 parts, their versions, 30 rows, the counts",
            lambda book: _page(store, book),
            short,
            long,
            lambda: forget(store),
        )
        _starts(Path(folder))
        _compare("reading the leaf, in memory", lambda book: _leaf(store, book), short, long)
        _compare("the last 30 rows of the outline", lambda book: store.story.outline(book, -30), short, long)
        _compare(
            "opening a part and withdrawing it", lambda book: _open_and_withdraw(store, book), short, long
        )
        _compare("an edit, undone and done again", lambda book: _edit(store, book), short, long)
        _searches(store, long)
        for size in (5_000, 10_000):
            book = _book(store, size, branches=True, words=5)
            folded, opened = (
                _median(lambda most=most, book=book: store.story.drawing(book, fold_from=most))
                for most in (6, size)
            )
            print(f"drawing {size:,} parts with branches: {folded:.0f} ms, unfolded {opened:.0f} ms")
        store.close()


def _compare(
    what: str,
    work: Callable[[Book], object],
    short: Book,
    long: Book,
    before: Callable[[], None] | None = None,
) -> None:
    few, many = [], []
    for _ in range(RUNS):  # in turns, so that whatever else the machine does hits both
        few.append(_median(lambda: work(short), 1, before))
        many.append(_median(lambda: work(long), 1, before))
    one, other = statistics.median(few), statistics.median(many)
    print(f"{what}: 100 parts {one:.2f} ms, 10,000 parts {other:.2f} ms, ratio {other / one:.2f}")


def _searches(store: Store, long: Book) -> None:
    """Before the book was ever opened in a window, which prepares the search, and afterwards."""
    queries = ("lamp", '"lamp went" o*t', "nothinglikethis", "e")
    took = _median(lambda: store.story.search(long, "lamp"), 1, lambda: forget(store))
    print(f"search in 10,000 parts of 500 words that were never opened or searched: {took:.0f} ms")
    store._desk.database.write(lambda transaction: transaction.rows("DELETE FROM search_text"))  # noqa: SLF001 - see above
    forget(store)
    took = _median(lambda: store.story.prepare_search(long), 1)
    print(f"preparing the search, aside, once in the life of a book: {took:.0f} ms")
    for query in queries:
        first = _median(lambda query=query: store.story.search(long, query), 5, lambda: forget(store))
        again = _median(lambda query=query: store.story.search(long, query))
        print(f"search {query!r}: nothing in memory {first:.0f} ms, again {again:.1f} ms")


def _starts(folder: Path) -> None:
    """The whole way from a closed file to the leaf, for a file with a short book and one with a long one."""
    files: dict[int, Path] = {}
    for size in (100, 10_000):
        files[size] = folder / f"{size}.db"
        store = open_store(files[size])
        _book(store, size)
        store.close()

    def start(size: int) -> None:
        store = open_store(files[size])
        _leaf(store, store.books.all()[0])
        store.close()

    times: dict[int, list[float]] = {size: [] for size in files}
    for _ in range(RUNS):
        for size, taken in times.items():
            taken.append(_median(lambda size=size: start(size), 1))
    short, long = (statistics.median(taken) for taken in times.values())
    print(
        f"from a closed file to the leaf: 100 parts {short:.0f} ms, 10,000 {long:.0f} ms, ratio {long / short:.2f}"
    )


def _median(work: Callable[[], object], runs: int = RUNS, before: Callable[[], None] | None = None) -> float:
    times: list[float] = []
    for _ in range(runs):
        if before is not None:
            before()
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1_000)
    return statistics.median(times)


def _leaf(store: Store, book: Book) -> None:
    leaf = store.books.get(book).active_leaf
    assert leaf is not None
    assert store.story.tree(book).branch(leaf)[-1] == leaf
    store.story.part(leaf)


def _page(store: Store, book: Book) -> None:
    """What a window reads when it opens a book."""
    leaf = store.books.get(book).active_leaf
    tree = store.story.tree(book)
    shown = tree.branch(leaf)[-24:]
    for part in shown:
        assert part in tree.siblings(part)
        store.story.part(part)
    store.story.outline(book, -30)
    store.story.statistics(book)


def _open_and_withdraw(store: Store, book: Book) -> None:
    leaf = store.books.get(book).active_leaf

    async def run() -> None:
        await store.archive.withdraw(await store.archive.open_part(opening(book, parent=leaf)))

    asyncio.run(run())


def _edit(store: Store, book: Book) -> None:
    leaf = store.books.get(book).active_leaf
    assert leaf is not None
    store.story.edit(leaf, f"{store.story.part(leaf).text} More.")
    store.story.undo(book)
    store.story.redo(book)


def _book(store: Store, size: int, *, branches: bool = False, words: int = 500) -> Book:
    """A book of *size* parts in a line, or with a branch at every seventh part; stored at once."""
    random = Random(size)
    vocabulary = ["".join(random.choices(LETTERS, k=random.randint(2, 9))) for _ in range(5_000)] + [
        "lamp",
        "went",
        "out",
    ]
    book = store.books.create(name=f"{size} parts")

    def work(transaction: Transaction) -> PartId:
        parts, texts = (_numbers(transaction, name, size) for name in ("part_id", "text_id"))
        rows, said = [], []
        for at, (part, text) in enumerate(zip(parts, texts, strict=True)):
            parent = (
                None if not at else parts[random.randrange(at)] if branches and not at % 7 else parts[at - 1]
            )
            created = START + timedelta(seconds=at)
            uid = f"{book.id}-{part}"
            rows.append(
                (part, uid, book.id, parent, text, None, words, words, False, False, created, None, "", False)
            )
            prose = " ".join(random.choices(vocabulary, k=words))
            said.append(
                (text, part, book.id, "written", prose, "", None, None, f'{{"uid": "{uid}"}}', created)
            )
        _insert(transaction, "part", rows)
        _insert(transaction, "part_text", said)
        transaction.forget(pages_key(book.id))
        BOOKS.move(transaction, book, leaf=parts[-1])
        return parts[-1]

    store._desk.database.write(work)  # noqa: SLF001 - a benchmark fills its own store
    return store.books.get(book)


def _numbers(transaction: Transaction, sequence: str, size: int) -> list[PartId]:
    return sorted(row[0] for row in transaction.rows(f"SELECT nextval('{sequence}') FROM range(?)", size))  # noqa: S608


if __name__ == "__main__":
    main()
