"""What a studio and its template process say to each other: JSON, each message behind its length.

Nothing else, since the answer of a process that may have been taken over is not trusted with more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from random import Random
from typing import Any, BinaryIO, TypeAlias, cast

from marginalia.prompt.context import Facts, Rendered, Span, TemplateContext, Variables
from marginalia.prompt.macros.lint import Hint
from marginalia.prompt.templates import Check
from marginalia.values import Limits, Turn

Message: TypeAlias = "dict[str, Any]"

NONSENSE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a message raises that the other side cannot have meant."""

_LONGEST = 64 * 1024 * 1024
_PLAIN_FACTS = (
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
)


def send(pipe: BinaryIO, message: Mapping[str, Any]) -> None:
    """Write one message; raises ``OSError`` when the other side is gone."""
    content = json.dumps(message).encode()
    pipe.write(len(content).to_bytes(8, "big") + content)
    pipe.flush()


def receive(pipe: BinaryIO) -> Message | None:
    """One message, or None when the other side is gone or says what is none."""
    head = pipe.read(8)
    length = int.from_bytes(head, "big")
    if len(head) < 8 or length > _LONGEST:  # noqa: PLR2004 - the length is eight bytes
        return None
    content = pipe.read(length)
    if len(content) < length:
        return None
    message: object = json.loads(content)
    return cast("Message", message) if isinstance(message, dict) else None


def state_out(context: TemplateContext) -> Message:
    """What a render can change: the variables and the dice."""
    return {"local": context.local, "shared": context.shared, "random": context.random.getstate()}


def take_state(context: TemplateContext, message: Mapping[str, Any]) -> None:
    """Give *context* the variables and the dice of a message; changes nothing when it raises one of ``NONSENSE``."""
    found = [_variables(message[name]) for name in ("local", "shared")]
    version, numbers, gauss = message["random"]
    context.random.setstate((int(version), tuple(map(int, numbers)), None if gauss is None else float(gauss)))
    for store, values in zip((context.local, context.shared), found, strict=True):
        store.clear()
        store.update(values)


def _variables(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in values.items()}


def context_in(message: Mapping[str, Any]) -> TemplateContext:
    """The context that a message describes."""
    context = TemplateContext(_facts_in(message["facts"]), Variables(), Random())  # noqa: S311 - dice, not secrets
    take_state(context, message)
    return context


def facts_out(facts: Facts) -> Message:
    """Facts as plain data; of the story only what macros can ask for, its length and its last text."""
    return {
        **{name: getattr(facts, name) for name in _PLAIN_FACTS},
        "turn": asdict(facts.turn),
        "limits": asdict(facts.limits),
        "story": [len(facts.story), facts.story[-1] if facts.story else ""],
        "last_time": facts.last_time.isoformat() if facts.last_time else None,
        "now": facts.now.isoformat(),
    }


def _facts_in(values: Mapping[str, Any]) -> Facts:
    length, last = values["story"]
    last_time = values["last_time"]
    return Facts(
        **{name: values[name] for name in _PLAIN_FACTS},
        turn=Turn(**values["turn"]),
        limits=Limits(**values["limits"]),
        story=[""] * (length - 1) + [last] if length else [],
        last_time=datetime.fromisoformat(last_time) if last_time else None,
        now=datetime.fromisoformat(values["now"]),
    )


def rendered_out(rendered: Rendered) -> Message:
    """A rendered text as plain data."""
    return {
        "text": rendered.text,
        "spans": [(span.start, span.end, span.name) for span in rendered.spans],
        "unknown": rendered.unknown,
    }


def rendered_in(message: Mapping[str, Any]) -> Rendered:
    """The rendered text of a message."""
    spans = tuple(Span(int(start), int(end), str(name)) for start, end, name in message["spans"])
    return Rendered(text=str(message["text"]), spans=spans, unknown=_names(message["unknown"]))


def check_out(check: Check) -> Message:
    """What was found in a template, as plain data."""
    return asdict(check)


def check_in(message: Mapping[str, Any]) -> Check:
    """What a message says was found in a template."""
    return Check(
        valid=bool(message["valid"]),
        message=str(message["message"]),
        line=int(message["line"]),
        column=int(message["column"]),
        **{name: _names(message[name]) for name in ("names", "unknown", "reads", "sets", "macros")},
        hints=tuple(
            Hint(str(each["text"]), int(each["line"]), int(each["column"])) for each in message["hints"]
        ),
    )


def _names(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))
