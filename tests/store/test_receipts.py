"""Receipts: whole when read, small when stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from marginalia.prompt.receipt import EntryNote, Receipt
from marginalia.prompt.segments import Segment, SegmentKind
from marginalia.store import Store, blobs
from marginalia.store.receipts import store_receipt
from marginalia.values import Book, Limits, Message, Sampling, Usage
from tests.store.helpers import START, open_store, receipt


def full_receipt(system: str, order: str) -> Receipt:
    return Receipt(
        run_id="run-1",
        request="swipe",
        created=START,
        messages=(Message(role="system", content=system), Message(role="user", content=order)),
        segments=(
            Segment(
                kind=SegmentKind.LORE,
                message=0,
                start=1,
                end=9,
                tokens=2,
                source="Varro",
                source_id=3,
                reason="text",
            ),
        ),
        lore=(EntryNote(entry_id=3, name="Varro", active=True, reason="found varro"),),
        left_out=4,
        templates={"master": "ab12"},
        versions={"engine": "1"},
        seed=2**63,
        provider="Local",
        model="m",
        protocol="Plain",
        sampling=Sampling(temperature=0.7),
        limits=Limits(context=4000, response=500),
        prompt_tokens=812,
        usage=Usage(prompt_tokens=812, raw={"x": {"y": [1]}}),
        finish_reason="stop",
        timings={"first_token": 0.25},
        extra={"ext": [1, None]},
    )


def test_a_receipt_comes_back_whole(store: Store, book: Book) -> None:
    sent = full_receipt("Write well.", "Go on.")
    part = store.story.append(book, "x", receipt=sent)
    assert store.story.receipt(part) == sent
    assert store.story.receipt(store.story.append(book, "by hand")) is None


def test_five_hundred_parts_do_not_store_the_system_prompt_five_hundred_times(file: Path) -> None:
    system = " ".join(f"word{number}" for number in range(3_000))  # about 26 KB
    store = open_store(file)
    book = store.books.create(name="B")
    part = store.story.append(book, "x")
    receipts = [full_receipt(system, f"order {number}") for number in range(500)]
    store._desk.database.write(
        lambda transaction: [store_receipt(transaction, book.id, part.id, each) for each in receipts]
    )
    rows = store._desk.database.read(
        lambda session: session.rows("SELECT count(*), sum(length(text)) FROM blob")
    )
    body = store._desk.database.read(
        lambda session: session.rows("SELECT avg(octet_length(body)) FROM receipt")
    )
    store.close()
    assert rows[0][0] == 501
    assert rows[0][1] < 2 * len(system)
    assert body[0][0] < 1_000
    assert file.stat().st_size < 500 * len(system) / 2


def test_texts_whose_numbers_collide_are_kept_apart(store: Store) -> None:
    def work(transaction: object) -> list[int]:
        return blobs.intern(transaction, ["a", "b", "a"])  # type: ignore[arg-type]

    first = store._desk.database.write(work)
    assert first[0] == first[2] != first[1]
    assert store._desk.database.write(work) == first
    number = int(blobs._fingerprint("taken")[:16], 16) & (2**63 - 1)
    store._desk.database.write(lambda tx: tx.rows("INSERT INTO blob VALUES (?, 'other', 'other')", number))
    moved = store._desk.database.write(lambda tx: blobs.intern(tx, ["taken"]))
    assert moved == [number + 1]
    assert store._desk.database.write(lambda tx: blobs.intern(tx, ["taken"])) == moved
    assert store._desk.database.read(lambda session: blobs.fetch(session, moved)) == {number + 1: "taken"}


def test_a_receipt_with_half_a_character_in_it_is_stored(store: Store, book: Book) -> None:
    sent = replace(receipt("half \ud83d"), extra={"answer": "\ude00"})
    part = store.story.append(book, "x", receipt=sent)
    found = store.story.receipt(part)
    assert found is not None
    assert found.messages[0].content == "half \ufffd"
    assert found.extra == {"answer": "\ufffd"}
