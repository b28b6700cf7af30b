"""Receipts in the database: the messages as numbers of shared texts, everything else as compressed JSON."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from marginalia.prompt.receipt import Receipt
from marginalia.store import blobs
from marginalia.store.codec import bare, fields_of, from_json, rebuilt, to_json
from marginalia.values import Message

if TYPE_CHECKING:
    from marginalia.store.session import Session, Transaction
    from marginalia.values import BookId, PartId

_APART = frozenset({"messages"})


def store_receipt(transaction: Transaction, book: BookId, part: PartId, receipt: Receipt) -> int:
    """Add a receipt; returns its number. Receipts are never changed, a part's versions point to theirs."""
    numbers = blobs.intern(transaction, [message.content for message in receipt.messages])
    body = fields_of(receipt, without=_APART)
    body["messages"] = [
        (message.role, number) for message, number in zip(receipt.messages, numbers, strict=True)
    ]
    row = transaction.rows(
        "INSERT INTO receipt (part_id, book_id, model, prompt_tokens, body, created_at) VALUES (?, ?, ?, ?, ?, ?) "
        "RETURNING id",
        part,
        book,
        receipt.model,
        receipt.prompt_tokens,
        zlib.compress(to_json(body).encode()),
        bare(receipt.created),
    )
    return int(row[0][0])


def find_receipt(session: Session, number: int | None) -> Receipt | None:
    """The receipt with that number, whole again."""
    row = None if number is None else session.row("SELECT body FROM receipt WHERE id = ?", number)
    if row is None:
        return None
    body = from_json(zlib.decompress(row[0]).decode())
    sent = body.pop("messages")
    texts = blobs.fetch(session, (number for _, number in sent))
    messages = tuple(Message(role=role, content=texts[number]) for role, number in sent)
    return rebuilt(Receipt, body, messages=messages)
