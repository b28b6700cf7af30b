"""After a crash: what had arrived of an answer becomes a partial part, what had not is taken back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from marginalia.store.drafts import finish, take_back
from marginalia.store.rows import pages_of
from marginalia.story.parts import count_words

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.prompt.tokens import Tokenizer
    from marginalia.store.pages import Draft
    from marginalia.store.session import Transaction
    from marginalia.story.parts import Part
    from marginalia.values import PartId


def recover(transaction: Transaction, tokenizer: Tokenizer, now: datetime) -> tuple[PartId, ...]:
    """Settle the drafts that a run left behind, of whatever user; returns the parts that kept a text."""
    kept: list[PartId] = []
    for (book,) in transaction.rows("SELECT DISTINCT book_id FROM draft ORDER BY book_id"):
        for draft in tuple(pages_of(transaction, book).drafts.values()):
            if draft.part.text.strip():
                finish(transaction, _partial(draft, tokenizer), None, now, "recovered")
                kept.append(draft.part.id)
            else:
                take_back(transaction, draft, None, now)
    return tuple(kept)


def _partial(draft: Draft, tokenizer: Tokenizer) -> Part:
    part = draft.part
    return dataclasses.replace(
        part,
        partial=True,
        tokens=tokenizer.count(part.text),
        words=count_words(part.text),
        reasoning_tokens=tokenizer.count(part.reasoning),
    )
