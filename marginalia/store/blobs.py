"""Texts that many rows share, stored once: found by their content, referred to by a number."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from marginalia.store.session import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from marginalia.store.session import Session, Transaction

_LARGEST = 2**63 - 1


def intern(transaction: Transaction, texts: Sequence[str]) -> list[int]:
    """The numbers of *texts*, in their order; those that are new are stored."""
    prints = [_fingerprint(text) for text in texts]
    wanted = dict(zip(prints, texts, strict=True))
    numbers: dict[str, int] = {}
    new: dict[int, str] = {}
    step = 0
    while len(numbers) < len(wanted):  # more than one round only if two texts begin with the same 63 bits
        tried = {(int(each[:16], 16) + step) & _LARGEST: each for each in wanted if each not in numbers}
        taken = _stored(transaction, tried)
        numbers |= {
            each: number
            for number, each in tried.items()
            if (taken.get(number) or new.setdefault(number, each)) == each
        }
        step += 1
    if new:
        transaction.rows(
            "INSERT INTO blob SELECT unnest(?), unnest(?), unnest(?)",
            list(new),
            list(new.values()),
            [storable(wanted[each]) for each in new.values()],
        )
    return [numbers[each] for each in prints]


def fetch(session: Session, numbers: Iterable[int]) -> dict[int, str]:
    """The texts with those numbers."""
    wanted = list(set(numbers))
    if not wanted:
        return {}
    return dict(session.rows("SELECT id, text FROM blob WHERE id IN (SELECT unnest(?))", wanted))


def _stored(transaction: Transaction, numbers: Iterable[int]) -> dict[int, str]:
    sql = "SELECT id, sha256 FROM blob WHERE id IN (SELECT unnest(?))"
    return dict(transaction.rows(sql, list(numbers)))


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
