"""What one extension may touch, and finding extensions by entry point.

Closing a host takes back all that was done through it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol, TypeVar, cast

from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.events import Event
from marginalia.pipeline.hooks import LISTENER_SECONDS, Listener
from marginalia.pipeline.slots import Slot, Wrapper
from marginalia.values import BookId

E = TypeVar("E", bound=Event)
In = TypeVar("In", bound=Event)
Out = TypeVar("Out")
GROUP = "marginalia.extensions"
logger = logging.getLogger("marginalia.extensions")


class Extension(Protocol):
    """An extension: a name, and what it subscribes when it is installed."""

    name: str

    def install(self, host: Host) -> None:
        """Subscribe and wrap through *host*; if this raises, nothing of it is left behind."""
        ...


class Host:
    """The hands of one extension. Everything done through it is undone by :meth:`close`."""

    def __init__(self, extension: Extension, pipeline: Pipeline) -> None:
        self.name = extension.name
        self._pipeline = pipeline
        with ExitStack() as undo:
            self._undo = undo
            extension.install(self)
            self._undo = undo.pop_all()  # reached only when install() succeeded

    def on(
        self,
        event: type[E],
        listener: Listener[E],
        *,
        book: BookId | None = None,
        timeout: float = LISTENER_SECONDS,
    ) -> None:
        """Listen to *event*, of one book or of all."""
        subscription = self._pipeline.hooks.on(event, listener, owner=self.name, book=book, timeout=timeout)
        self._undo.callback(subscription.close)

    def wrap(self, slot: Slot[In, Out], wrapper: Wrapper[In, Out]) -> None:
        """Put *wrapper* around a step."""
        self._undo.callback(self._pipeline.wrap(slot, wrapper))

    def close(self) -> None:
        """Take back everything."""
        self._undo.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An extension that could not be loaded or installed; the others work without it."""

    name: str
    error: Exception


class Extensions:
    """All installed extensions of a studio."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._hosts: dict[str, Host] = {}
        self.failures: tuple[Failure, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the extensions that work."""
        return tuple(self._hosts)

    def install(self, extensions: Iterable[Extension]) -> None:
        """Install *extensions*; a broken one is noted and leaves nothing behind."""
        for extension in extensions:
            try:
                self._hosts[extension.name] = Host(extension, self._pipeline)
            except Exception as error:  # noqa: BLE001 - the isolation border: one broken extension stops no other
                self._fail(extension.name, error)

    def discover(self) -> None:
        """Install what other packages and this one offer under the entry point group ``marginalia.extensions``."""
        found: list[Extension] = []
        for point in entry_points(group=GROUP):
            try:
                found.append(cast("Extension", point.load()()))
            except Exception as error:  # noqa: BLE001 - the isolation border: one broken extension stops no other
                self._fail(point.name, error)
        self.install(found)

    def close(self) -> None:
        """Take all of them off, the latest first."""
        while self._hosts:
            self._hosts.popitem()[1].close()

    def _fail(self, name: str, error: Exception) -> None:
        self.failures = (*self.failures, Failure(name=name, error=error))
        logger.warning("the extension %s could not be installed: %s", name, error)
