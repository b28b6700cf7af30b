"""Renders Jinja templates in a process of its own, which is killed when it takes too long.

A thread cannot be stopped, and one call into C holds the interpreter for everybody; so a server with several users
renders other people's Jinja here. The sandbox is the same as without; this is the wall behind it. What goes to the
process is plain data without a key or a secret in it, and what comes back is checked.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import BinaryIO, Self, TypeVar, cast

from marginalia.errors import TemplateError
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.table import Invocation, MacroTable
from marginalia.prompt.macros.values import Value
from marginalia.prompt.templates import Check, TemplateKind
from marginalia.prompt.wire import (
    NONSENSE,
    Message,
    check_in,
    facts_out,
    receive,
    rendered_in,
    send,
    state_out,
    take_state,
)
from marginalia.values import NOTHING, Syntax

T = TypeVar("T")

_COMMAND = (sys.executable, "-m", "marginalia.prompt.worker_process")
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT", "LANG", "LC_ALL", "TZ")
_MOST_CALLS = 1000
_PATIENCE = 1.0


class JinjaWorker:
    """A process that renders one template at a time, mostly one in Jinja.

    It is started when first needed, and replaced after it was killed. Calls block, so an event loop makes them in a
    thread. Macros of extensions are called in this process, where the extensions are; their time does not count. Use
    it as a context manager, or ``close`` it.
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._ended_by_itself = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process now, so that the first render need not wait for it."""
        with self._lock:
            self._running()

    def close(self) -> None:
        """End the process, whatever it does; what it was rendering fails."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        if self._lock.acquire(
            timeout=_PATIENCE
        ):  # else a macro of an extension hangs; its thread is a daemon
            try:
                self._end()
            finally:
                self._lock.release()

    def render(
        self,
        source: str,
        *,
        context: TemplateContext,
        data: Mapping[str, Value] = NOTHING,
        place: str = "",
        syntax: Syntax = "jinja",
        macros: MacroTable = MACROS,
    ) -> Rendered:
        """As ``templates.render``; variables and dice of *context* move as if it had run here.

        Raises:
            TemplateError: the template failed, or was stopped because it took too long.
        """
        request = {
            "source": source,
            "syntax": syntax,
            "foreign": _foreign(macros),
            "facts": facts_out(context.facts),
            "data": dict(data),
            "place": place or source,
            **state_out(context),
        }

        def taken(answer: Message) -> Rendered:
            rendered = rendered_in(answer)
            take_state(context, answer)
            return rendered

        return self._ask(request, context.fork(), macros, taken)

    def check(
        self,
        source: str,
        *,
        kind: TemplateKind,
        syntax: Syntax = "jinja",
        macros: MacroTable = MACROS,
        known: Iterable[str] = (),
    ) -> Check:
        """As ``templates.check``; raises ``TemplateError`` when that takes too long."""
        request = {
            "source": source,
            "syntax": syntax,
            "foreign": _foreign(macros),
            "kind": kind,
            "known": list(known),
        }
        return self._ask(request, None, macros, check_in)

    def _ask(
        self,
        request: Message,
        context: TemplateContext | None,
        macros: MacroTable,
        take: Callable[[Message], T],
    ) -> T:
        with self._lock:
            answer, late = self._tried(request, context, macros)
            if answer is None and not late and not self._closed and self._ended_by_itself:
                answer, late = self._tried(request, context, macros)
            if answer is not None and "error" not in answer:
                try:
                    return take(answer)
                except NONSENSE:
                    self._end()
                    answer = None
        if answer is not None:
            raise TemplateError(str(answer["error"]))
        raise TemplateError(
            f"The template was stopped after {self._seconds:g} seconds. Make it simpler."
            if late
            else "The template was stopped: the process that rendered it ended, or answered what is no answer."
        )

    def _tried(
        self, request: Message, context: TemplateContext | None, macros: MacroTable
    ) -> tuple[Message | None, bool]:
        """The answer, if there is one, and whether it took too long."""
        process = self._running()
        conversation = _Conversation(process, self._seconds, context, macros)
        answer = conversation.answer(request)
        if answer is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0 if conversation.late else _PATIENCE)
            self._end()
            self._ended_by_itself = process.returncode == 0  # having had nothing to do for long
        return answer, conversation.late

    def _running(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise TemplateError("The template was not rendered: its studio is closed.")
        if self._process is None or self._process.poll() is not None:
            self._end()
            environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            receive(cast("BinaryIO", self._process.stdout))
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", pipe).close()
            if process.poll() is None:
                process.kill()
            process.wait()


class _Conversation:
    """One request, its answer, and what the process asks for in between."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        seconds: float,
        context: TemplateContext | None,
        macros: MacroTable,
    ) -> None:
        self._process = process
        self._left = seconds
        self._context = context
        self._macros = macros
        self.late = False

    def answer(self, request: Message) -> Message | None:
        """The answer, or None when the process is gone; it is killed when it has worked for too long."""
        message = request
        for _ in range(_MOST_CALLS):
            try:
                with self._counted():
                    send(cast("BinaryIO", self._process.stdin), message)
                    answer = receive(cast("BinaryIO", self._process.stdout))
                if answer is None or "call" not in answer:
                    return answer
                message = self._called(answer)
            except (OSError, *NONSENSE):  # it is gone, or says what it cannot mean
                return None
        self._process.kill()
        self._process.wait()
        return {"error": f"The template was stopped after {_MOST_CALLS:,} calls of macros of extensions."}

    @contextmanager
    def _counted(self) -> Generator[None, None, None]:
        began, timer = monotonic(), Timer(max(0.0, self._left), self._kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._left -= monotonic() - began

    def _kill(self) -> None:
        self.late = True
        self._process.kill()

    def _called(self, asked: Message) -> Message:
        """What a macro of an extension prints, which the process cannot call itself."""
        name, context = str(asked["call"]), self._context
        macro = self._macros.find(name)
        if macro is None or not macro.foreign or context is None:
            return {"error": f"There is no macro {name!r} of an extension."}
        take_state(context, asked)
        arguments = tuple(map(str, asked["arguments"]))
        try:
            text = str(
                macro.function(Invocation(context, arguments, str(asked["place"]), int(asked["site"])))
            )
        except TemplateError as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - the border to an extension: its failure is the template's
            return {"error": f"The macro {name!r} of an extension failed: {error}"}
        return {"text": text, **state_out(context)}


def _foreign(macros: MacroTable) -> list[tuple[str, int, int]]:
    """The macros that the process does not have: their names, and how many arguments they take."""
    return [(each.name, each.minimum, each.maximum) for each in macros.values() if each.foreign]
