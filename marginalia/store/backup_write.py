"""Putting the story of a checked backup into a book, in one transaction, with numbers of its own."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from marginalia.store import blobs
from marginalia.store.codec import bare, to_json
from marginalia.store.journal import forget_steps
from marginalia.store.memory import Key
from marginalia.store.pages import pages_key
from marginalia.store.searchable import searchable_key
from marginalia.values import PartId, untold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from marginalia.store.backup_records import BookBackup, PartRow, ReceiptRow, TrashRow, VersionRow
    from marginalia.store.session import Transaction
    from marginalia.values import BookId, Progress

_BATCH = 2000  # rows of one statement
_STORY_TABLES = ("part_text", "search_text", "part", "receipt", "summary", "draft")
_COLUMNS = {
    "part": (
        "id BIGINT, uid VARCHAR, book_id BIGINT, parent_id BIGINT, text_id BIGINT, summary_id BIGINT, "
        "tokens INTEGER, words INTEGER, blank BOOLEAN, partial BOOLEAN, created_at TIMESTAMP, deleted_at "
        "TIMESTAMP, label VARCHAR, bookmarked BOOLEAN"
    ),
    "part_text": (
        "id BIGINT, part_id BIGINT, book_id BIGINT, origin VARCHAR, text VARCHAR, reasoning VARCHAR, "
        "lore_id BIGINT, receipt_id BIGINT, detail VARCHAR, created_at TIMESTAMP"
    ),
    "receipt": (
        "id BIGINT, part_id BIGINT, book_id BIGINT, model VARCHAR, prompt_tokens INTEGER, body BLOB, "
        "created_at TIMESTAMP"
    ),
    "summary": "id BIGINT, book_id BIGINT, part_id BIGINT, data VARCHAR, created_at TIMESTAMP",
    "trash": "kind VARCHAR, item_id BIGINT, book_id BIGINT, data VARCHAR, deleted_at TIMESTAMP",
}
_STORY_SEGMENTS = frozenset({"story", "summary"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """From the numbers in a backup to those in this database, and how a part is called that had its uid taken."""

    parts: Mapping[int, int]
    versions: Mapping[int, int]
    receipts: Mapping[int, int]
    summaries: Mapping[int, int]
    texts: Mapping[int, int]
    entries: Mapping[int, int] = field(default_factory=dict[int, int])
    uids: Mapping[int, str] = field(default_factory=dict[int, str])


def clear_story(transaction: Transaction, book: BookId) -> None:
    """Really delete every part of a book, with its texts, receipts and summaries, and what of it is in the trash."""
    for (part,) in transaction.rows("SELECT id FROM part WHERE book_id = ?", book):
        transaction.forget(Key("home", part))
    for table in _STORY_TABLES:
        transaction.rows(f"DELETE FROM {table} WHERE book_id = ?", book)  # noqa: S608 - names of ours
    transaction.rows("DELETE FROM trash WHERE book_id = ? AND kind IN ('part', 'summary')", book)
    transaction.forget(searchable_key(book))
    forget_steps(transaction, book)


def write_story(
    transaction: Transaction,
    book: BookId,
    backup: BookBackup,
    *,
    new_uid: Callable[[], str],
    entries: Mapping[int, int],
    progress: Progress = untold,
) -> PartId | None:
    """Store the parts, versions, receipts, summaries and trash of *backup* in *book*; returns the active leaf's id.

    *entries* leads from the entries of the backup to those that stand for them here. The old story is still there.
    """
    progress(0.2)
    numbers = _numbered(transaction, book, backup, new_uid, entries)
    progress(0.4)
    _write_parts(transaction, book, backup, numbers)
    progress(0.5)
    _write_versions(transaction, book, backup.versions, numbers)
    progress(0.8)
    _write_receipts(transaction, book, backup.receipts, numbers)
    progress(0.95)
    _write_summaries(transaction, book, backup, numbers)
    _write_trash(transaction, book, backup.trash, numbers)
    transaction.forget(pages_key(book))
    leaf = _moved(backup.book.active_part, numbers.parts)
    return None if leaf is None else PartId(leaf)


def _numbered(
    transaction: Transaction,
    book: BookId,
    backup: BookBackup,
    new_uid: Callable[[], str],
    entries: Mapping[int, int],
) -> Numbers:
    # In the order of creation, so that siblings made in one moment keep theirs (J-28).
    parts = sorted(backup.parts, key=lambda part: (part.created, part.id))
    texts = blobs.intern(transaction, [each.text for each in backup.texts])
    draw = partial(_fresh, transaction)
    return Numbers(
        parts=draw("part_id", [each.id for each in parts]),
        versions=draw("text_id", [each.id for each in backup.versions]),
        receipts=draw("receipt_id", [each.id for each in backup.receipts]),
        summaries=draw("summary_id", [each.id for each in backup.summaries]),
        texts=dict(zip((each.id for each in backup.texts), texts, strict=True)),
        entries=entries,
        uids=_free_uids(transaction, book, parts, new_uid),
    )


def _fresh(transaction: Transaction, sequence: str, numbers: Sequence[int]) -> dict[int, int]:
    rows = transaction.rows(f"SELECT nextval('{sequence}') FROM range(?)", len(numbers))  # noqa: S608 - names of ours
    return dict(zip(numbers, sorted(row[0] for row in rows), strict=True))


def _free_uids(
    transaction: Transaction, book: BookId, parts: Sequence[PartRow], new_uid: Callable[[], str]
) -> dict[int, str]:
    """Each part's uid, or a new one where a part of another book has it."""
    sql = "SELECT uid FROM part WHERE book_id <> ? AND uid IN (SELECT unnest(?::VARCHAR[]))"
    taken = {row[0] for row in transaction.rows(sql, book, [part.uid for part in parts])} | {""}
    uids: dict[int, str] = {}
    for part in parts:
        uids[part.id] = new_uid() if part.uid in taken else part.uid
        taken.add(part.uid)
    return uids


