"""The client for OpenAI-compatible servers: one call, pulled piece by piece, retried only before anything came."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from typing import cast

import anyio
import anyio.to_thread
import httpx

from marginalia.errors import ModelError
from marginalia.inference.answer import AnswerReader, broken_off
from marginalia.inference.connection import EVERYWHERE, api_url, connection
from marginalia.inference.dialect import Dialect
from marginalia.inference.errors import from_response, may_be_retried
from marginalia.inference.hosts import Hosts
from marginalia.inference.patience import Clock, Patience
from marginalia.inference.wire import encoded, request_body
from marginalia.pipeline.ports import Arrival, Call, Ending, Progress
from marginalia.values import Provider

DEFAULT_RETRIES = 2
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
_LONGEST_ERROR_BODY = 1 << 16

Sleep = Callable[[float], Awaitable[None]]
KeyOf = Callable[[Provider], str | None]
Keep = Callable[[Mapping[tuple[str, str], Dialect]], None]


def no_key(_: Provider) -> str | None:
    """For servers that want no key."""
    return None


@dataclass(slots=True)
class OpenAIClient:
    """Asks any OpenAI-compatible server.

    ``key_of`` finds the API key of a provider, ``sleep`` waits between two tries; only ``hosts`` are asked. What a
    server was found to want differently is remembered in ``learned``, by address and model, and used for every later
    call; ``keep`` is told, in a thread, whenever that changes.
    """

    key_of: KeyOf = no_key
    sleep: Sleep = anyio.sleep
    hosts: Hosts = EVERYWHERE
    learned: dict[tuple[str, str], Dialect] = field(default_factory=dict[tuple[str, str], Dialect])
    keep: Keep | None = None

    def dialect(self, provider: Provider) -> Dialect:
        """How *provider* is spoken to: what was learned, then what its settings say by hand."""
        known = self.learned.get((provider.base_url, provider.model), Dialect())
        return known.with_settings(provider.settings)

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        """The answer to *call*, pulled; leaving the block closes the connection at once.

        Raises :class:`ModelError` from the iterator, also after chunks, when the answer broke off.
        """
        return aclosing(self._arrivals(call))

    async def _arrivals(self, call: Call) -> AsyncGenerator[Arrival, None]:
        provider, tries = call.provider, 0
        spoken = [self.dialect(provider)]
        while True:
            reader = AnswerReader(starts_in_thinking=spoken[-1].starts_in_thinking)
            try:
                async with aclosing(self._attempt(call, spoken[-1], reader)) as arrivals:
                    async for arrival in arrivals:
                        if isinstance(arrival, Ending):  # who has it need not read on
                            await self.remember(provider, spoken[-1])
                        yield arrival
            except ModelError as error:
                if reader.started:
                    raise
                if (found := lesson(provider, spoken, error)) is not None:
                    spoken.append(found[0])
                    yield Progress(text=found[1])
                    continue
                wait = None if reader.begun else _wait(provider, error, tries)
                if wait is None:
                    raise
                tries += 1
                yield Progress(text=f"{error.text.partition('. ')[0]}. Trying again in {wait:.2g} s.")
                await self.sleep(wait)
            else:
                return

    async def _attempt(
        self, call: Call, dialect: Dialect, reader: AnswerReader
    ) -> AsyncGenerator[Arrival, None]:
        provider = call.provider
        body = encoded(request_body(call, dialect))
        key = await anyio.to_thread.run_sync(self.key_of, provider)
        async with connection(provider, key, hosts=self.hosts) as client:
            clock = Clock(Patience.of(provider))
            request = client.build_request(
                "POST",
                api_url(provider, "/chat/completions"),
                content=body,
                headers={"Content-Type": "application/json"},
            )
            response = await clock.first(client.send(request, stream=True))
            async with aclosing(response):
                if not response.is_success:
                    raise await _failure(response)
                async with aclosing(_read(response, reader, clock)) as arrivals:
                    async for arrival in arrivals:
                        yield arrival

    async def remember(self, provider: Provider, dialect: Dialect) -> None:
        """Speak to *provider* like this from now on, because it has proved right."""
        if dialect != self.dialect(provider):
            self.learned[provider.base_url, provider.model] = dialect
            await self._keep()

    async def forget(self, provider: Provider) -> None:
        """Speak to *provider* as if it had never refused anything."""
        if self.learned.pop((provider.base_url, provider.model), None) is not None:
            await self._keep()

    async def _keep(self) -> None:
        if self.keep is not None:
            await anyio.to_thread.run_sync(self.keep, dict(self.learned))


def lesson(provider: Provider, spoken: Sequence[Dialect], error: ModelError) -> tuple[Dialect, str] | None:
    """What to try after *error*, and the sentence that says so; ``None`` when all that it teaches was *spoken* already.

    What the provider's settings say by hand stays as it is.
    """
    found = spoken[-1].learned(error)
    if found is None:
        return None
    dialect = found[0].with_settings(provider.settings)
    return None if dialect in spoken else (dialect, found[1])


def _wait(provider: Provider, error: ModelError, tries: int) -> float | None:
    """Seconds until the next try; ``None`` when there is none."""
    allowed = DEFAULT_RETRIES if provider.max_retries is None else provider.max_retries
    if tries >= allowed or not may_be_retried(error):
        return None
    wait = max(error.retry_after or 0.0, _FIRST_WAIT * 2**tries)
    return wait if wait <= _LONGEST_WAIT else None


async def _read(
    response: httpx.Response, reader: AnswerReader, clock: Clock
) -> AsyncGenerator[Arrival, None]:
    """What the body of *response* brings, then its ending; raises what it fails with, after everything that came."""
    try:
        # httpx promises less than it gives: what is not closed here would go on when the collector finds it.
        body = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        async with aclosing(body) as pieces:
            while not reader.done and (data := await clock.next(pieces, started=reader.started)) is not None:
                for arrival in reader.feed(data):
                    if isinstance(arrival, Progress):
                        clock.beat()
                    yield arrival
    except (httpx.HTTPError, ModelError) as error:
        # A finished answer is finished, however rudely the connection ends.
        if not reader.finished:
            for arrival in reader.rest():
                yield arrival
            raise _as_model_error(error) from error.__cause__
    for arrival in reader.end():
        yield arrival


def _as_model_error(error: httpx.HTTPError | ModelError) -> ModelError:
    return error if isinstance(error, ModelError) else broken_off()


async def _failure(response: httpx.Response) -> ModelError:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > _LONGEST_ERROR_BODY:
            break
    return from_response(response.status_code, response.headers, bytes(body[:_LONGEST_ERROR_BODY]))
