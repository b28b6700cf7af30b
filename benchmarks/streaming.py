"""The client against bare httpx, reading the same scripted server in a process of its own.

    python -m benchmarks.streaming [--chunks 4000] [--seconds 60]
    python -m benchmarks.streaming --only-stalls --seconds 1800

Prints rates as ratios of one run, the time to the first token, and what eight runs of one studio at 50 tokens a second
each do to its event loop for a minute: the longest stall, how the memory grows, and whether every text is whole. It
ends with 1 when a text is not whole, a stall is longer than 100 ms or the memory grows; the second form runs half an
hour. A bare loop in a process of its own, which does nothing but look at the clock, runs beside it: where the machine
lets even that one wait for half as long, stalls are judged by the processor time that the studio's loop took in one go.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.to_thread
import httpx

from marginalia import Book, Studio, Turn
from marginalia.inference import Models
from marginalia.pipeline.ports import Call, Chunk
from marginalia.testing import Recorded, ScriptedServer, Stream
from marginalia.values import Limits, Message, Protocol, Provider

ROUNDS = 5
RATE = 50.0
AT_ONCE = 8
LONGEST_STALL = 0.1
MOST_GROWTH = 8.0  # megabytes, beside what is kept of the answers
KEPT_BYTES = 300  # of each chunk while its run goes on, for windows that are opened later
PAGE = 4096


def serve() -> None:
    """The server's process: how many chunks, and how fast, stand in the name of the model."""

    def answer(request: Recorded) -> Stream:
        chunks, pace = request.body["model"].split("/")
        return Stream(*words(int(chunks)), pace=float(pace))

    with ScriptedServer(default=answer) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def words(number: int) -> Iterator[str]:
    """The pieces of an answer, each of which is different."""
    return (f" word{each}" for each in range(number))


@contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.streaming", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


