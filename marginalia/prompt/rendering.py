"""Where the templates of one person are rendered and checked: here, or Jinja in processes that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import BoundedSemaphore, Lock
from typing import Protocol

from marginalia.errors import TemplateError
from marginalia.prompt import templates
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.scanner import is_plain
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.macros.values import Value
from marginalia.prompt.templates import Check, TemplateKind
from marginalia.prompt.worker import JinjaWorker
from marginalia.values import NOTHING, Syntax

SECONDS = 5.0
"""How long a process may work on one template, by the clock; the sandbox in it counts half a second of work."""
PROCESSES = 2
LONG = 20_000
"""Characters of a template from which on it makes so many objects that others could notice."""
_PATIENCE = 30.0
_MOST_WAITING = 6


class Renders(Protocol):
    """Renders templates; :func:`marginalia.prompt.templates.render` is one."""

    def __call__(
        self,
        source: str | None,
        *,
        context: TemplateContext,
        data: Mapping[str, Value] = NOTHING,
        place: str = "",
        syntax: Syntax = "macros",
        macros: MacroTable = MACROS,
    ) -> Rendered:
        """The text of a template; raises ``TemplateError``. Jinja may block: not for an event loop."""
        ...


def _never() -> bool:
    return False


class Rendering:
    """The templates of one person; ``close`` ends the processes.

    Jinja, and long templates in macros, go to at most two processes of this person's while *isolated* says so, so that
    nobody else waits for them. All others are rendered here: the evaluator of macros has a budget that nothing gets
    around. *while_long* is entered around long ones.
    """

    def __init__(
        self,
        isolated: Callable[[], bool] = _never,
        *,
        seconds: float = SECONDS,
        while_long: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._isolated = isolated
        self._while_long = while_long
        self._seconds = seconds
        self._lock = Lock()
        self._free = BoundedSemaphore(PROCESSES)
        self._idle: list[JinjaWorker] = []
        self._all: list[JinjaWorker] = []
        self._closed = False
        self._waiting = 0

    def render(
        self,
        source: str | None,
        *,
        context: TemplateContext,
        data: Mapping[str, Value] = NOTHING,
        place: str = "",
        syntax: Syntax = "macros",
        macros: MacroTable = MACROS,
    ) -> Rendered:
        """The text of a template; see :func:`marginalia.prompt.templates.render`."""
        if source and self._elsewhere(source, syntax):
            with self._worker() as worker:
                return worker.render(
                    source, context=context, data=data, place=place, syntax=syntax, macros=macros
                )
        with self._while_long() if source and len(source) > LONG else nullcontext():
            return templates.render(
                source, context=context, data=data, place=place, syntax=syntax, macros=macros
            )

    def check(
        self,
        source: str | None,
        *,
        kind: TemplateKind,
        syntax: Syntax = "macros",
        macros: MacroTable = MACROS,
        known: Iterable[str] = (),
    ) -> Check:
        """What can be said about a template without rendering it; see :func:`marginalia.prompt.templates.check`."""
        if source and self._elsewhere(source, syntax):
            try:
                with self._worker() as worker:
                    return worker.check(source, kind=kind, syntax=syntax, macros=macros, known=known)
            except TemplateError as error:
                return Check(valid=False, message=str(error), line=1, column=1)
        with self._while_long() if source and len(source) > LONG else nullcontext():
            return templates.check(source, kind=kind, syntax=syntax, macros=macros, known=known)

    def _elsewhere(self, source: str, syntax: Syntax) -> bool:
        """Whether a template is for a process of its own."""
        heavy = syntax == "jinja" or (len(source) > LONG and not is_plain(source))
        return heavy and self._isolated()

    @property
    def processes(self) -> int:
        """How many processes there are for this person."""
        return len(self._all)

    @property
    def waiting(self) -> int:
        """How many templates wait for a process."""
        return self._waiting

    def close(self) -> None:
        """End the processes; what they were rendering fails."""
        with self._lock:
            self._closed = True
            workers, self._all, self._idle = self._all, [], []
        for worker in workers:
            worker.close()

    @contextmanager
    def _worker(self) -> Generator[JinjaWorker, None, None]:
        """A process for one template; one that a macro of an extension holds on to is not waited for forever."""
        with self._queued():
            free = self._free.acquire(timeout=_PATIENCE)
        if not free:
            raise TemplateError("The template was not rendered: those before it have not come back.")
        try:
            worker = self._taken()
            try:
                yield worker
            finally:
                with self._lock:
                    self._idle.append(worker)
        finally:
            self._free.release()

    @contextmanager
    def _queued(self) -> Generator[None, None, None]:
        """A place in the queue; whoever waits holds one of the threads that everybody shares."""
        with self._lock:
            if self._waiting >= _MOST_WAITING:
                raise TemplateError(
                    "The template was not rendered: too many of yours wait already. Try again in a moment."
                )
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    def _taken(self) -> JinjaWorker:
        with self._lock:
            if self._closed:
                raise TemplateError("The template was not rendered: its studio is closed.")
            if self._idle:
                return self._idle.pop()
            worker = JinjaWorker(seconds=self._seconds)
            self._all.append(worker)
            return worker
