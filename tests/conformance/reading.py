"""What a listener of a case can read at its point: properties, fields of the prompt data, variables, the part."""

from __future__ import annotations

import time
from typing import Any

import marginalia as mg
from tests.conformance import vocabulary
from tests.conformance.cases import Json
from tests.conformance.firing import Event, Firing

PROPERTY_FIELDS = {
    "SUMMARIES": "summaries",
    "MANUSCRIPT_CHRONICLE": "chronicle",
    "LOREBOOKS": "lorebooks",
    "ACTIVATED_LOREBOOK_ENTRIES": "activated",
    "CHUNK": "chunk",
    "REASONING_CHUNK": "chunk",
}
"""Where an event keeps the properties of the specification that are read back."""


def recorded(firing: Firing, name: str, action: Json) -> Any:  # noqa: ANN401 - any value
    if action.get("value") == "start_end_times":
        return [firing.began, time.monotonic()]
    if "value" in action:
        return action["value"]
    if "property" in action:
        return _property(firing, action["property"])
    return _field(firing, action.get("field", name))


def _property(firing: Firing, name: str) -> Any:  # noqa: ANN401 - any value
    event = firing.event
    if name == "ORIGINAL_MESSAGE":
        original = getattr(event, "original", None)
        return original and original.text
    if name == "LOREBOOK_ENTRY":
        return event.entry.name if isinstance(event, mg.events.ProcessLorebookEntry) else None
    if name not in PROPERTY_FIELDS:
        return firing.run.stash.get(firing.stash_key(name))
    field = PROPERTY_FIELDS[name]
    value = getattr(event, field, firing.recorder.latest.get(field))
    if value is None or isinstance(value, str):
        return value
    return [_name_of(each) for each in value]


def _name_of(value: Any) -> str:  # noqa: ANN401 - an entry, a lorebook or a passage
    if isinstance(value, mg.Entry):
        return value.name
    return value.lorebook.name if isinstance(value, mg.FilledLorebook) else value.text


def _field(firing: Firing, path: str) -> Any:  # noqa: ANN401 - any value
    """What a dotted name means at this point; a bare word that names nothing is recorded as ``True``."""
    event, world = firing.event, firing.world
    book = world.studio.books.get(event.book.id)
    head, _, rest = path.partition(".")
    part = getattr(event, "part", None)
    if path == "state":
        return str(firing.run.state)
    if path == "book":
        return book.name
    if path == "book.active_leaf":
        return world.label(book.active_leaf)
    if head == "book":
        return getattr(
            book, {"globals": "global_variables"}.get(rest, rest), getattr(book.prompts, rest, None)
        )
    if head == "TEMPLATE_CONTEXT":
        return _variable(event, rest)
    if head in {"part", "message"}:
        return part and (vocabulary.described_part(part) | {"label": world.label(part.id)}).get(
            rest or "label"
        )
    if head in {"request", "input", "turn"} and rest:
        return _turn_field(event, rest)
    if head in {"prompt_data", "data"}:
        return _prompt_field(event, rest)
    if path in vocabulary.PROMPT_DATA:
        return _prompt_field(event, path)
    return (
        _property(firing, path) if path in {*PROPERTY_FIELDS, "ORIGINAL_MESSAGE", "LOREBOOK_ENTRY"} else True
    )


def _variable(event: Event, path: str) -> Any:  # noqa: ANN401 - any value
    variables = getattr(event, "variables", mg.Variables())
    _, _, rest = path.partition("variables.")
    scope, _, name = rest.partition(".")
    values = variables.local if scope in {"local", "locals"} else variables.shared
    return values.get(name) if name else dict(values)


def _turn_field(event: Event, name: str) -> Any:  # noqa: ANN401 - any value
    if name == "type":
        return {"NewPart": "NEW_MESSAGE", "Swipe": "SWIPE", "Regenerate": "REGENERATE"}[
            type(event.request).__name__
        ]
    return getattr(event.turn, name, None)


def _prompt_field(event: Event, name: str) -> Any:  # noqa: ANN401 - any value
    value: Any = event
    for step in vocabulary.PROMPT_DATA[name]:
        value = getattr(value, step, None)
    return value
