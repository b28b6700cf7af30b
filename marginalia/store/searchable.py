"""The texts of a story as they are searched: a table beside the texts themselves, which DuckDB scans on all cores.

Versions never change, so neither does their row; versions that have none yet are folded while searching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from marginalia.store.memory import Key
from marginalia.story.search import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from marginalia.store.session import Session, Transaction
    from marginalia.story.search import Query
    from marginalia.values import BookId

BATCH: Final = 500  # versions that are read or stored at once; anybody else's work comes in between
_SPARE = 2_000  # rows of versions that are no part's any more, before they are cleared away
_NO_WILDCARD = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def searchable_key(book: BookId) -> Key[frozenset[int]]:
    """Under what is remembered which versions of a book have a row."""
    return Key("searchable", book)


def searchable(session: Session, book: BookId) -> frozenset[int]:
    """The versions of a book that have a row."""

    def load() -> frozenset[int]:
        table, _ = session.moment(("SELECT text_id FROM search_text WHERE book_id = ?", [book]))
        return frozenset(table["text_id"].tolist())

    return session.recall(searchable_key(book), load)


def matching(session: Session, book: BookId, query: Query) -> list[int]:
    """The versions among those with a row in which every term occurs."""
    conditions = ["book_id = ?"]
    given: list[object] = [book]
    for pieces in query.terms:
        if len(pieces) == 1:
            conditions.append("contains(folded, ?)")
            given.append(pieces[0])
        else:
            conditions.append("folded LIKE ? ESCAPE '\\'")
            given.append(f"%{'%'.join(piece.translate(_NO_WILDCARD) for piece in pieces)}%")
    sql = f"SELECT text_id FROM search_text WHERE {' AND '.join(conditions)}"  # noqa: S608 - conditions of ours
    table, _ = session.moment((sql, given))
    versions: list[int] = table["text_id"].tolist()
    return versions


def folded_texts(session: Session, versions: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Versions with their texts as they are searched, read past the memory of texts.

    A whole book there would push out what is needed for writing.
    """
    for start in range(0, len(versions), BATCH):
        batch = list(versions[start : start + BATCH])
        rows = session.rows("SELECT id, text FROM part_text WHERE id IN (SELECT unnest(?))", batch)
        yield from ((row[0], fold(row[1])) for row in rows)


def store_searchable(transaction: Transaction, book: BookId, folded: Sequence[tuple[int, str]]) -> None:
    """Give versions their row, those that are still there and have none."""
    known = searchable(transaction, book)
    sql = "SELECT id FROM part_text WHERE book_id = ? AND id IN (SELECT unnest(?))"
    living = {row[0] for row in transaction.rows(sql, book, [version for version, _ in folded])}
    fresh = [(version, text) for version, text in folded if version in living - known]
    if fresh:
        versions, texts = (list(column) for column in zip(*fresh, strict=True))
        transaction.rows(
            "INSERT INTO search_text (text_id, book_id, folded) SELECT unnest(?::BIGINT[]), ?, unnest(?::VARCHAR[])",
            versions,
            book,
            texts,
        )
        transaction.put(searchable_key(book), known | living)


def mostly_older(rows: int, versions: int) -> bool:
    """Whether of a book's rows most are of texts that were edited since; it has so many *versions* now."""
    return rows > 2 * versions + _SPARE


def clear_older(transaction: Transaction, book: BookId) -> None:
    """Drop the rows of what was edited since."""
    transaction.rows(
        "DELETE FROM search_text WHERE book_id = ? AND text_id NOT IN (SELECT text_id FROM part WHERE book_id = ?)",
        book,
        book,
    )
    transaction.forget(searchable_key(book))
