"""Taking a backup: a book's rows, all of one moment."""

from __future__ import annotations

import dataclasses
import zlib
from typing import TYPE_CHECKING, Any

from marginalia.store import blobs
from marginalia.store.backup_records import (
    BookBackup,
    BookRow,
    EntryRow,
    NamedRow,
    PartRow,
    ReceiptRow,
    SummaryRow,
    TextRow,
    TrashRow,
    VersionRow,
    without_keys,
)
from marginalia.store.codec import fields_of, from_json, utc
from marginalia.store.rows import APART, pages_of
from marginalia.store.tables import BOOKS, LOREBOOKS, PROTOCOLS, PROVIDERS, Table
from marginalia.story.parts import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from marginalia.lore.book import Lorebook
    from marginalia.prompt.tokens import Tokenizer
    from marginalia.store.pages import Draft
    from marginalia.store.session import Row, Session
    from marginalia.values import Book, BookId, Protocol, Provider

_LINKS = frozenset({"provider_id", "protocol_id", "lorebook_id"})
_PARTS = (
    "SELECT id, uid, parent_id, text_id, summary_id, created_at, deleted_at, label, bookmarked FROM part "
    "WHERE book_id = ? ORDER BY id"
)
_VERSIONS = (
    "SELECT id, part_id, origin, text, reasoning, lore_id, receipt_id, detail, created_at FROM part_text "
    "WHERE book_id = ? ORDER BY id"
)
_RECEIPTS = "SELECT id, part_id, body, created_at FROM receipt WHERE book_id = ? ORDER BY id"
_SUMMARIES = "SELECT id, part_id, data, created_at FROM summary WHERE book_id = ? ORDER BY id"
_DRAFT_LORE = "SELECT part_id, lore_id FROM draft WHERE book_id = ?"
_TRASH = (
    "SELECT kind, item_id, data, deleted_at FROM trash WHERE book_id = ? AND kind IN ('part', 'summary') "
    "ORDER BY id"
)


def read_backup(session: Session, number: BookId, user: str, tokenizer: Tokenizer) -> BookBackup:
    """The book with everything in it; raises ``NotFound``. What is just being written counts as stopped here."""
    book = BOOKS.mine(session, number, user)
    queries = (_PARTS, _VERSIONS, _RECEIPTS, _SUMMARIES, _TRASH, _DRAFT_LORE)
    parts, versions, receipts, summaries, trash, lore = session.together(
        *((sql, [number]) for sql in queries)
    )
    lorebooks = _lorebooks(session, book, user)
    told = _settled(
        BookBackup(
            book=_book_row(book, lorebooks),
            provider=_provider_row(session, book, user),
            protocol=_protocol_row(session, book, user),
            parts=tuple(_part_row(row) for row in parts),
            versions=tuple(_version_row(row) for row in versions),
            receipts=tuple(_receipt_row(row) for row in receipts),
            summaries=tuple(_summary_row(row) for row in summaries),
            trash=tuple(_trash_row(row) for row in trash),
            lorebooks=tuple(_lorebook_row(each) for each in lorebooks),
            entries=_entries(session, lorebooks),
        ),
        tuple(pages_of(session, number).drafts.values()),
        lore=dict(lore),
        tokenizer=tokenizer,
    )
    return dataclasses.replace(told, texts=_texts(session, told))


def _book_row(book: Book, lorebooks: Sequence[Lorebook]) -> BookRow:
    return BookRow(
        uid=book.uid,
        name=book.name,
        settings=fields_of(book, without=BOOKS.apart | _LINKS),
        created=book.created,
        active_part=book.active_leaf,
        variables=dict(book.global_variables),
        lorebook=lorebooks[0].id if lorebooks else None,
    )


def _provider_row(session: Session, book: Book, user: str) -> NamedRow | None:
    found = PROVIDERS.find(session, book.provider_id)
    return None if found is None or found.owner != user else _named_row(PROVIDERS, without_keys(found))


def _protocol_row(session: Session, book: Book, user: str) -> NamedRow | None:
    found = PROTOCOLS.find(session, book.protocol_id)
    return None if found is None or found.owner != user else _named_row(PROTOCOLS, found)


def _named_row(table: Table[Any], record: Provider | Protocol | Lorebook) -> NamedRow:
    settings = fields_of(record, without=table.apart | {"subbooks"})
    return NamedRow(id=record.id, uid=record.uid, name=record.name, settings=settings, created=record.created)


def _lorebook_row(lorebook: Lorebook) -> NamedRow:
    return dataclasses.replace(_named_row(LOREBOOKS, lorebook), below=tuple(lorebook.subbooks))


def _lorebooks(session: Session, book: Book, user: str) -> tuple[Lorebook, ...]:
    """The book's lorebook and all below it, each once, the book's own first."""
    found: dict[int, Lorebook] = {}
    waiting: list[int] = [] if book.lorebook_id is None else [book.lorebook_id]
    for number in waiting:  # grows while it is walked
        lorebook = None if number in found else LOREBOOKS.find(session, number)
        if lorebook is not None and lorebook.owner == user:
            found[number] = lorebook
            waiting.extend(lorebook.subbooks)
    return tuple(found.values())


