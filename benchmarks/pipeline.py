"""Figures of the pipeline, each measured side by side in one run: ``uv run python -m benchmarks.pipeline``.

* the rate of a stream through the whole pipeline against bare httpx that reads the same server: at 500 tokens
  a second, and flat out
* how much later the first token comes
* what a chunk costs at 1 KB and at 100 KB of answer
* a preview of a book of 10,000 parts against one of 100
* how long Stop takes while the model is silent, while a listener hangs, while a question waits
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

import marginalia as mg
from marginalia.pipeline.answer import Answer
from marginalia.story.parts import Part
from marginalia.testing import WordTokenizer
from marginalia.values import BookId, PartId

TURN = mg.Turn(instructions="Go on.")
CHUNKS = 4000
PACED = 1000
ROUNDS = 5

SERVER = f"""
import sys, time
from marginalia.testing import ScriptedServer, Stream, Silent
stream = Stream(*(f"word{{i}} " for i in range({CHUNKS})))
paced = Stream(*(f"word{{i}} " for i in range({PACED})), pace=0.002)
def answer(request):
    if request.body and request.body.get("model") == "paced":
        return paced
    return Silent() if request.body and request.body.get("model") == "silent" else stream
with ScriptedServer(default=answer) as server:
    print(server.base_url, flush=True)
    sys.stdin.read()
"""


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """The scripted server in a process of its own, so that it does not share our loop."""
    process = subprocess.Popen(  # noqa: ASYNC220 - a benchmark may wait for its server
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def bare(base_url: str, model: str = "m") -> tuple[float, float]:
    """Read the same answer with httpx alone; seconds to the first text and to the end."""
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
    began, first, text = time.perf_counter(), 0.0, ""
    async with (
        httpx.AsyncClient(timeout=30, trust_env=False) as client,
        client.stream("POST", f"{base_url}/chat/completions", json=body) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                piece = choices[0]["delta"].get("content") if choices else None
                if piece:
                    first = first or time.perf_counter() - began
                    text += piece
    return first, time.perf_counter() - began


async def through(studio: mg.Studio, book: mg.Book) -> tuple[float, float]:
    """The same through the whole pipeline, followed as a view follows it."""
    began, first = time.perf_counter(), 0.0
    run = studio.generate(book, TURN)
    seen = 0
    while not run.ended:
        seen = await run.changed(seen)
        if run.text and not first:
            first = time.perf_counter() - began
        await asyncio.sleep(1 / 12)
    return first, time.perf_counter() - began


async def first_token(studio: mg.Studio, book: mg.Book) -> float:
    """Seconds to the first chunk through the pipeline; the rest is not waited for."""
    began = time.perf_counter()
    run = studio.generate(book, TURN)
    async for _ in run:
        break
    seconds = time.perf_counter() - began
    run.stop()
    await run.settled()
    return seconds


async def streaming(studio: mg.Studio, base_url: str) -> None:
    """Bare and piped in turn, so that both see the same machine."""
    for model, name, wanted in (
        ("paced", "at 500 tokens/s", "at least 0.95"),
        ("m", "flat out", "for information"),
    ):
        book = new_book(studio, base_url, model)
        rates: list[float] = []
        delays: list[float] = []
        for _ in range(ROUNDS):
            bare_first, bare_all = await bare(base_url, model)
            _, piped_all = await through(studio, book)
            rates.append(bare_all / piped_all)
            delays.append(await first_token(studio, book) - bare_first)
        print(f"streaming {name:<16} pipeline / bare httpx  {statistics.median(rates):5.2f}   ({wanted})")
        print(
            f"  first token later by                        {statistics.median(delays) * 1000:5.1f} ms (at most 10)"
        )


def new_book(studio: mg.Studio, base_url: str, model: str = "m", context: int = 100_000) -> mg.Book:
    provider = studio.providers.create(
        name="Stub", base_url=base_url, model=model, max_context=context, max_response=1_000
    )
    protocol = studio.protocols.create(name="Plain")
    return studio.books.create(name="Bench", provider=provider, protocol=protocol)


def chunk_cost() -> None:
    """What appending a chunk costs when the answer is short and when it is long."""

    def cost(length: int) -> float:
        answer = Answer(Part(id=PartId(1), uid="", book_id=BookId(1), parent_id=None), WordTokenizer())
        now = mg.Part.__dataclass_fields__["created"].default
        answer.add_text("word " * (length // 5), now)
        times: list[float] = []
        for _ in range(2000):
            began = time.perf_counter()
            answer.add_text("word ", now)
            assert answer.part.words
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    short, long = (statistics.median(cost(size) for _ in range(3)) for size in (1_000, 100_000))
    print(
        f"chunk at 100 KB / at 1 KB                     {long / short:5.2f}   (at most 1.5; {short * 1e6:.1f} us)"
    )


async def previews(studio: mg.Studio, base_url: str) -> None:
    """The same budget, so that the same few parts are sent; only what is stored differs."""
    books = [new_book(studio, base_url, context=8_192) for _ in range(2)]
    for book, parts in zip(books, (100, 10_000), strict=True):
        parent = None
        for number in range(parts):
            part = studio.story.append(book, f"Part {number}. " + "The sea was up since noon. " * 20)
            parent = part.id
        assert parent
    times: list[list[float]] = [[], []]
    for _ in range(40):
        for index, book in enumerate(books):
            began = time.perf_counter()
            await studio.preview(book, TURN)
            times[index].append(time.perf_counter() - began)
    small, large = (statistics.median(each) for each in times)
    print(
        f"preview of 10,000 parts / of 100               {large / small:5.2f}   "
        f"(at most 1.5; {large * 1000:.1f} ms, at most 50)"
    )


async def stops(studio: mg.Studio, base_url: str) -> None:
    """Seconds from Stop to everything settled, in the three places where nothing moves by itself."""

    async def hang(_run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
        await anyio.sleep_forever()

    async def ask(run: mg.Run, _event: mg.events.BeforePrepareContent) -> None:
        await run.ask("Go on?")

    cases: list[tuple[str, Callable[[], mg.Subscription[Any]] | None, str]] = [
        ("the model is silent", None, "silent"),
        ("a listener hangs", lambda: studio.on(mg.events.BeforePrepareContent, hang), "m"),
        ("a question waits", lambda: studio.on(mg.events.BeforePrepareContent, ask), "m"),
    ]
    for name, prepare, model in cases:
        book = new_book(studio, base_url, model)
        subscription = prepare() if prepare else None
        times = [await stop_time(studio, book) for _ in range(ROUNDS)]
        if subscription:
            subscription.close()
        print(f"Stop while {name:<22}            {max(times) * 1000:5.0f} ms (at most 200)")


async def stop_time(studio: mg.Studio, book: mg.Book) -> float:
    run = studio.generate(book, TURN, attended=True)
    await asyncio.sleep(0.2)
    began = time.perf_counter()
    run.stop()
    await run.settled()
    return time.perf_counter() - began


async def main() -> None:
    steps: list[Callable[[mg.Studio, str], Awaitable[None]]] = [streaming, previews, stops]
    async with server() as base_url:
        with mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1) as studio:
            chunk_cost()
            for step in steps:
                await step(studio, base_url)


if __name__ == "__main__":
    anyio.run(main)
