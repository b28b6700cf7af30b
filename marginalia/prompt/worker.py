"""Renders Jinja templates in a process of its own, which is killed when it takes too long.

A thread cannot be stopped, and one call into C holds the interpreter for everybody; so a server with several users
renders other people's Jinja here. The sandbox is the same as without; this is the wall behind it. What goes to the
worker is plain data, and what comes back is JSON: the answer of a process that may have been taken over is not
trusted with more.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from random import Random
from threading import Lock, Timer
from typing import Any, BinaryIO, Self, cast

from marginalia.errors import TemplateError
from marginalia.prompt.context import Facts, Rendered, Span, TemplateContext, Variables
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.values import Value
from marginalia.prompt.sandbox import render_jinja
from marginalia.values import NOTHING, Limits, Turn

_MEMORY = 512 * 1024 * 1024
_LONGEST_ANSWER = 64 * 1024 * 1024


class JinjaWorker:
    """A process that renders one Jinja template at a time; started when first needed, replaced after it was killed.

    Calls block, so an event loop makes them in a thread. Macros of extensions do not reach the worker. Use it as a
    context manager, or ``close`` it.
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self._seconds = seconds
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process now, so that the first render need not wait for it."""
        with self._lock:
            self._running()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def render(
        self,
        source: str,
        *,
        context: TemplateContext,
        data: Mapping[str, Value] = NOTHING,
        place: str = "",
    ) -> Rendered:
        """As ``templates.render`` with the Jinja syntax; variables and dice of *context* move as if it had run here.

        Raises:
            TemplateError: the template failed, or was stopped because it took too long.
        """
        request = {
            "source": source,
            "facts": _facts_out(context.facts),
            "local": context.local,
            "shared": context.shared,
            "random": context.random.getstate(),
            "data": dict(data),
            "place": place or source,
        }
        answer = self._ask(json.dumps(request).encode())
        if "error" in answer:
            raise TemplateError(str(answer["error"]))
        for store, name in ((context.local, "local"), (context.shared, "shared")):
            store.clear()
            store.update(_texts(answer[name]))
        context.random.setstate(_state(answer["random"]))
        spans = tuple(Span(int(start), int(end), str(name)) for start, end, name in answer["spans"])
        return Rendered(text=str(answer["text"]), spans=spans, unknown=tuple(map(str, answer["unknown"])))

    def _ask(self, request: bytes) -> dict[str, Any]:
        with self._lock:
            process = self._running()
            timer = Timer(self._seconds, process.kill)
            timer.start()
            try:
                _write(cast("BinaryIO", process.stdin), request)
                answer = _read(cast("BinaryIO", process.stdout))
            except OSError:
                answer = None
            finally:
                timer.cancel()
            if answer is None:
                self._end()
                raise TemplateError(
                    f"The template was stopped after {self._seconds:g} seconds. Make it simpler."
                )
            return cast("dict[str, Any]", json.loads(answer))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            command = [sys.executable, "-m", "marginalia.prompt.worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own module
            _read(cast("BinaryIO", self._process.stdout))
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", pipe).close()


def _write(pipe: BinaryIO, content: bytes) -> None:
    pipe.write(len(content).to_bytes(8, "big") + content)
    pipe.flush()


def _read(pipe: BinaryIO) -> bytes | None:
    """One message, or None when the other side is gone."""
    head = pipe.read(8)
    length = int.from_bytes(head, "big")
    if len(head) < 8 or length > _LONGEST_ANSWER:  # noqa: PLR2004 - the length is eight bytes
        return None
    content = pipe.read(length)
    return content if len(content) == length else None


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def _state(values: list[Any]) -> tuple[Any, ...]:
    version, numbers, gauss = values
    return int(version), tuple(int(number) for number in numbers), gauss


def _facts_out(facts: Facts) -> dict[str, Any]:
    """Facts as plain data; of the story only what macros can ask for, its length and its last text."""
    last_time = facts.last_time.isoformat() if facts.last_time else None
    return {
        **{name: getattr(facts, name) for name in _PLAIN},
        "turn": asdict(facts.turn),
        "limits": asdict(facts.limits),
        "story": [len(facts.story), facts.story[-1] if facts.story else ""],
        "last_time": last_time,
        "now": facts.now.isoformat(),
    }


_PLAIN = [
    "book_id",
    "book_name",
    "book_description",
    "pov",
    "tense",
    "style",
    "model",
    "generation_type",
    "last_instructions",
    "summary",
]


def _facts_in(values: Mapping[str, Any]) -> Facts:
    length, last = values["story"]
    last_time = values["last_time"]
    return Facts(
        **{name: values[name] for name in _PLAIN},
        turn=Turn(**values["turn"]),
        limits=Limits(**values["limits"]),
        story=[""] * (length - 1) + [last] if length else [],
        last_time=datetime.fromisoformat(last_time) if last_time else None,
        now=datetime.fromisoformat(values["now"]),
    )


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    random = Random()  # noqa: S311 - stories need dice, not secrets
    random.setstate(_state(request["random"]))
    context = TemplateContext(
        _facts_in(request["facts"]), Variables(local=request["local"], shared=request["shared"]), random
    )
    try:
        rendered = render_jinja(
            request["source"], context=context, data=request["data"], place=request["place"], macros=MACROS
        )
    except TemplateError as error:
        return {"error": str(error)}
    return {
        "text": rendered.text,
        "spans": [(span.start, span.end, span.name) for span in rendered.spans],
        "unknown": rendered.unknown,
        "local": context.local,
        "shared": context.shared,
        "random": random.getstate(),
    }


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the other side is gone. The first, empty answer says that the process is ready."""
    _write(answers, b"")
    while (request := _read(requests)) is not None:
        _write(answers, json.dumps(_answer(json.loads(request))).encode())


def _limit() -> None:
    """A limit on memory, where the system has one."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    _limit()
    serve(sys.stdin.buffer, sys.stdout.buffer)
