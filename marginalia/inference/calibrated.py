"""Token estimates corrected by what servers report: a factor per model, learned from every answer and every count.

``o200k`` is 3 to 10 % low for English on most models and far off for other languages (Russian on SmolLM2 takes 2.5
times as many tokens, Japanese on Gemma 0.72 times; measured), but it is off by the same factor for the same model and
story. So the usage of the last answers says how to read the next estimate.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

import anyio.to_thread

from marginalia.pipeline.ports import Arrival, Call, Ending, Inference
from marginalia.prompt.tokens import Tokenizer
from marginalia.values import Message, Provider

Model: TypeAlias = tuple[str, str, str]

FIRST_FACTOR = 1.05
SMALLEST_FACTOR = 0.5
LARGEST_FACTOR = 4.0
_NEWEST_WEIGHT = 0.5
_MESSAGE_FRAME = 4
_PROMPT_FRAME = 3
_FEWEST_TOKENS = 50  # of a shorter prompt, most is the chat template, which says nothing about the text
_SMALLEST_CHANGE = 0.01
_MODELS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How many tokens of a model one estimated token is. ``reports`` counts what it was learned from; 0: a guess."""

    factor: float = FIRST_FACTOR
    reports: int = 0

    def after(self, estimated: int, reported: int) -> Calibration:
        """This calibration when a text of *estimated* tokens was reported to have *reported*.

        Pairs too small to say anything change nothing. Later reports count more, and one that is off by more than a
        server can be (a prompt that was cut, cached tokens left out) moves the factor no further than its limits.
        """
        if estimated < _FEWEST_TOKENS or reported <= 0:
            return self
        seen = _within(reported / estimated)
        wanted = seen if not self.reports else self.factor + _NEWEST_WEIGHT * (seen - self.factor)
        return Calibration(factor=wanted, reports=self.reports + 1)


class CalibratedTokenizer:
    """Another tokenizer's counts times a factor. It never changes: take a new one when something was learned.

    The name tells both, such as ``o200k_base x1.08``; with a factor of 1 it is the name of the tokenizer behind.
    """

    def __init__(self, inner: Tokenizer, factor: float) -> None:
        self._inner = inner
        self.factor = factor

    @property
    def name(self) -> str:
        """The name of the tokenizer behind, and the factor."""
        return self._inner.name if self.factor == 1 else f"{self._inner.name} x{self.factor:.2f}"

    def count(self, text: str) -> int:
        """The number of tokens of *text*, rounded; at least 1 when the tokenizer behind counts any."""
        estimated = self._inner.count(text)
        return max(1, round(estimated * self.factor)) if estimated else 0


class Calibrations:
    """What was learned about the models that were asked lately; safe to use from several threads.

    :meth:`tokenizer` gives the tokenizer for a provider's next prompt. It learns by itself from what goes through
    :meth:`watching`, and from :meth:`learn` where somebody knows an exact number: a server's own count, or the usage in
    the receipt of a part after a new start.

    *known* is what was learned before; *learned* is told everything that is known whenever a factor moved by a
    hundredth, in the thread that learns.
    """

    def __init__(
        self,
        inner: Tokenizer,
        *,
        known: Iterable[tuple[Model, Calibration]] = (),
        learned: Callable[[Mapping[Model, Calibration]], None] | None = None,
    ) -> None:
        self._inner = inner
        self._known: OrderedDict[Model, Calibration] = OrderedDict(known)
        self._tokenizers: dict[Model, CalibratedTokenizer] = {}
        self._learned = learned
        self._lock = Lock()

    def of(self, provider: Provider) -> Calibration:
        """What is known about the model of *provider*."""
        with self._lock:
            return self._known.get(model_of(provider), Calibration())

    def tokenizer(self, provider: Provider | None) -> Tokenizer:
        """A tokenizer for that model as far as it is known; the same object until the factor moves by a hundredth.

        Without a provider it is the tokenizer behind.
        """
        if provider is None:
            return self._inner
        model = model_of(provider)
        with self._lock:
            factor = self._known.get(model, Calibration()).factor
            known = self._tokenizers.get(model)
            if known is None or abs(known.factor - factor) >= _SMALLEST_CHANGE:
                known = self._tokenizers[model] = CalibratedTokenizer(self._inner, round(factor, 3))
            return known

    def learn(self, provider: Provider, messages: Sequence[Message], reported: int | None) -> None:
        """The server of *provider* says that *messages* have *reported* tokens; counts them, so not for the loop."""
        if not reported:
            return
        estimated = sum(self._inner.count(message.content) for message in messages)
        frame = _PROMPT_FRAME + _MESSAGE_FRAME * len(messages)
        self._compare(provider, estimated, reported - frame)

    def learn_texts(self, provider: Provider, counted: Mapping[str, int]) -> None:
        """The server of *provider* counted texts by themselves; counts them, so not for the loop."""
        estimated = sum(self._inner.count(text) for text in counted)
        self._compare(provider, estimated, sum(counted.values()))

    def _compare(self, provider: Provider, estimated: int, reported: int) -> None:
        model = model_of(provider)
        with self._lock:
            before = self._known.get(model, Calibration())
            after = self._known[model] = before.after(estimated, reported)
            self._known.move_to_end(model)
            while len(self._known) > _MODELS:
                self._tokenizers.pop(self._known.popitem(last=False)[0], None)
            known = dict(self._known)
        first = bool(after.reports) and not before.reports
        if self._learned is not None and (first or abs(after.factor - before.factor) >= _SMALLEST_CHANGE):
            self._learned(known)

    def watching(self, inference: Inference) -> Inference:
        """*inference*, from whose answers is learned."""
        return _Watched(inference, self)


@dataclass(frozen=True, slots=True)
class _Watched:
    """An :class:`Inference` that passes everything on and shows the usage of its answers to the calibrations."""

    inner: Inference
    calibrations: Calibrations

    def supports(self, provider: Provider) -> bool:
        return self.inner.supports(provider)

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        return aclosing(self._arrivals(call))

    async def _arrivals(self, call: Call) -> AsyncGenerator[Arrival, None]:
        async with self.inner.stream(call) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Ending) and arrival.usage is not None:
                    reported = arrival.usage.prompt_tokens
                    await anyio.to_thread.run_sync(
                        self.calibrations.learn, call.provider, call.messages, reported
                    )
                yield arrival


def model_of(provider: Provider) -> Model:
    """What two providers have in common that ask the same model: kind, address, name."""
    return provider.kind, provider.base_url.strip().rstrip("/"), provider.model


def _within(factor: float) -> float:
    return min(max(factor, SMALLEST_FACTOR), LARGEST_FACTOR)
