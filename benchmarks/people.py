"""What one process carries: several people at once, each signed in with a browser window of their own (Chromium).

    python -m benchmarks.people [--writers 8] [--minutes 1]

First every writer signs in and opens a book: the memory of one more session, and how long its page is built. Then all
write at the same time: each types into the instructions, presses Generate, and reads an answer of 50 tokens a second to
its end, again and again. Prints the stalls of the server's loop, the rate that arrives, and how the memory grows; ends
with 1 when a stall is longer than 100 ms, the memory grows, or a text is not whole. As in benchmarks.streaming, on a
machine that lets even a thread without a loop wait, stalls are judged by the processor time of one callback.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.streaming import LONGEST_STALL, RATE, Watch, quantile, resident, words
from benchmarks.streaming import server as model_server
from marginalia import Studio
from marginalia.cli import main as marginalia
from marginalia.cli.people import People

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PASSWORD = "a password of enough length"  # noqa: S105 - of people who do not exist
TOKENS = 300  # of one answer: six seconds
KEPT_PER_PART = 20_000  # bytes: its text, its prompt and its receipt, in what is remembered of the database
MOST_GROWTH = 12.0  # megabytes, beside what is kept of the parts


@dataclass(frozen=True)
class Seen:
    """What the server's process saw of itself since it was last asked."""

    late: list[float]
    machine: float
    memory: list[float]
    longest: dict[str, float]

    @property
    def callback(self) -> float:
        """The processor time of the longest callback; 0 when all took less than 20 ms."""
        return max(self.longest.values(), default=0.0)

    @property
    def stall(self) -> float:
        return self.callback if self.machine > LONGEST_STALL / 2 else max(self.late)


