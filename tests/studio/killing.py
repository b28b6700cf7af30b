"""A studio that writes, edits, imports, generates and migrates until it is killed; what it acknowledged must be there.

Run by test_killing.py and by benchmarks/kills.py. The child prints a JSON line for each thing that was stored.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import marginalia as mg
from marginalia.store.backup_verify import verify_own
from marginalia.store.migrations import open_migrated, shipped
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.values import PartId

WORD = "salt "
ANSWER = WORD * 60
ENTRIES = 300
CHAPTERS = 40
OLD_PARTS = 200

WRITER = """
import dataclasses, json, sys, anyio
import marginalia as mg
from marginalia.testing import WordTokenizer
from tests.studio.killing import card, story

def say(*what):
    sys.stdout.write(json.dumps(what) + "\\n")
    sys.stdout.flush()

async def generate(studio, book):
    while True:
        run = studio.generate(book, mg.Turn(instructions="Go on."))
        outcome = await run.settled()
        say("generated", outcome.part.id)

async def write(studio, book, start):
    number = start
    while True:
        number += 1
        part = await anyio.to_thread.run_sync(studio.story.append, book, f"{number} written " + "snow " * 200)
        say("written", part.id, number)
        number += 1
        await anyio.to_thread.run_sync(studio.story.edit, part, f"{number} edited " + "frost " * 200)
        say("edited", part.id, number)

async def take_in(studio):
    while True:
        report = await anyio.to_thread.run_sync(studio.lorebooks.import_file, card())
        say("lore", report.lorebooks[0].id)
        told = await anyio.to_thread.run_sync(studio.import_story, story())
        say("story", told.book.id)
        await anyio.sleep(0.2)

async def main(path, base_url, start):
    studio = mg.Studio(path, tokenizer=WordTokenizer(), extensions=())
    books = {book.name: book for book in studio.books.all()}
    if "Generated" not in books:
        provider = studio.providers.create(name="S", base_url=base_url, model="m", max_context=10**6, max_response=9)
        protocol = studio.protocols.create(name="P")
        for name in ("Generated", "Written"):
            books[name] = studio.books.create(name=name, provider=provider, protocol=protocol)
    provider = studio.providers.get(books["Generated"].provider_id)
    studio.providers.save(dataclasses.replace(provider, base_url=base_url))
    say("ready")
    async with anyio.create_task_group() as group:
        group.start_soon(generate, studio, books["Generated"])
        group.start_soon(write, studio, books["Written"], int(start))
        group.start_soon(take_in, studio)

