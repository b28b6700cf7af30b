"""All models behind one door: the provider's kind says who is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from marginalia.errors import InvalidInput, ModelError, ModelErrorKind
from marginalia.inference.client import OpenAIClient, Sleep
from marginalia.inference.connection import missing_key
from marginalia.inference.keys import KeyStore
from marginalia.inference.local import LocalModel, LocalStatus
from marginalia.pipeline.ports import Arrival, Call, Progress
from marginalia.values import Provider


class Models:
    """The :class:`~marginalia.pipeline.ports.Inference` of Marginalia, for the kinds ``openai`` and ``bundled``.

    *folder* keeps the API keys and the bundled model's log; ``None`` keeps neither. ``sleep`` waits between two tries.
    ``client``, ``local`` and ``keys`` are the parts behind it. Close it with :meth:`aclose` when the app ends.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        keys: KeyStore | None = None,
        local: LocalModel | None = None,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self.keys = keys or KeyStore(folder)
        self.local = local or LocalModel(folder)
        self.client = OpenAIClient(key_of=self.key_of, sleep=sleep)
        self._local_client = OpenAIClient(key_of=self.local.key, sleep=sleep)
        self._streams = {"openai": self.client.stream, "bundled": self._stream_bundled}

    def supports(self, provider: Provider) -> bool:
        """Whether there is an implementation for this kind of provider."""
        return provider.kind in self._streams

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        """The answer, pulled piece by piece; leaving the block closes the connection and so stops the server."""
        try:
            stream = self._streams[call.provider.kind]
        except KeyError:
            raise InvalidInput(
                f"There is no way to ask a provider of the kind “{call.provider.kind}”."
            ) from None
        return stream(call)

    def key_of(self, provider: Provider) -> str | None:
        """The API key of *provider*; raises :class:`ModelError` when it names one that nobody has."""
        if not provider.key_ref:
            return None
        key = self.keys.get(provider.key_ref)
        if key is None:
            raise missing_key(provider.key_ref)
        return key

    async def aclose(self) -> None:
        """End the bundled model, if it runs."""
        await anyio.to_thread.run_sync(self.local.stop)

    def _stream_bundled(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        return aclosing(self._bundled(call))

    async def _bundled(self, call: Call) -> AsyncGenerator[Arrival, None]:
        if self.local.status is not LocalStatus.READY:
            yield Progress(text="starting the bundled model …")
            await self.local.start()
        local_call = replace(call, provider=self.local.provider(call.provider))
        try:
            async with self._local_client.stream(local_call) as arrivals:
                async for arrival in arrivals:
                    yield arrival
        except ModelError as error:
            if error.kind is not ModelErrorKind.CONNECTION:
                raise
            raise await self.local.crashed() or error from error