class Observed:
    """Watches the loop of this process, and writes what it saw to a file whenever it gets SIGUSR1."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)  # the server takes the one that is there
        self._longest = dict[str, float]()
        self._time_callbacks()
        self._time_collections()
        self._loop.call_soon(self._begin)
        self._loop.add_signal_handler(signal.SIGUSR1, self._tell)

    def _time_callbacks(self) -> None:
        """Note the callback of the loop that takes the most processor time: what holds up all others, alone."""
        run, thread = asyncio.Handle._run, threading.get_ident()  # noqa: SLF001 - there is no other place to stand

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            took = time.thread_time() - began
            if took > 0.02 and threading.get_ident() == thread:
                name = _named(handle)
                self._longest[name] = max(took, self._longest.get(name, 0.0))

        asyncio.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001 - the same

    def _time_collections(self) -> None:
        """Note the garbage collection that takes the most processor time, by generation: it can be in any callback."""
        began = [0.0]

        def noted(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                began[0] = time.thread_time()
            elif (took := time.thread_time() - began[0]) > 0.02:
                name = f"a collection of generation {info['generation']}"
                self._longest[name] = max(took, self._longest.get(name, 0.0))

        gc.callbacks.append(noted)

    def _begin(self) -> None:
        self._longest = dict[str, float]()
        self._watch, self._over = Watch(), Event()
        Thread(target=self._compare, args=(self._watch, self._over), daemon=True).start()
        self._tasks = [self._loop.create_task(each) for each in (self._watch.tick(), self._watch.weigh())]

    @staticmethod
    def _compare(watch: Watch, over: Event) -> None:
        """How long a thread without a loop has to wait on this machine."""
        while not over.is_set():
            began = time.perf_counter()
            time.sleep(0.005)
            watch.machine = max(watch.machine, time.perf_counter() - began - 0.005)

    def _tell(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._over.set()
        watch = self._watch
        seen = {
            "late": watch.late,
            "longest": self._longest,
            "machine": watch.machine,
            "memory": [*watch.memory, resident()],
        }
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(seen))
        new.replace(self._file)
        self._begin()


def _named(handle: asyncio.Handle) -> str:
    """Which coroutine or function a callback is."""
    callback = handle._callback  # type: ignore[attr-defined]  # noqa: SLF001 - the name is only told
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return repr(callback)[:120]
    names, inner = list[str](), task.get_coro()
    while inner is not None and hasattr(inner, "cr_await"):  # where it waits now, the innermost last
        names.append(inner.__qualname__)
        inner = inner.cr_await
    return " > ".join(names)


@dataclass
class App:
    """``marginalia serve`` in a process that watches itself."""

    address: str
    process: subprocess.Popen[str]
    file: Path

    async def seen(self) -> Seen:
        self.process.send_signal(signal.SIGUSR1)
        while not self.file.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.05)
        seen = Seen(**json.loads(self.file.read_text()))
        self.file.unlink()
        return seen


@contextmanager
def served(home: Path) -> Iterator[App]:
    file = home / "seen.json"
    command = [sys.executable, "-m", "benchmarks.people", "--serve", str(home), str(file)]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        yield App(process.stdout.readline().split()[3], process, file)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.communicate()


def furnish(home: Path, writers: int, model_url: str) -> dict[str, int]:
    """People, each with a book of their own; the numbers of the books by name."""
    people, books = People(home / "people.json"), dict[str, int]()
    with Studio(home / "marginalia.db", extensions=()) as owner:
        for number in range(writers):
            name = f"writer{number}"
            people.add(name, PASSWORD)
            studio = owner.for_user(name)
            provider = studio.providers.create(
                name="S",
                base_url=model_url,
                model=f"{TOKENS}/{1 / RATE}",
                max_context=16384,
                max_response=1024,
            )
            book = studio.books.create(
                name="B", provider=provider, protocol=studio.protocols.create(name="P")
            )
            for part in range(40):
                studio.story.append(book, f"Part {part}. " + "The sea had been up since noon. " * 40)
            books[name] = int(book.id)
    return books


async def sign_in(browser: Browser, app: App, name: str, book: int) -> tuple[Page, float]:
    """A window with that book, and the seconds from the address to a page that one can write in."""
    page = await (await browser.new_context(viewport={"width": 1400, "height": 860})).new_page()
    page.set_default_timeout(120_000)
    await page.goto(app.address)
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Generate", exact=True).wait_for()
    began = time.perf_counter()
    await page.goto(f"{app.address}?book={book}")
    await page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    return page, time.perf_counter() - began


async def write(page: Page, until: float) -> int:
    """Write parts until then; how many."""
    generate, parts = page.get_by_role("button", name="Generate", exact=True), 0
    while time.perf_counter() < until:
        await page.get_by_label("Instructions").fill("")
        await page.get_by_label("Instructions").press_sequentially(f"The tide comes in, {parts}.", delay=60)
        await generate.click()
        await page.get_by_role("button", name="Stop", exact=True).wait_for()
        await generate.and_(page.locator(":enabled")).wait_for()
        parts += 1
    return parts


async def measure(writers: int, minutes: float) -> bool:
    with TemporaryDirectory() as folder, model_server() as model_url:
        home = Path(folder)
        books = furnish(home, writers, model_url)
        with served(home) as app:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
                pages = await open_all(browser, app, books)
                began = time.perf_counter()
                written = await asyncio.gather(*(write(page, began + minutes * 60) for page in pages))
                seen, lasted = await app.seen(), time.perf_counter() - began
                await browser.close()
        whole = count_whole(home, books)
    return report(seen, lasted, sum(written), whole)


async def open_all(browser: Browser, app: App, books: dict[str, int]) -> list[Page]:
    pages, memory, waits, stalls = list[Page](), list[float](), list[float](), list[float]()
    for name, book in books.items():
        page, waited = await sign_in(browser, app, name, book)
        pages.append(page)
        waits.append(waited)
        await asyncio.sleep(1)
        seen = await app.seen()
        memory.append(seen.memory[-1])
        stalls.append(seen.callback)
    more = (memory[-1] - memory[0]) / max(1, len(memory) - 1)
    # Each has two sessions: the page they came to, and their book.
    print(
        f"{len(pages)} people signed in: {memory[0]:.0f} MB with the first, {more:.1f} MB for each one more; a book "
        f"stands after {sorted(waits)[len(waits) // 2]:.1f} s, its page keeps the loop for "
        f"{sorted(stalls)[len(stalls) // 2] * 1000:.0f} ms"
    )
    return pages


def count_whole(home: Path, books: dict[str, int]) -> int:
    """How many parts in the database are an answer from its first word to its last."""
    expected = "".join(words(TOKENS)).strip()
    with Studio(home / "marginalia.db", extensions=()) as owner:
        studios = {name: owner.for_user(name) for name in books}
        return sum(
            part.text.strip() == expected
            for name, studio in studios.items()
            for part in studio.story.parts(studio.books.get(books[name]))
        )


def report(seen: Seen, lasted: float, written: int, whole: int) -> bool:
    third = seen.memory[len(seen.memory) // 3 :]
    growth, allowed = third[-1] - third[0], MOST_GROWTH + written * KEPT_PER_PART / 1e6
    print(
        f"{written} parts in {lasted:.0f} s ({written * TOKENS / lasted:.0f} tokens/s), {whole} whole; longest stall "
        f"of the loop {max(seen.late) * 1000:.0f} ms (99.9 % under {quantile(seen.late) * 1000:.0f} ms), one "
        f"callback {seen.callback * 1000:.0f} ms of processor time, a thread without a loop waited "
        f"{seen.machine * 1000:.0f} ms; memory {seen.memory[-1]:.0f} MB, "
        f"{growth:+.1f} MB in the last two thirds (allowed {allowed:.0f})"
    )
    for name, took in sorted(seen.longest.items(), key=lambda each: -each[1])[:5]:
        print(f"  {took * 1000:4.0f} ms in one callback: {name}")
    return whole == written and seen.stall <= LONGEST_STALL and growth <= allowed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        home, file = arguments.serve
        Observed(Path(file))
        sys.exit(marginalia(["--home", home, "serve", "--port", "0", "--auth", "--copy-every", "0"]))
    sys.exit(0 if asyncio.run(measure(arguments.writers, arguments.minutes)) else 1)


if __name__ == "__main__":
    main()
