"""How long a server may take: for its first token, which a long prompt delays by minutes, and between two pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from marginalia.errors import ModelError, ModelErrorKind
from marginalia.values import Provider

T = TypeVar("T")

FIRST_TOKEN = "first_token_timeout"  # noqa: S105 - the name of a setting
"""The key in ``Provider.settings`` for the seconds that a server may take for its first token."""

DEFAULT_FIRST_TOKEN = 900.0
DEFAULT_SILENCE = 300.0
_LONG = 120  # seconds from which on minutes are easier to read


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds: ``first`` from the request to the first piece of text or reasoning, ``silence`` from there on.

    While a server reads the prompt and says how far it is, its first token is not late. Any byte ends a silence.
    """

    first: float = DEFAULT_FIRST_TOKEN
    silence: float = DEFAULT_SILENCE

    @classmethod
    def of(cls, provider: Provider) -> Patience:
        """What *provider* is given: ``timeout`` for both (spec/semantics.md, B1 88), the first token also by itself."""
        told = provider.settings.get(FIRST_TOKEN)
        first = (
            float(told) if isinstance(told, int | float) and not isinstance(told, bool) and told > 0 else None
        )
        silence = provider.timeout or DEFAULT_SILENCE
        return cls(first=first or provider.timeout or DEFAULT_FIRST_TOKEN, silence=silence)

    @property
    def longest(self) -> float:
        """The longer of the two."""
        return max(self.first, self.silence)


class Clock:
    """The clocks of one answer. ``beat`` starts the first one anew: the server says that it is at work."""

    def __init__(self, patience: Patience, now: Callable[[], float] = anyio.current_time) -> None:
        self._patience = patience
        self._now = now
        self._began = now()

    def beat(self) -> None:
        """The server told how far it is with the prompt."""
        self._began = self._now()

    async def first(self, waited: Awaitable[T]) -> T:
        """What *waited* gives; raises :class:`ModelError` when the first token is late."""
        with anyio.move_on_after(self._began + self._patience.first - self._now()):
            return await waited
        raise _late(
            f"The server sent no first token within {_told(self._patience.first)}. A long prompt can take that long to "
            "read: try again, or allow more time for the first token in the provider's settings."
        )

    async def next(self, pieces: AsyncIterator[bytes], *, started: bool) -> bytes | None:
        """The next piece, ``None`` at the end; raises :class:`ModelError` when it is late."""
        if not started:
            return await self.first(anext(pieces, None))
        with anyio.move_on_after(self._patience.silence):
            return await anext(pieces, None)
        raise _late(
            f"The server went silent for {_told(self._patience.silence)} in the middle of its answer. What arrived is "
            "kept. Try again, or allow longer silences in the provider's settings."
        )


def _late(text: str) -> ModelError:
    return ModelError(ModelErrorKind.TIMEOUT, text)


def _told(seconds: float) -> str:
    if seconds < _LONG:
        return "1 second" if seconds == 1 else f"{seconds:g} seconds"
    return f"{seconds / 60:.3g} minutes"
