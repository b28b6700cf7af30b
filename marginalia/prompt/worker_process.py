"""The process of a :class:`~marginalia.prompt.worker.JinjaWorker`: answers until the other side is gone.

It is started with ``python -m marginalia.prompt.worker_process`` and keeps nothing from one template to the next.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, BinaryIO

from marginalia.errors import TemplateError
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.table import Invocation, MacroFunction, MacroTable
from marginalia.prompt.templates import check, render
from marginalia.prompt.wire import (
    Message,
    check_out,
    context_in,
    receive,
    rendered_out,
    send,
    state_out,
    take_state,
)

_MEMORY = 512 * 1024 * 1024
_IDLE_SECONDS = 600.0


class _Studio:
    """The other side, which is asked to call the macros of extensions: they live there."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self.requests = requests
        self.answers = answers
        self.table = lru_cache(maxsize=8)(self._table)

    def _table(self, foreign: tuple[tuple[str, int, int], ...]) -> MacroTable:
        table = MACROS
        for name, minimum, maximum in foreign:
            table = table.with_macro(name, self._asking(name), minimum=minimum, maximum=maximum)
        return table

    def _asking(self, name: str) -> MacroFunction:
        return partial(self._ask, name)

    def _ask(self, name: str, call: Invocation) -> str:
        send(
            self.answers,
            {
                "call": name,
                "arguments": call.arguments,
                "place": call.place,
                "site": call.site,
                **state_out(call.context),
            },
        )
        reply = receive(self.requests)
        if reply is None:
            raise SystemExit
        if "error" in reply:
            raise TemplateError(str(reply["error"]))
        take_state(call.context, reply)
        return str(reply["text"])

    def answer(self, request: Mapping[str, Any]) -> Message:
        """What comes of one request."""
        macros = self.table(tuple((name, low, high) for name, low, high in request["foreign"]))
        if "kind" in request:
            kind, syntax, known = request["kind"], request["syntax"], request["known"]
            return check_out(check(request["source"], kind=kind, syntax=syntax, macros=macros, known=known))
        context = context_in(request)
        try:
            rendered = render(
                request["source"],
                context=context,
                data=request["data"],
                place=request["place"],
                syntax=request["syntax"],
                macros=macros,
            )
        except TemplateError as error:
            return {"error": str(error)}
        return {**rendered_out(rendered), **state_out(context)}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the other side is gone, or nobody asked for ten minutes. The first answer says: ready."""
    studio = _Studio(requests, answers)
    send(answers, {})
    while _asked(requests) and (request := receive(requests)) is not None:
        send(answers, studio.answer(request))


def _asked(requests: BinaryIO) -> bool:
    """Wait for a request; False when none came for so long that the memory is better given back."""
    if os.name != "posix":  # there, pipes cannot be waited for
        return True
    return bool(select.select([requests], [], [], _IDLE_SECONDS)[0])


def _limit() -> None:
    """A limit on memory, where the system has one; and Ctrl+C is for the server to hear."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    _limit()
    serve(sys.stdin.buffer, sys.stdout.buffer)
