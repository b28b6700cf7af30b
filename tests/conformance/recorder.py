"""What a generation says while it runs: events and callbacks, written down in the words of the cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

import marginalia as mg
from marginalia.pipeline.hooks import Subscription
from marginalia.values import PartId
from tests.conformance import vocabulary
from tests.conformance.seen import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conformance.case import Json
    from tests.conformance.world import World

_VALUES_OF: Mapping[type[mg.events.Event], Callable[[Any], Any]] = {
    mg.events.ChunkReceived: lambda event: event.chunk,
    mg.events.ReasoningChunkReceived: lambda event: event.chunk,
    mg.events.ProcessLorebookEntry: lambda event: event.entry.name,
    mg.events.ProcessLorebooks: lambda event: [each.lorebook.name for each in event.lorebooks],
    mg.events.ProcessActivatedEntries: lambda event: [each.name for each in event.activated],
    mg.events.BeforeSummaries: lambda event: [each.text for each in event.summaries],
    mg.events.AfterManuscriptConcatenation: lambda event: [each.text for each in event.chronicle],
    mg.events.BeforeCleanup: lambda event: str(event.state),
}

_KNOWN_FIELDS = (
    "lorebooks",
    "activated",
    "chronicle",
    "summaries",
    "messages",
    "system_prompt",
    "user_prompt",
    "lore",
    "state",
)


CALLBACKS = (
    "onNodeCreated",
    "onReasoningChunk",
    "onResponseChunk",
    "onMetricsUpdated",
    "onWarning",
    "onSimpleError",
    "onError",
    "onComplete",
    "onCancelled",
    "askQuestion",
)


class Recorder:
    """Listens to all events: the first listener of a run writes them down, the last one sees the answers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: dict[str, list[Any]] = {}
        self.latest: dict[str, Any] = {}
        self._subscriptions: list[Subscription[Any]] = []

    def first(self, studio: mg.Studio) -> None:
        """Register before the listeners of the case."""
        self._subscriptions += [studio.on(event, self._write_down) for event in mg.events.ALL]

    def last(self, studio: mg.Studio) -> None:
        """Register behind the listeners of the case."""
        self._subscriptions += [studio.on(event, self._look) for event in mg.events.ALL]

    def close(self) -> None:
        """Stop listening."""
        for each in self._subscriptions:
            each.close()

    def counts(self) -> Mapping[str, int]:
        """How often each event came, 0 included."""
        return {name: self.names.count(name) for name in vocabulary.EVENTS}

    def _write_down(self, run: mg.Run, event: mg.events.Event) -> None:
        name = vocabulary.EVENT_NAMES[type(event)]
        self.names.append(name)
        if type(event) in _VALUES_OF:
            self.values.setdefault(name, []).append(_VALUES_OF[type(event)](event))
        self._look(run, event)

    def _look(self, _: mg.Run, event: mg.events.Event) -> None:
        self.latest |= {name: getattr(event, name) for name in _KNOWN_FIELDS if hasattr(event, name)}


class Callbacks(mg.GenerationListener):
    """The caller's ear of a generation, and the hand that answers questions and presses Stop."""

    def __init__(self, world: World, op: Json) -> None:
        self.calls: list[str] = []
        self.names: list[str] = []
        self.warnings: list[str] = []
        self.simple_errors: list[str] = []
        self.errors: list[Exception] = []
        self.questions: list[str] = []
        self.end: str | None = None
        self.end_part: PartId | None = None
        self.stop: Callable[[], None] = lambda: None
        self.stopped = anyio.Event()
        self.faults_at: dict[str, Callable[[], None] | None] = dict.fromkeys(CALLBACKS)
        self._world = world
        self._op = op

    def cancel(self) -> None:
        """Press Stop, as often as the case does."""
        self.stopped.set()
        for _ in range((self._op.get("cancel") or {}).get("times", 1)):
            self.stop()

    def on_node_created(self, part: mg.Part) -> None:
        """The new part gets its label."""
        self._world.name_part(self._op.get("creates"), part.id)
        self._heard("onNodeCreated", self._world.label(part.id))

    def on_reasoning_chunk(self, text: str) -> None:
        """A piece of reasoning."""
        self._heard("onReasoningChunk", repr(text))

    def on_response_chunk(self, text: str) -> None:
        """A piece of text."""
        self._heard("onResponseChunk", repr(text))

    def on_metrics_updated(self, part: mg.Part) -> None:
        """Counts or times."""
        self._heard("onMetricsUpdated", self._world.label(part.id))

    def on_warning(self, text: str) -> None:
        """A warning."""
        self.warnings.append(text)
        self._heard("onWarning")

    def on_simple_error(self, text: str) -> None:
        """A failure with an explanation."""
        self.simple_errors.append(text)
        self._heard("onSimpleError")

    def on_error(self, error: Exception) -> None:
        """Any other failure."""
        self.errors.append(error)
        self._heard("onError")

    def on_complete(self, part: mg.Part) -> None:
        """The end of a success."""
        self.end, self.end_part = "COMPLETED", part.id
        self._heard("onComplete", self._world.label(part.id))

    def on_cancelled(self, part: mg.Part | None) -> None:
        """Any other end."""
        self.end, self.end_part = "CANCELLED", part.id if part is not None else None
        self._heard("onCancelled", self._world.label(self.end_part) or "null")

    async def ask_question(self, text: str) -> bool:
        """Answer as the case says; ``never`` waits for ever."""
        self.questions.append(text)
        answer = self._op.get("answer") or {}
        value, after = (
            (answer, None) if isinstance(answer, str) else (answer.get("value"), answer.get("after"))
        )
        self._heard("askQuestion")
        if after == "cancel":
            await self.stopped.wait()
        if value not in {"yes", "no"}:
            await anyio.sleep_forever()
        return value == "yes"

    def failures(self, ended_by: Exception | None) -> list[Failure]:
        """The simple errors, with the class of failure that the run ended by."""
        return [failure(text, ended_by) for text in self.simple_errors]

    def _heard(self, name: str, argument: str | None = None) -> None:
        self.names.append(name)
        self.calls.append(name if argument is None else f"{name}({argument})")
        wanted = self._op.get("cancel") or {}
        if wanted.get("after_callback") == name and self.names.count(name) == wanted.get("n", 1):
            self.cancel()
        if (fault := self.faults_at[name]) is not None:
            fault()


def failure(text: str, error: Exception | None) -> Failure:
    """A failure as a case sees it."""
    if isinstance(error, mg.ModelError) and str(error) in text:
        return Failure(text=text, category=str(error.kind), category_text=error.text)
    if isinstance(error, mg.FormatError):
        return Failure(text=text, kind="invalid_file")
    return Failure(text=text)