def _write_parts(transaction: Transaction, book: BookId, backup: BookBackup, numbers: Numbers) -> None:
    said = {version.id: version for version in backup.versions}
    rows = [_part_row(part, said[part.version], book, numbers) for part in backup.parts]
    _insert(transaction, "part", sorted(rows))


def _part_row(part: PartRow, version: VersionRow, book: BookId, numbers: Numbers) -> tuple[Any, ...]:
    return (
        numbers.parts[part.id],
        numbers.uids[part.id],
        book,
        _moved(part.parent, numbers.parts),
        numbers.versions[part.version],
        _moved(part.summary, numbers.summaries),
        version.detail.get("tokens", 0),
        version.detail.get("words", 0),
        not version.text.strip(),
        version.detail.get("partial", False),
        bare(part.created),
        None if part.deleted is None else bare(part.deleted),
        part.label,
        part.bookmarked,
    )


def _write_versions(
    transaction: Transaction, book: BookId, versions: Sequence[VersionRow], numbers: Numbers
) -> None:
    rows = [
        (
            numbers.versions[each.id],
            numbers.parts[each.part],
            book,
            each.origin,
            each.text,
            each.reasoning,
            _moved(each.lore, numbers.texts),
            _moved(each.receipt, numbers.receipts),
            to_json({**each.detail, "uid": numbers.uids[each.part]}),
            bare(each.created),
        )
        for each in versions
    ]
    _insert(transaction, "part_text", rows)


def _write_receipts(
    transaction: Transaction, book: BookId, receipts: Sequence[ReceiptRow], numbers: Numbers
) -> None:
    rows = [
        (
            numbers.receipts[each.id],
            numbers.parts[each.part],
            book,
            each.body.get("model", ""),
            each.body.get("prompt_tokens", 0),
            zlib.compress(to_json(_receipt_body(each, numbers)).encode()),
            bare(each.created),
        )
        for each in receipts
    ]
    _insert(transaction, "receipt", rows)


