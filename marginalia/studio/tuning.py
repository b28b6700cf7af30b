"""Changing how a studio generates: listeners on its events, steps replaced, wrapped or taken out."""

from __future__ import annotations

from typing import Any, TypeVar

from marginalia.pipeline.engine import Pipeline, Undo
from marginalia.pipeline.events import Event
from marginalia.pipeline.hooks import LISTENER_SECONDS, Listener, Subscription
from marginalia.pipeline.slots import Slot, Step, Wrapper
from marginalia.studio.names import BookLike, book_id

E = TypeVar("E", bound=Event)
In = TypeVar("In", bound=Event)
Out = TypeVar("Out")


class Tuning:
    """The part of a studio that changes its pipeline; a run takes the steps that are there when it is asked for."""

    pipeline: Pipeline

    def on(
        self,
        event: type[E],
        listener: Listener[E],
        *,
        book: BookLike | None = None,
        timeout: float = LISTENER_SECONDS,
        owner: str = "library",
    ) -> Subscription[E]:
        """Call ``listener(run, event)`` for every *event*, of *book* or of all; ``close()`` the answer to end it."""
        which = None if book is None else book_id(book)
        return self.pipeline.hooks.on(event, listener, owner=owner, book=which, timeout=timeout)

    def replace_step(self, slot: Slot[In, Out], step: Step[In, Out]) -> Undo:
        """Use *step* for the runs that start from now on; call what is returned to undo it."""
        return self.pipeline.replace(slot, step)

    def wrap_step(self, slot: Slot[In, Out], wrapper: Wrapper[In, Out]) -> Undo:
        """Put *wrapper* around a step; call what is returned to take it off."""
        return self.pipeline.wrap(slot, wrapper)

    def remove_step(self, slot: Slot[Any, Any]) -> Undo:
        """Take a step out: runs that come to it report NOT IMPLEMENTED. Call what is returned to put it back."""
        return self.pipeline.remove(slot)
