"""Who listens to which event, and the one call that keeps a bad listener harmless.

A listener gets a frozen event and answers ``None`` (it only looked), an event of the same type (use this one
instead) or ``Final(event)`` (and ask nobody else). Raising :class:`~marginalia.errors.Refused` ends the run
on purpose.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

import anyio
import anyio.lowlevel

from marginalia.errors import Refused
from marginalia.pipeline.events import BeforeCleanup, Event
from marginalia.values import BookId

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run

E = TypeVar("E", bound=Event)
BLOCKING_SECONDS = 0.05
LISTENER_SECONDS = 30.0


@dataclass(frozen=True)
class Final(Generic[E]):
    """An answer after which the remaining listeners of this event are skipped."""

    event: E


Answer: TypeAlias = E | Final[E] | None
Listener: TypeAlias = "Callable[[Run, E], Answer[E] | Awaitable[Answer[E]]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A listener that failed, hung or blocked the loop; the run went on without it."""

    owner: str
    event: str
    error: Exception


@dataclass(eq=False, slots=True)
class Subscription(Generic[E]):
    """One listener on one event; closing it at any time, also twice, also while it is being asked, is harmless."""

    event: type[E]
    listener: Listener[E]
    owner: str
    book: BookId | None
    timeout: float
    hooks: Hooks = field(repr=False)
    open: bool = True

    def close(self) -> None:
        """Stop listening."""
        self.open = False
        self.hooks.discard(self)

    def concerns(self, event: Event) -> bool:
        """Whether this listener still wants events of that book."""
        return self.open and self.book in (None, event.book.id)

    async def offer(self, run: Run, event: E) -> tuple[E, bool]:
        """Ask the listener; give the event to go on with, and whether to ask the others."""
        try:
            answer, go_on = await self._ask(run, event)
            if answer is not None and type(answer) is not type(event):
                raise TypeError(f"{self.owner} answered {type(answer).__name__} to {type(event).__name__}")
        except Refused as refusal:
            if isinstance(event, BeforeCleanup):  # nothing is left that could be refused
                run.report(Problem(owner=self.owner, event=type(event).__name__, error=refusal))
                return event, True
            raise
        except Exception as error:  # noqa: BLE001 - the isolation border: a bad listener harms nobody but itself
            run.report(Problem(owner=self.owner, event=type(event).__name__, error=error))
            return event, True
        return (event if answer is None else answer), go_on

    async def _ask(self, run: Run, event: E) -> tuple[E | None, bool]:
        began = time.perf_counter()
        answer: Any = self.listener(run, event)
        if isawaitable(answer):
            with anyio.fail_after(self.timeout):
                answer = await answer
        elif time.perf_counter() - began > BLOCKING_SECONDS:
            error = BlockingIOError("it kept the event loop busy for over 50 ms; make it async")
            run.report(Problem(owner=self.owner, event=type(event).__name__, error=error))
        if isinstance(answer, Final):
            return cast("Final[E]", answer).event, False
        return answer, True


class Hooks:
    """The open subscriptions by event, in the order of their registration."""

    def __init__(self) -> None:
        self._subscriptions: dict[type[Event], tuple[Subscription[Any], ...]] = {}
        self._lock = Lock()

    def on(
        self,
        event: type[E],
        listener: Listener[E],
        *,
        owner: str = "library",
        book: BookId | None = None,
        timeout: float = LISTENER_SECONDS,
    ) -> Subscription[E]:
        """Call *listener* for every *event* (of *book*, or of all books) until the subscription is closed.

        An async listener that takes longer than *timeout* seconds is ended and skipped.
        """
        subscription = Subscription(event, listener, owner, book, timeout, self)
        with self._lock:
            self._subscriptions[event] = (*self._subscriptions.get(event, ()), subscription)
        return subscription

    def discard(self, subscription: Subscription[Any]) -> None:
        """Forget a subscription; called by its ``close``."""
        with self._lock:
            known = self._subscriptions.get(subscription.event, ())
            self._subscriptions[subscription.event] = tuple(
                each for each in known if each is not subscription
            )

    def heard(self, event: type[Event]) -> bool:
        """Whether anybody listens to *event*; what is made only for listeners can be spared otherwise."""
        return bool(self._subscriptions.get(event))

    def owners(self, events: Iterable[type[Event]], book: BookId) -> tuple[str, ...]:
        """Who listens to any of *events* of *book*, each once."""
        found = (each for event in events for each in self._subscriptions.get(event, ()))
        return tuple(dict.fromkeys(each.owner for each in found if each.open and each.book in (None, book)))

    async def emit(self, run: Run, event: E) -> E:
        """Offer *event* to its listeners, one after the other, over a snapshot; each may answer with another."""
        for subscription in self._subscriptions.get(type(event), ()):
            if not subscription.concerns(event):
                continue
            event, go_on = await self._recorded(subscription, run, event)
            await anyio.lowlevel.checkpoint_if_cancelled()  # a sync listener may have stopped the run
            if not go_on:
                break
        return event

    async def _recorded(self, subscription: Subscription[E], run: Run, event: E) -> tuple[E, bool]:
        began, answered, go_on = run.recorder.now, event, True
        try:
            answered, go_on = await subscription.offer(run, event)
        finally:  # also when it refused
            run.recorder.listened(subscription.owner, event, answered, began)
        return answered, go_on
