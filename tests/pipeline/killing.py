"""A writer that is killed while it streams; run by test_kill.py and by benchmarks/kills.py.

The child prints ``part ID`` when a part is complete and stored, and ``text N`` when the part that streams has
at least N characters.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import marginalia as mg
from marginalia.testing import ScriptedServer, Stream, WordTokenizer

WORD = "salt "
PACE = 0.004

CHILD = """
import sys, anyio
import marginalia as mg
from marginalia.testing import WordTokenizer

async def main(path, base_url):
    studio = mg.Studio(path, tokenizer=WordTokenizer(), extensions=())
    books = studio.books.all()
    book = books[0] if books else studio.books.create(
        name="Killed",
        provider=studio.providers.create(name="S", base_url=base_url, model="m", max_context=10**6, max_response=9),
        protocol=studio.protocols.create(name="P"))
    provider = studio.providers.get(book.provider_id)
    import dataclasses
    studio.providers.save(dataclasses.replace(provider, base_url=base_url))
    while True:
        run = studio.generate(book, mg.Turn(instructions="Go on."))
        seen = 0
        while not run.ended:
            seen = await run.changed(seen)
            print("text", len(run.text), flush=True)
        print("part", run.part.id, flush=True)

anyio.run(main, *sys.argv[1:])
"""


@dataclass
class Told:
    """What the child said before it was killed, with the time of each saying."""

    parts: list[int] = field(default_factory=list)
    texts: list[tuple[float, int]] = field(default_factory=list)

    def length_a_second_ago(self, now: float) -> int:
        return max((length for when, length in self.texts if when <= now - 1.0), default=0)


def kill_once(path: Path, after: float, told: Told) -> float:
    """Let a child write for *after* seconds from its first words on, then kill it; gives the time of the kill."""
    stream = Stream(*[WORD] * 400, pace=PACE)
    with ScriptedServer(default=stream) as server:
        command = [sys.executable, "-c", CHILD, str(path), server.base_url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                killed = _listen(child.stdout, told, after)
            finally:
                child.kill()
            _rest(child.stdout, told)
    return killed


def _listen(lines: IO[str], told: Told, after: float) -> float:
    deadline: float | None = None
    for line in lines:
        now = time.monotonic()
        deadline = deadline or now + after
        _note(line, told, now)
        if now >= deadline:
            return now
    raise AssertionError("the writer ended by itself")


def _rest(lines: IO[str], told: Told) -> None:
    for line in lines:
        if line.endswith("\n"):
            _note(line, told, time.monotonic())


def _note(line: str, told: Told, now: float) -> None:
    word, number = line.split()
    if word == "part":
        told.parts.append(int(number))
        told.texts.clear()
    else:
        told.texts.append((now, int(number)))


def check(path: Path, told: Told, killed: float) -> None:
    """Open what the killed writer left.

    Every acknowledged part whole, the last one partial and at most a second short.
    """
    with mg.Studio(path, tokenizer=WordTokenizer(), extensions=()) as studio:
        book = studio.books.all()[0]
        branch = {part.id: part for part in studio.story.branch(book)}
        for part in told.parts:
            assert branch[part].text == WORD * 400, f"part {part} lost text"  # type: ignore[index]
            assert not branch[part].partial  # type: ignore[index]
        least = told.length_a_second_ago(killed)
        last = list(branch.values())[-1]
        if least:
            assert last.partial or last.text == WORD * 400  # it may have been finished, but not yet said so
            assert len(last.text) >= least, (
                f"{least - len(last.text)} characters more than a second old were lost"
            )
        assert all(part.text for part in branch.values())


def kill_often(path: Path, times: int, seed: int) -> None:
    """Kill a writer on one file again and again."""
    dice = random.Random(seed)
    told = Told()
    for _ in range(times):
        told.texts.clear()
        killed = kill_once(path, dice.uniform(0.05, 2.5), told)
        check(path, told, killed)
