"""What every server was sent last, so that it can be said beforehand how much of a prompt its cache still holds."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from marginalia.pipeline.events import AfterInference, BeforeInference
from marginalia.pipeline.layout import keeps_what_moved
from marginalia.pipeline.run import Run, StashKey
from marginalia.pipeline.slots import Step
from marginalia.prompt.cache import Beginning, same_beginning
from marginalia.prompt.segment import Sent
from marginalia.values import Provider

BEGINNING = StashKey[Beginning]("cache.beginning")
"""Where a run keeps how far its prompt begins like the last one."""

_SERVERS = 16


class LastSent:
    """The last prompt that each server and model was sent, for as long as the program runs; safe from any thread."""

    def __init__(self) -> None:
        self._sent: OrderedDict[tuple[str, str, str], Sent] = OrderedDict()
        self._lock = Lock()

    def to(self, provider: Provider) -> Sent | None:
        """What *provider* was sent last; ``None`` when that was before the program started."""
        with self._lock:
            return self._sent.get(_server(provider))

    def remember(self, provider: Provider, prompt: Sent) -> None:
        """*provider* is sent *prompt* now."""
        with self._lock:
            self._sent[_server(provider)] = prompt
            self._sent.move_to_end(_server(provider))
            while len(self._sent) > _SERVERS:
                self._sent.popitem(last=False)

    def watching(self, step: Step[BeforeInference, AfterInference]) -> Step[BeforeInference, AfterInference]:
        """A wrapper of step 7 that predicts what the cache holds, for the run's receipt, and remembers what is sent."""

        async def infer(run: Run, known: BeforeInference) -> AfterInference:
            if run.prompt is not None:
                beginning = same_beginning(
                    self.to(known.provider),
                    run.prompt,
                    run.ports.tokenizer.count,
                    keeps_what_moved=keeps_what_moved(known.provider),
                )
                run.stash.set(BEGINNING, beginning)
                self.remember(known.provider, run.prompt)
            return await step(run, known)

        return infer


def _server(provider: Provider) -> tuple[str, str, str]:
    return provider.kind, provider.base_url.strip().rstrip("/"), provider.model