def _entries(session: Session, lorebooks: Sequence[Lorebook]) -> tuple[EntryRow, ...]:
    sql = (
        "SELECT id, lorebook_id, uid, name, data, created_at, deleted_at FROM entry "
        "WHERE lorebook_id IN (SELECT unnest(?)) ORDER BY id"
    )
    rows = session.rows(sql, [each.id for each in lorebooks]) if lorebooks else []
    return tuple(
        EntryRow(
            id=number,
            lorebook=lorebook,
            uid=uid,
            name=name,
            settings=from_json(data),
            created=None if created is None else utc(created),
            deleted=None if deleted is None else utc(deleted),
        )
        for number, lorebook, uid, name, data, created, deleted in rows
    )


def _part_row(row: Row) -> PartRow:
    number, uid, parent, version, summary, created, deleted, label, bookmarked = row
    return PartRow(
        id=number,
        uid=uid,
        parent=parent,
        version=version,
        summary=summary,
        created=utc(created),
        deleted=None if deleted is None else utc(deleted),
        label=label,
        bookmarked=bookmarked,
    )


def _version_row(row: Row) -> VersionRow:
    number, part, origin, text, reasoning, lore, receipt, detail, created = row
    return VersionRow(
        id=number,
        part=part,
        origin=origin,
        text=text,
        reasoning=reasoning,
        lore=lore,
        receipt=receipt,
        detail=from_json(detail),
        created=utc(created),
    )


def _receipt_row(row: Row) -> ReceiptRow:
    number, part, packed, created = row
    body: dict[str, Any] = from_json(zlib.decompress(packed).decode())
    messages = tuple((role, text) for role, text in body.pop("messages"))
    return ReceiptRow(id=number, part=part, messages=messages, body=body, created=utc(created))


def _summary_row(row: Row) -> SummaryRow:
    number, part, data, created = row
    return SummaryRow(id=number, part=part, data=from_json(data), created=utc(created))


def _trash_row(row: Row) -> TrashRow:
    kind, item, data, deleted = row
    return TrashRow(kind=kind, item=item, data=from_json(data), deleted=utc(deleted))


def _texts(session: Session, backup: BookBackup) -> tuple[TextRow, ...]:
    wanted = {version.lore for version in backup.versions if version.lore is not None}
    wanted |= {text for receipt in backup.receipts for _, text in receipt.messages}
    found = blobs.fetch(session, wanted)
    return tuple(TextRow(id=number, text=found[number]) for number in sorted(found))


def _settled(
    backup: BookBackup, drafts: Sequence[Draft], *, lore: Mapping[int, int | None], tokenizer: Tokenizer
) -> BookBackup:
    """*backup* as if the parts that wait for their answer had been stopped at this moment."""
    if not drafts:
        return backup
    newest = max((version.id for version in backup.versions), default=0)
    stopped = {draft.part.id: draft for draft in drafts if draft.part.text.strip()}
    versions = {
        part: dataclasses.replace(_stopped_version(draft, newest + place, tokenizer), lore=lore.get(part))
        for place, (part, draft) in enumerate(stopped.items(), 1)
    }
    former: dict[int, int] = {draft.part.id: draft.before.text_id for draft in drafts if draft.before.text_id}
    current: dict[int, int] = former | {part: version.id for part, version in versions.items()}
    gone: dict[int, int | None] = {
        draft.part.id: draft.part.parent_id for draft in drafts if draft.part.id not in current
    }
    leaf = backup.book.active_part
    return dataclasses.replace(
        backup,
        book=dataclasses.replace(backup.book, active_part=_kept(leaf, gone)),
        parts=tuple(_placed(backup.parts, current, gone)),
        versions=(*backup.versions, *versions.values()),
        receipts=tuple(each for each in backup.receipts if each.part not in gone),
    )


def _stopped_version(draft: Draft, number: int, tokenizer: Tokenizer) -> VersionRow:
    part = dataclasses.replace(
        draft.part,
        partial=True,
        tokens=tokenizer.count(draft.part.text),
        words=count_words(draft.part.text),
        reasoning_tokens=tokenizer.count(draft.part.reasoning),
    )
    return VersionRow(
        id=number,
        part=part.id,
        origin="recovered",
        text=part.text,
        reasoning=part.reasoning,
        receipt=draft.receipt_id,
        detail=fields_of(part, without=APART),
        created=part.created,
    )


def _placed(
    parts: Sequence[PartRow], current: Mapping[int, int], gone: Mapping[int, int | None]
) -> Iterator[PartRow]:
    for part in parts:
        if part.id not in gone:
            yield dataclasses.replace(
                part, version=current.get(part.id, part.version), parent=_kept(part.parent, gone)
            )


def _kept(part: int | None, gone: Mapping[int, int | None]) -> int | None:
    while part is not None and part in gone:
        part = gone[part]
    return part