def _receipt_body(receipt: ReceiptRow, numbers: Numbers) -> dict[str, Any]:
    """The receipt with what it points to, as far as that is here."""
    body = dict(receipt.body)
    body["messages"] = [(role, numbers.texts[text]) for role, text in receipt.messages]
    body["segments"] = [_segment(each, numbers) for each in body.get("segments", ())]
    body["lore"] = [
        {**each, "entry_id": numbers.entries.get(each["entry_id"], 0)} for each in body.get("lore", ())
    ]
    return body


def _segment(segment: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    known = numbers.parts if segment["kind"] in _STORY_SEGMENTS else numbers.entries
    return {**segment, "source_id": _moved(segment.get("source_id"), known)}


def _write_summaries(transaction: Transaction, book: BookId, backup: BookBackup, numbers: Numbers) -> None:
    rows = [
        (
            numbers.summaries[each.id],
            book,
            numbers.parts[each.part],
            to_json(
                _summary(
                    each.data,
                    numbers,
                    {"id": numbers.summaries[each.id], "part_id": numbers.parts[each.part]},
                )
            ),
            bare(each.created),
        )
        for each in backup.summaries
    ]
    _insert(transaction, "summary", rows)


def _summary(data: Mapping[str, Any], numbers: Numbers, own: Mapping[str, int]) -> dict[str, Any]:
    """A summary's fields with its pointers led to this database, also inside what it replaced (B1 106).

    A meta summary and what it replaced share one number and one part: *own*, for those that say them.
    """
    moved: dict[str, Any] = {**data, **{name: number for name, number in own.items() if name in data}}
    if "oldest_id" in moved:
        moved["oldest_id"] = _moved(moved["oldest_id"], numbers.parts)
    if moved.get("replaced"):
        moved["replaced"] = _summary(moved["replaced"], numbers, own)
    return moved


def _write_trash(transaction: Transaction, book: BookId, trash: Sequence[TrashRow], numbers: Numbers) -> None:
    found = [(each, _deleted(transaction, each, numbers)) for each in trash]
    rows = [(each.kind, to.number, book, to_json(to.data), bare(each.deleted)) for each, to in found if to]
    _insert(transaction, "trash", rows)


class _Deleted(NamedTuple):
    """What a deleted part or summary is numbered here, and what it needs to come back."""

    number: int
    data: dict[str, Any]


def _deleted(transaction: Transaction, row: TrashRow, numbers: Numbers) -> _Deleted | None:
    """``None`` for a summary whose part is gone."""
    if row.kind == "part":
        return _Deleted(numbers.parts[row.item], _place(row.data, numbers))
    part = numbers.parts.get(row.data["part_id"])
    if part is None:
        return None
    number = numbers.summaries.get(row.item) or _fresh(transaction, "summary_id", [row.item])[row.item]
    return _Deleted(number, _summary(row.data, numbers, {"id": number, "part_id": part}))


def _place(data: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    children = [numbers.parts[child] for child in data["children"] if child in numbers.parts]
    return {**data, "parent": _moved(data["parent"], numbers.parts), "children": children}


def _insert(transaction: Transaction, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = [column.split() for column in _COLUMNS[table].split(", ")]
    names, values = (
        ", ".join(name for name, _ in columns),
        ", ".join(f"unnest(?::{kind}[])" for _, kind in columns),
    )
    sql = f"INSERT INTO {table} ({names}) SELECT {values}"
    for start in range(0, len(rows), _BATCH):
        of_batch = zip(*rows[start : start + _BATCH], strict=True)
        transaction.rows(sql, *(list(column) for column in of_batch))


def _moved(number: int | None, numbers: Mapping[int, int]) -> int | None:
    return None if number is None else numbers.get(number)
