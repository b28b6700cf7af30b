"""Counting as the book's model counts: corrected estimates at once, the server's own numbers when it told them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import cast

import anyio
import anyio.to_thread

from marginalia.errors import MarginaliaError, ModelError
from marginalia.inference.calibrated import Calibration, Calibrations, Model, model_of
from marginalia.inference.exact import ModelCounts, Version, longest_first
from marginalia.inference.models import Models
from marginalia.inference.text_counts import TextCounts
from marginalia.pipeline.ports import Inference, Manuscript, Ports
from marginalia.prompt.tokens import Tokenizer
from marginalia.store import Store
from marginalia.story.weighed import WeighedTree
from marginalia.values import Provider

FACTORS = "counting.factors"
"""The key in a user's settings for what was learned about models."""

VARIABLE = "MARGINALIA_EXACT_COUNTS"
_AT_ONCE = 512  # texts and parts that are counted at a time
_LONGEST_SETTLING = 10.0
_AGAIN_AFTER = 60.0  # seconds until a server that was away is asked again
_LOOK_EVERY = 0.1


class Counting:
    """``studio.counting``: how the tokens of prompts are counted.

    Every prompt is counted with what is known when it is built; nothing waits for a server. What had to be estimated
    can then be had from it with :meth:`settle`, once per text and model. With *off* (the caller brought a tokenizer of
    their own), that tokenizer counts everything. Without *ask* no server is asked.
    """

    def __init__(
        self,
        store: Store,
        models: Models,
        tokenizer: Tokenizer,
        folder: Path | None,
        *,
        off: bool,
        ask: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.off = off
        self._ask = ask
        self._store = store
        self._models = models
        self._tokenizer = tokenizer
        self._folder = folder
        self._clock = clock
        self._calibrations = Calibrations(tokenizer, known=() if off else _kept(store), learned=self._keep)
        self._counts: dict[Model, ModelCounts] = {}
        self._away: dict[Model, float] = {}
        self._settling: set[Model] = set()
        self._lock = Lock()

    @property
    def inference(self) -> Inference:
        """The models, from whose answers is learned."""
        return self._models if self.off else self._calibrations.watching(self._models)

    def calibration(self, provider: Provider) -> Calibration:
        """How estimates are corrected for the model of *provider*, and from how many reports that was learned."""
        return self._calibrations.of(provider)

    def tokenizer(self, provider: Provider | None) -> Tokenizer:
        """Corrected estimates for the model of *provider*, which never ask anybody."""
        return self._tokenizer if self.off else self._calibrations.tokenizer(provider)

    def scaled(self, provider: Provider | None, stored: int) -> int:
        """About how many tokens of the model of *provider* the *stored* ones are."""
        if self.off or provider is None:
            return stored
        return round(stored * self._calibrations.of(provider).factor)

    def prepared(self, manuscript: Manuscript, ports: Ports) -> tuple[Manuscript, Ports]:
        """*manuscript* and *ports* for one run, with texts and parts counted as the book's model counts them."""
        provider = manuscript.provider
        if self.off or provider is None:
            return manuscript, ports
        tokenizer = self._of(provider).tokenizer(self._calibrations.tokenizer(provider))
        weighed = replace(manuscript, tree=WeighedTree(manuscript.tree, tokenizer.weigh))
        return weighed, replace(ports, tokenizer=tokenizer, stored_by=ports.stored_by or self._tokenizer)

    async def settle(self, provider: Provider | None) -> bool:
        """Have the server count what the last prompts for it had to estimate; whether anything is known better now.

        Takes at most ten seconds. Where the server does not count, is away, or is not to be asked, it ends at once and
        the estimates stay.
        """
        if self.off or provider is None:
            return False
        model = model_of(provider)
        with anyio.move_on_after(_LONGEST_SETTLING):
            if not self._begin(model):
                return await self._wait_for_the_other(model)
            try:
                return await self._settle(provider, self._of(provider))
            finally:
                self._settling.discard(model)
        return False

    async def _settle(self, provider: Provider, counts: ModelCounts) -> bool:
        texts, parts = await anyio.to_thread.run_sync(self._wanted, counts)
        wanted = longest_first({*texts, *parts.values()})[:_AT_ONCE]
        unknown = [text for text in wanted if counts.texts.get(text) is None]
        if unknown and self._may_ask(provider):
            await self._count(provider, counts, unknown)
        known = {part: counts.texts.get(text) for part, text in parts.items()}
        found = {part: tokens for part, tokens in known.items() if tokens is not None}
        counts.know(found)
        return bool(found) or any(counts.texts.get(text) is not None for text in texts)

    async def _count(self, provider: Provider, counts: ModelCounts, texts: Sequence[str]) -> None:
        try:
            counted, way = await self._models.count_texts(provider, texts)
        except ModelError:
            self._away[model_of(provider)] = self._clock() + _AGAIN_AFTER
            return
        if counted:
            await anyio.to_thread.run_sync(counts.texts.put, counted, way)
            await anyio.to_thread.run_sync(self._calibrations.learn_texts, provider, counted)

    def _may_ask(self, provider: Provider) -> bool:
        rested = self._clock() >= self._away.get(model_of(provider), 0.0)
        return self._ask and rested and self._models.counts_texts(provider)

    def _wanted(self, counts: ModelCounts) -> tuple[Sequence[str], Mapping[Version, str]]:
        """The texts, and the parts with theirs; reads the store, so not for the loop."""
        texts, versions = counts.wanted()
        read = self._store.library.texts([part for part, _ in versions[:_AT_ONCE]])
        return texts, {each: read[each[0]] for each in versions[:_AT_ONCE] if each[0] in read}

    def _begin(self, model: Model) -> bool:
        with self._lock:
            if model in self._settling:
                return False
            self._settling.add(model)
            return True

    async def _wait_for_the_other(self, model: Model) -> bool:
        """Another window is at it, perhaps in another loop: what it learns is for this one, too."""
        while model in self._settling:  # noqa: ASYNC110 - an event would belong to one loop
            await anyio.sleep(_LOOK_EVERY)
        return True

    def _of(self, provider: Provider) -> ModelCounts:
        model = model_of(provider)
        with self._lock:
            known = self._counts.get(model)
            if known is None:
                known = self._counts[model] = ModelCounts(TextCounts(self._name(provider), self._folder))
            return known

    def _name(self, provider: Provider) -> str:
        kind, address, name = model_of(provider)
        return " ".join((kind, address, name or (self._models.local.name if kind == "bundled" else "")))

    def _keep(self, known: Mapping[Model, Calibration]) -> None:
        told = [[*model, each.factor, each.reports] for model, each in known.items() if each.reports]
        with suppress(MarginaliaError):  # nothing that a writer would miss
            self._store.settings.set(FACTORS, told)


def _kept(store: Store) -> list[tuple[Model, Calibration]]:
    known: list[tuple[Model, Calibration]] = []
    for row in _rows(store.settings.get(FACTORS)):
        match row:
            case [str(kind), str(address), str(name), float() | int() as factor, int(reports)]:
                known.append(((kind, address, name), Calibration(factor=float(factor), reports=reports)))
            case _:
                continue
    return known


def _rows(told: object) -> list[object]:
    return cast("list[object]", told) if isinstance(told, list) else []