anyio.run(main, *sys.argv[1:])
"""

MIGRATOR = """
import sys
from tests.store.helpers import open_store
print("ready", flush=True)
open_store(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def card() -> bytes:
    """A lorebook of SillyTavern with many entries."""
    entries = {
        str(number): {
            "uid": number,
            "key": [f"key{number}"],
            "content": f"lore {number}",
            "comment": f"E{number}",
        }
        for number in range(ENTRIES)
    }
    return json.dumps({"entries": entries}).encode()


def story() -> bytes:
    """A chat of SillyTavern with many messages."""
    head = {"user_name": "Mara", "character_name": "Elias", "create_date": "2026-01-01", "chat_metadata": {}}
    lines = [
        {"name": "Elias", "is_user": False, "send_date": "2026-01-01", "mes": f"message {number}"}
        for number in range(CHAPTERS)
    ]
    return "\n".join(json.dumps(each) for each in [head, *lines]).encode()


@dataclass
class Told:
    """What was acknowledged, over all rounds."""

    generated: list[int] = field(default_factory=list)
    written: dict[int, int] = field(default_factory=dict)
    lore: list[int] = field(default_factory=list)
    stories: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def note(self, line: str) -> None:
        said: list[Any] = json.loads(line)
        self.kinds[said[0]] += 1
        match said:
            case ["generated", part]:
                self.generated.append(part)
            case ["written" | "edited", part, number]:
                self.written[part] = number
            case ["lore", number]:
                self.lore.append(number)
            case ["story", number]:
                self.stories.append(number)
            case _:
                pass

    @property
    def last(self) -> int:
        return max(self.written.values(), default=0)


def kill_a_writer(path: Path, after: float, told: Told) -> None:
    """Let a child work for *after* seconds from its first words on, then kill it."""
    with ScriptedServer(default=Stream(*[WORD] * 60, pace=0.004)) as server:
        command = [sys.executable, "-c", WRITER, str(path), server.base_url, str(told.last + 2)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                line = child.stdout.readline()
                assert line, "the writer did not begin"
                told.note(line)
                time.sleep(after)
                assert child.poll() is None, "the writer ended by itself"
            finally:
                child.kill()
            for line in child.stdout:
                if line.endswith("\n"):
                    told.note(line)


def check_writer(path: Path, told: Told) -> None:
    """Open what the killed writer left: everything acknowledged is there, and what was half done is done or is not."""
    with mg.Studio(path, tokenizer=WordTokenizer(), extensions=()) as studio:
        books = {book.name: book for book in studio.books.all() if book.name in ("Generated", "Written")}
        parts = {part.id: part for book in books.values() for part in studio.story.parts(book)}
        for part in told.generated:
            assert parts[PartId(part)].text == ANSWER
            assert not parts[PartId(part)].partial
        for part, number in told.written.items():
            found = int(parts[PartId(part)].text.split()[0])
            assert number <= found <= number + 1, f"part {part} has text {found}, {number} was acknowledged"
        lore = {book.id: book for book in studio.lorebooks.all()}
        assert set(told.lore) <= lore.keys()
        for each in lore:
            assert len(studio.lorebooks.entries(each)) == ENTRIES, "a lorebook came in by halves"
        others = {book.id for book in studio.books.all()} - {book.id for book in books.values()}
        assert set(told.stories) <= others
        for each in others:
            assert len(studio.story.parts(each)) == CHAPTERS, "a story came in by halves"


def make_old(path: Path) -> None:
    """A database of the first schema, with a story in it."""
    now = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    connection = open_migrated(path, shipped()[:1])
    connection.execute(
        "INSERT INTO book (uid, owner, name, data, created_at, updated_at) VALUES ('b', 'mara', 'B', '{}', ?, ?)",
        [now, now],
    )
    for number in range(1, OLD_PARTS + 1):
        connection.execute(
            "INSERT INTO part (uid, book_id, text_id, created_at) VALUES (?, 1, ?, ?)",
            [f"p{number}", number, now],
        )
        connection.execute(
            "INSERT INTO part_text (part_id, book_id, origin, text, reasoning, detail, created_at) "
            "VALUES (?, 1, 'written', ?, '', ?, ?)",
            [number, f"{number} " + "snow " * 50, json.dumps({"uid": f"p{number}"}), now],
        )
    connection.close()


def kill_a_migration(old: Path, folder: Path, after: float) -> bool:
    """Kill a child that brings a copy of *old* to the newest schema; whether it had come to its end by then.

    Whatever moment it was, the file opens, has everything, and has come to the newest schema.
    """
    path = folder / "migrated.db"
    shutil.copy2(old, path)
    command = [sys.executable, "-c", MIGRATOR, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(after)
        child.kill()
        done = child.stdout.read() == "open\n"
    check_migrated(path)
    for left in folder.glob("migrated.db*"):
        left.unlink()
    return done


def check_migrated(path: Path) -> None:
    from tests.store.helpers import open_store  # noqa: PLC0415 - the child of this module imports it without the store

    store = open_store(path)
    (book,) = store.books.all()
    texts = sorted(int(part.text.split()[0]) for part in store.story.parts(book))
    assert texts == list(range(1, OLD_PARTS + 1))
    store.story.append(book, "It goes on.")
    store.close()
    assert verify_own(path).schema == shipped()[-1].version


def kill_often(folder: Path, times: int, seed: int, *, migrations: int) -> Told:
    """Kill *times* writers on one file, and *migrations* migrations of an old one; what was acknowledged."""
    dice, told = random.Random(seed), Told()
    for _ in range(times):
        kill_a_writer(folder / "killed.db", dice.uniform(0.0, 2.0), told)
        check_writer(folder / "killed.db", told)
    if times:
        assert verify_own(folder / "killed.db").problems == ()
    old = folder / "old.db"
    make_old(old)
    for _ in range(migrations):
        done = kill_a_migration(old, folder, dice.uniform(0.0, 0.25))
        told.kinds["migrated" if done else "cut short"] += 1
    return told