async def bare(base_url: str, model: str) -> AsyncIterator[str]:
    """What a program without this library would write."""
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
    async with (
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", f"{base_url}/chat/completions", json=body) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                if delta.get("content"):
                    yield delta["content"]


async def ours(base_url: str, model: str) -> AsyncIterator[str]:
    provider = Provider(base_url=base_url, model=model)
    messages = (Message(role="user", content="Go on."),)
    call = Call(provider=provider, protocol=Protocol(), limits=Limits(), messages=messages)
    async with Models().stream(call) as arrivals:
        async for arrival in arrivals:
            if isinstance(arrival, Chunk):
                yield arrival.text


async def measure(texts: AsyncIterator[str]) -> tuple[float, float]:
    """Seconds to the first chunk, and chunks per second from there on."""
    began, first, count = time.perf_counter(), 0.0, 0
    async for _ in texts:
        first = first or time.perf_counter()
        count += 1
    return first - began, (count - 1) / (time.perf_counter() - first)


async def compare(base_url: str, model: str, what: str) -> None:
    found: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    for _ in range(ROUNDS):
        for name, reader in (("bare", bare), ("ours", ours)):
            found[name].append(await measure(reader(base_url, model)))
    first = {name: statistics.median(each[0] for each in runs) for name, runs in found.items()}
    rate = {name: statistics.median(each[1] for each in runs) for name, runs in found.items()}
    print(
        f"{what}: {rate['ours']:,.0f} chunks/s of {rate['bare']:,.0f} with bare httpx "
        f"(ratio {rate['ours'] / rate['bare']:.2f}); first token {(first['ours'] - first['bare']) * 1000:+.1f} ms"
    )


@dataclass(slots=True)
class Watch:
    """What the loop and the memory did while answers streamed.

    ``late`` holds the seconds that a task which wants to run every 5 ms had to wait in vain, ``busy`` the longest that
    the loop's thread worked meanwhile, ``memory`` megabytes, one figure a second. ``machine`` is the machine's part in
    it: the longest that a bare loop in a process of its own had to wait.
    """

    late: list[float] = field(default_factory=list[float])
    busy: float = 0.0
    machine: float = 0.0
    memory: list[float] = field(default_factory=list[float])

    async def tick(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.thread_time()
            await anyio.sleep(0.005)
            self.late.append(time.perf_counter() - began - 0.005)
            self.busy = max(self.busy, time.thread_time() - worked)

    async def weigh(self) -> None:
        while True:
            self.memory.append(resident())
            await anyio.sleep(1)

    @property
    def stall(self) -> float:
        """The longest stall that is this program's."""
        return self.busy if self.machine > LONGEST_STALL / 2 else max(self.late)

    @property
    def growth(self) -> float:
        """Megabytes from the end of the first third, when everything is loaded, to the end."""
        third = self.memory[len(self.memory) // 3 :]
        return third[-1] - third[0]


def resident() -> float:
    """The memory of this process in megabytes; 0 where the system does not tell it."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * PAGE / 1e6 if file.exists() else 0.0


async def bare_loop() -> None:
    """The control's process: a loop that looks at the clock until its input ends, and tells its longest wait."""
    watch = Watch()
    async with anyio.create_task_group() as group:
        group.start_soon(watch.tick)
        await anyio.to_thread.run_sync(sys.stdin.read)
        group.cancel_scope.cancel()
    print(max(watch.late))


@contextmanager
def control(watch: Watch) -> Iterator[None]:
    """Have a bare loop run beside what is done in the block."""
    command = [sys.executable, "-m", "benchmarks.streaming", "--control"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield
        watch.machine = float(process.communicate()[0])


async def write(studio: Studio, book: Book) -> str:
    outcome = await studio.generate(book, Turn(instructions="Go on.")).settled()
    return "" if outcome.part is None else outcome.part.text


async def stalls(base_url: str, seconds: float) -> bool:
    """Eight runs at once for so long; whether every text was whole, no stall too long and the memory flat."""
    number, watch = int(RATE * seconds), Watch()
    texts, expected = list[str](), "".join(words(number))
    with TemporaryDirectory() as folder:
        async with Studio(Path(folder) / "streaming.db", extensions=()) as studio:
            books = shelf(studio, base_url, f"{number}/{1 / RATE}")
            for book in books:  # as an open window has done: its pages are read, and the tokenizer's ranks
                await studio.preview(book, Turn(instructions="Go on."))
            before = time.process_time()
            with control(watch):
                await run_all(studio, books, watch, texts)
            worked = time.process_time() - before
    whole = sum(text.strip() == expected.strip() for text in texts)
    report(
        watch, f"{AT_ONCE} runs at {RATE:.0f} tokens/s for {seconds:.0f} s: {whole} whole", worked / seconds
    )
    allowed = MOST_GROWTH + KEPT_BYTES * AT_ONCE * number / 1e6
    return whole == AT_ONCE and watch.stall <= LONGEST_STALL and watch.growth <= allowed


async def run_all(studio: Studio, books: list[Book], watch: Watch, texts: list[str]) -> None:
    async with anyio.create_task_group() as watching:
        watching.start_soon(watch.tick)
        watching.start_soon(watch.weigh)
        async with anyio.create_task_group() as running:
            for book in books:
                running.start_soon(collect, studio, book, texts)
        watching.cancel_scope.cancel()


async def collect(studio: Studio, book: Book, texts: list[str]) -> None:
    texts.append(await write(studio, book))


def shelf(studio: Studio, base_url: str, model: str) -> list[Book]:
    """Eight books, whose model is the server."""
    provider = studio.providers.create(
        name="Streaming", base_url=base_url, model=model, max_context=32768, max_response=4096
    )
    protocol = studio.protocols.create(name="Plain")
    return [
        studio.books.create(name=f"Book {each}", provider=provider, protocol=protocol)
        for each in range(AT_ONCE)
    ]


def report(watch: Watch, what: str, share: float) -> None:
    print(
        f"{what}; longest stall of the loop {max(watch.late) * 1000:.0f} ms (99.9 % under "
        f"{quantile(watch.late) * 1000:.0f} ms), at work in one go {watch.busy * 1000:.0f} ms, a bare loop beside it "
        f"stalled {watch.machine * 1000:.0f} ms; memory {watch.memory[-1]:.0f} MB, {watch.growth:+.1f} MB in the last "
        f"two thirds; {share:.1%} of a core"
    )


def quantile(late: list[float]) -> float:
    return sorted(late)[int(len(late) * 0.999)]


async def run(chunks: int, seconds: float, *, only_stalls: bool) -> bool:
    with server() as base_url:
        if not only_stalls:
            await compare(base_url, f"{chunks}/0", "as fast as it goes")
            await compare(base_url, "200/0.005", "200 tokens/s")
        return await stalls(base_url, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only-stalls", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--control", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    if arguments.control:
        anyio.run(bare_loop)
        return
    work = partial(run, arguments.chunks, arguments.seconds, only_stalls=arguments.only_stalls)
    sys.exit(0 if anyio.run(work) else 1)


if __name__ == "__main__":
    main()
