"""A store with its own clock and ids, and the requests that a run would make."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from marginalia.pipeline.ports import Opening
from marginalia.prompt.receipt import Receipt
from marginalia.store import Store
from marginalia.testing import WordTokenizer
from marginalia.values import Book, Message, NewPart, PartId, Request, Turn

START = datetime(2027, 1, 1, 10, 0, tzinfo=UTC)


def open_store(path: Path | str) -> Store:
    ticks, ids = count(1), count(1)
    return Store.open(
        path,
        user="mara",
        clock=lambda: START + timedelta(seconds=next(ticks)),
        tokenizer=WordTokenizer(),
        new_uid=lambda: f"uid-{next(ids)}",
    )


def opening(
    book: Book, request: Request | None = None, parent: PartId | None = None, **fields: object
) -> Opening:
    given: dict[str, object] = {
        "turn": Turn(instructions="Go on."),
        "model": "stub-1",
        "protocol": "Plain",
        "variables": {"step": "3"},
        "shared_variables": {"laps": "5"},
        "background_lore": "The ford is deep.",
        "attributes": {},
        "request_time": START,
        "receipt": receipt("Write well.", "Go on."),
    }
    return Opening(book=book.id, request=request or NewPart(), parent=parent, **(given | fields))  # type: ignore[arg-type]


def receipt(*contents: str, request: str = "new") -> Receipt:
    return Receipt(
        run_id="run-1",
        request=request,
        created=START,
        messages=tuple(Message(role="user", content=content) for content in contents),
    )


def fill_up(folder: Path) -> None:
    """Leave no room on the disk of a folder."""
    with (folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def forget(store: Store) -> None:
    """Nothing is in memory any more, as after a start."""
    memory = store._desk.database._memory
    with memory._lock:
        memory._values.clear()
        memory._used = 0
