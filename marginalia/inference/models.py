"""All models behind one door: the provider's kind says who is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from marginalia.errors import InvalidInput, ModelError, ModelErrorKind
from marginalia.inference.client import Keep, OpenAIClient, Sleep
from marginalia.inference.connection import EVERYWHERE, is_local, missing_key
from marginalia.inference.dialect import Dialect
from marginalia.inference.hosts import Hosts
from marginalia.inference.keys import KeyStore
from marginalia.inference.local import LocalModel, LocalStatus
from marginalia.inference.probe import ConnectionReport, Probe
from marginalia.inference.text_counter import LLAMA
from marginalia.pipeline.ports import Arrival, Call, Progress
from marginalia.values import Message, Provider

_BUNDLED = "bundled"
NOTHING_LEARNED: Mapping[tuple[str, str], Dialect] = {}
EXACT_COUNTS = "exact_counts"
"""The key in ``Provider.settings`` that has its server count texts (true), or never asks it to (false)."""


class Models:
    """The :class:`~marginalia.pipeline.ports.Inference` of Marginalia, for the kinds ``openai`` and ``bundled``.

    *folder* keeps the API keys and the bundled model's log; ``None`` keeps neither. ``sleep`` waits between two tries.
    Only *hosts* are asked, and the bundled model. ``client``, ``local`` and ``keys`` are the parts behind it. Close it
    with :meth:`aclose` when the app ends.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        keys: KeyStore | None = None,
        local: LocalModel | None = None,
        sleep: Sleep = anyio.sleep,
        hosts: Hosts = EVERYWHERE,
        learned: Mapping[tuple[str, str], Dialect] = NOTHING_LEARNED,
        keep: Keep | None = None,
    ) -> None:
        self.keys = keys or KeyStore(folder)
        self.local = local or LocalModel(folder)
        self.client = OpenAIClient(
            key_of=self.key_of, sleep=sleep, hosts=hosts, learned=dict(learned), keep=keep
        )
        self._local_client = OpenAIClient(key_of=self.local.key, sleep=sleep)
        self._probe, self._local_probe = Probe(self.client), Probe(self._local_client)
        self._streams = {"openai": self.client.stream, _BUNDLED: self._stream_bundled}

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

    async def probe(self, provider: Provider) -> ConnectionReport:
        """Test the connection: the model list, then one token; also what else the server tells about itself.

        Raises :class:`ModelError` when nobody answers, the key is wrong or the one token is refused. The bundled model
        is started.
        """
        if provider.kind == _BUNDLED:
            await self.local.start()
        probe, reached = self._reach(provider)
        return await probe.test(reached)

    async def list_models(self, provider: Provider) -> tuple[str, ...]:
        """The ids in the server's model list; empty when it has none. Raises like :meth:`probe`."""
        probe, reached = self._reach(provider)
        return await probe.models(reached)

    async def count_tokens(self, provider: Provider, messages: Sequence[Message]) -> int | None:
        """The exact number of prompt tokens of *messages*, as the server counts; ``None`` where it does not.

        The bundled model is not started for it.
        """
        if provider.kind == _BUNDLED and self.local.status is not LocalStatus.READY:
            return None
        probe, reached = self._reach(provider)
        return await probe.count(reached, messages)

    def counts_texts(self, provider: Provider) -> bool:
        """Whether the server of *provider* may be asked to count before anything is sent to be written.

        Those on this machine and in its network are; others only where the provider's settings say so, because every
        draft would go to them. The bundled model is asked while it runs.
        """
        told = provider.settings.get(EXACT_COUNTS)
        if isinstance(told, bool):
            return told
        if provider.kind == _BUNDLED:
            return True
        return is_local(provider.base_url)

    async def count_texts(self, provider: Provider, texts: Sequence[str]) -> tuple[Mapping[str, int], str]:
        """The exact tokens of each of *texts* and the way they were counted; nothing where nobody counts.

        Raises :class:`ModelError` when the server cannot be reached. The bundled model is not started for it.
        """
        if provider.kind == _BUNDLED and self.local.status is not LocalStatus.READY:
            return {}, ""
        probe, reached = self._reach(provider)
        return await probe.texts.count(reached, texts)

    def keeps_what_moved(self, provider: Provider) -> bool:
        """Whether its server can keep text of a prompt that only moved: llama.cpp can, known by how it counts."""
        return provider.kind == _BUNDLED or self._probe.texts.server(provider) == LLAMA

    def learned(self, provider: Provider) -> Dialect:
        """How *provider* is spoken to, with what its refusals have taught."""
        return self.client.dialect(provider)

    async def forget(self, provider: Provider) -> None:
        """Forget what the refusals of *provider*'s server have taught, and whether it counts tokens."""
        self._probe.texts.forget(provider)
        await self.client.forget(provider)

    def key_of(self, provider: Provider) -> str | None:
        """The API key of *provider*; raises :class:`ModelError` when it names one that nobody has."""
        if not provider.key_ref:
            return None
        try:
            key = self.keys.get(provider.key_ref)
        except InvalidInput as error:
            raise ModelError(ModelErrorKind.AUTH, str(error)) from error
        if key is None:
            raise missing_key(provider.key_ref)
        return key

    async def aclose(self) -> None:
        """End the bundled model, if it runs."""
        await anyio.to_thread.run_sync(self.local.stop)

    def _reach(self, provider: Provider) -> tuple[Probe, Provider]:
        if provider.kind == _BUNDLED:
            return self._local_probe, self.local.provider(provider)
        return self._probe, provider

    def _stream_bundled(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        return aclosing(self._bundled(call))

    async def _bundled(self, call: Call) -> AsyncGenerator[Arrival, None]:
        if self.local.status is not LocalStatus.READY:
            yield Progress(text="starting the bundled model …")
            await self.local.start()
        yield Progress(text="reading the prompt …")
        local_call = replace(call, provider=self.local.provider(call.provider))
        try:
            async with self._local_client.stream(local_call) as arrivals:
                async for arrival in arrivals:
                    yield arrival
        except ModelError as error:
            if error.kind is not ModelErrorKind.CONNECTION:
                raise
            raise await self.local.crashed() or error from error
