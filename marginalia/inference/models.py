"""All models behind one door: the provider's kind says who is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio

from marginalia.errors import InvalidInput
from marginalia.inference.client import OpenAIClient, Sleep
from marginalia.pipeline.ports import Arrival, Call
from marginalia.values import Provider


class Models:
    """The :class:`~marginalia.pipeline.ports.Inference` of Marginalia; *folder* keeps keys and the log of the bundled model.

    ``sleep`` waits between two tries. Close it with :meth:`aclose` when the app ends.
    """

    def __init__(self, folder: Path | None = None, *, sleep: Sleep = anyio.sleep) -> None:
        self.client = OpenAIClient(sleep=sleep)

    def supports(self, provider: Provider) -> bool:
        """Whether there is an implementation for this kind of provider: ``openai`` and ``bundled``."""
        return provider.kind in self._streams()

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        """The answer, pulled piece by piece; leaving the block closes the connection and so stops the server."""
        try:
            stream = self._streams()[call.provider.kind]
        except KeyError:
            raise InvalidInput(f"Nobody can ask a provider of the kind {call.provider.kind!r}.") from None
        return stream(call)

    async def aclose(self) -> None:
        """End what was started."""

    def _streams(self) -> dict[str, Callable[[Call], AbstractAsyncContextManager[AsyncIterator[Arrival]]]]:
        return {"openai": self.client.stream}
