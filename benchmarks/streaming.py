"""The client against bare httpx, reading the same scripted server in a process of its own.

    python -m benchmarks.streaming [--chunks 4000] [--seconds 5]

Prints rates as ratios of one run, the time to the first token, and the longest stall of the event loop while eight
answers stream at 50 tokens a second each.
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

import anyio
import httpx

from marginalia.inference import Models
from marginalia.pipeline.ports import Call, Chunk
from marginalia.testing import Recorded, ScriptedServer, Stream
from marginalia.values import Limits, Message, Protocol, Provider

ROUNDS = 5
RATE = 50.0
AT_ONCE = 8


def serve() -> None:
    """The server's process: how many chunks, and how fast, stand in the name of the model."""

    def answer(request: Recorded) -> Stream:
        chunks, pace = request.body["model"].split("/")
        return Stream(*(f" word{number}" for number in range(int(chunks))), pace=float(pace))

    with ScriptedServer(default=answer) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


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


async def stalls(base_url: str, seconds: float) -> None:
    """The longest time that the loop did not get round to a task which wants to run every 5 ms."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await anyio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began - 0.005)

    async def one() -> None:
        _, rate = await measure(ours(base_url, f"{int(RATE * seconds)}/{1 / RATE}"))
        rates.append(rate)

    rates: list[float] = []
    async with anyio.create_task_group() as ticking:
        ticking.start_soon(tick)
        async with anyio.create_task_group() as running:
            for _ in range(AT_ONCE):
                running.start_soon(one)
        ticking.cancel_scope.cancel()
    print(
        f"{AT_ONCE} answers at {RATE:.0f} tokens/s for {seconds:.0f} s: {min(rates):.1f} tokens/s the slowest, "
        f"longest stall of the loop {longest * 1000:.0f} ms"
    )


async def run(chunks: int, seconds: float) -> None:
    with server() as base_url:
        await compare(base_url, f"{chunks}/0", "as fast as it goes")
        await compare(base_url, "200/0.005", "200 tokens/s")
        await stalls(base_url, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
    else:
        anyio.run(run, arguments.chunks, arguments.seconds)


if __name__ == "__main__":
    main()
