"""``generate``: one turn with scripted answers, listeners, a stop, an answer to a question, faults."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

import marginalia as mg
from marginalia.pipeline.hooks import Subscription
from marginalia.values import BookId, PartId, Request
from tests.conformance import observing, vocabulary
from tests.conformance.faults import plant
from tests.conformance.listeners import register
from tests.conformance.observing import AtLeast, AtMost, Observers
from tests.conformance.recorder import CALLBACKS, Callbacks, Recorder
from tests.conformance.scripts import script_answers
from tests.conformance.seen import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from marginalia.testing import Recorded
    from tests.conformance.case import Json
    from tests.conformance.world import World

_DISCONNECT_SECONDS = 2.0


@dataclass(slots=True, kw_only=True)
class Generation:
    """One generation of a case, from the call to its end."""

    world: World
    op: Json
    callbacks: Callbacks
    recorder: Recorder
    subscriptions: list[Subscription[Any]] = field(default_factory=list)
    repairs: list[Callable[[], None]] = field(default_factory=list)
    run: mg.Run | None = None
    refused: Exception | None = None
    requests: list[Recorded] = field(default_factory=list)
    began: float = 0.0
    returned: float = 0.0
    ended: float = 0.0

    def start(self) -> None:
        """Call the studio; what it raises at once is the end."""
        world, op = self.world, self.op
        script_answers(world, op, self.requests)
        self.recorder.first(world.studio)
        named = world.studio.on(mg.events.AfterGenerateNewMessage, self._name_part)
        self.subscriptions.append(named)
        self.repairs = plant(world, op.get("faults") or (), self.callbacks)
        self.subscriptions += register(world, op, self.callbacks, self.recorder)
        self.recorder.last(world.studio)
        self.began = time.monotonic()
        try:
            self.run = world.studio.generate(
                world.book_named(op.get("book")),
                vocabulary.turn(op.get("turn")),
                request=_request(world, op["request"]),
                listener=self.callbacks,
            )
        except mg.MarginaliaError as error:
            self.refused = error
            self.callbacks.simple_errors.append(str(error))
        else:
            self.callbacks.stop = self.run.stop
        self.returned = time.monotonic()

    def _name_part(self, _: mg.Run, event: mg.events.AfterGenerateNewMessage) -> None:
        if event.book.id == self.book_id:
            self.world.name_part(self.op.get("creates"), event.part.id)

    async def finish(self) -> None:
        """Wait for the end, pressing Stop in time when the case does."""
        after = (self.op.get("cancel") or {}).get("after_seconds")
        async with anyio.create_task_group() as tasks:
            if after is not None:
                tasks.start_soon(self._stop_after, after)
            if self.run is not None:
                await self.run.settled()
            tasks.cancel_scope.cancel()
        self.ended = time.monotonic()
        self.recorder.close()
        for each in self.subscriptions:
            each.close()
        for repair in self.repairs:
            repair()

    async def _stop_after(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self.callbacks.cancel()

    @property
    def error(self) -> Exception | None:
        """What ended the run."""
        return self.run.error if self.run is not None else self.refused

    @property
    def part_id(self) -> PartId | None:
        """The resulting part: the one reported at the end, else the one asked for, if it is there."""
        if self.callbacks.end_part is not None:
            return self.callbacks.end_part
        label = self.op.get("creates") or self.op["request"].get("part")
        part = self.world.parts.get(label or "")
        return part if part in self.world.studio.story.tree(self.book_id).nodes() else None

    @property
    def book_id(self) -> BookId:
        """The book that was written to."""
        return self.world.book_named(self.op.get("book")).id

    async def under_way(self) -> None:
        """Wait until the model was asked or the run is over; the next operation scripts its own answers."""
        while self.run is not None and not self.run.ended and not self.requests:  # noqa: ASYNC110 - another thread's list
            await anyio.sleep(0.01)


def _request(world: World, raw: Json) -> Request:
    if raw["type"] == "NEW_MESSAGE":
        return mg.NewPart()
    make = mg.Swipe if raw["type"] == "SWIPE" else mg.Regenerate
    return make(world.parts[raw["part"]])


async def generate(world: World, op: Json) -> Observers:
    """Start a generation and, unless it is to go on in the background, wait for its end."""
    generation = Generation(world=world, op=op, callbacks=Callbacks(world, op), recorder=Recorder())
    generation.start()
    if op.get("background"):
        world.background.append(generation.finish)
        await generation.under_way()
    else:
        await generation.finish()
        if any(each.get("kind") in {"silent", "stream"} for each in op.get("model") or ()):
            await _let_go(generation)
    return _observers(generation)


async def _let_go(generation: Generation) -> None:
    """Give the server the moment it needs to see that a stopped request was closed."""
    if generation.callbacks.end == "CANCELLED":
        for request in generation.requests:
            try:
                await request.settled(_DISCONNECT_SECONDS)
            except TimeoutError:
                return


def _observers(generation: Generation) -> Observers:
    found: dict[str, Callable[[], Any]] = dict(
        observing.state_observers(generation.world, generation.book_id)
    )
    return found | _ends(generation) | _prompts(generation) | _reports(generation) | _wire(generation)


def _ends(generation: Generation) -> dict[str, Callable[[], Any]]:
    world, callbacks, recorder = generation.world, generation.callbacks, generation.recorder
    return {
        "end": lambda: callbacks.end,
        "end_part": lambda: world.label(callbacks.end_part),
        "state": lambda: str(recorder.latest["state"]) if "state" in recorder.latest else None,
        "part": lambda: _part(generation),
        "locals": lambda: _locals(generation),
        "max_wall_seconds": lambda: AtMost(generation.ended - generation.began),
        "min_wall_seconds": lambda: AtLeast(generation.ended - generation.began),
        "start_returned_within_seconds": lambda: AtMost(generation.returned - generation.began),
        "error": lambda: generation.error and Failure(text=str(generation.error)),
    }


def _part(generation: Generation) -> dict[str, Any] | None:
    part = generation.part_id
    return None if part is None else observing.full_part(generation.world, part)


def _locals(generation: Generation) -> dict[str, str]:
    world, part = generation.world, generation.part_id
    found = part if part is not None else world.studio.books.get(generation.book_id).active_leaf
    return {} if found is None else dict(world.studio.story.part(found).variables)


def _prompts(generation: Generation) -> dict[str, Callable[[], Any]]:
    latest = generation.recorder.latest

    def names(key: str) -> list[str]:
        return [each.lorebook.name if key == "lorebooks" else each.name for each in latest.get(key) or ()]

    def texts(key: str) -> list[str]:
        found = latest.get(key) or ()
        return [each.text for each in found] if isinstance(found, tuple) else found

    return {
        "payload": lambda: vocabulary.messages(latest["messages"]) if "messages" in latest else None,
        "system_prompt": lambda: latest.get("system_prompt"),
        "user_prompt": lambda: latest.get("user_prompt"),
        "lore": lambda: latest["lore"].background if "lore" in latest else None,
        "user_lore": lambda: latest["lore"].before_user if "lore" in latest else None,
        "lorebooks": lambda: names("lorebooks"),
        "activated": lambda: names("activated"),
        "chronicle": lambda: texts("chronicle"),
        "summaries": lambda: texts("summaries"),
    }


def _reports(generation: Generation) -> dict[str, Callable[[], Any]]:
    callbacks, recorder = generation.callbacks, generation.recorder
    return {
        "simple_errors": lambda: callbacks.failures(generation.error),
        "errors": lambda: [Failure(text=str(each)) for each in callbacks.errors],
        "reports_total": lambda: len(callbacks.simple_errors) + len(callbacks.errors),
        "warnings": lambda: list(callbacks.warnings),
        "questions": lambda: list(callbacks.questions),
        "callbacks": lambda: list(callbacks.calls),
        "callbacks_count": lambda: _counts(callbacks.names),
        "events": lambda: list(recorder.names),
        "events_count": recorder.counts,
        "event_values": lambda: dict(recorder.values),
    }


def _counts(names: list[str]) -> Mapping[str, int]:
    return {name: names.count(name) for name in CALLBACKS}


def _wire(generation: Generation) -> dict[str, Callable[[], Any]]:
    def last() -> Recorded | None:
        return generation.requests[-1] if generation.requests else None

    def body() -> observing.Body:
        request = last()
        return observing.Body(request and request.body, request.raw.decode() if request else "")

    def wire_messages() -> list[list[str]] | None:
        request = last()
        return (
            None
            if request is None
            else [[each["role"], each["content"]] for each in request.body["messages"]]
        )

    def http() -> observing.Http | None:
        request = last()
        return None if request is None else observing.Http(request.method, request.path, request.headers)

    return {
        "requests": lambda: len(generation.requests),
        "body": body,
        "wire_messages": wire_messages,
        "http": http,
        "server_saw_disconnect": lambda: any(each.disconnected for each in generation.requests),
    }


OPERATIONS = {"generate": generate}
