"""What a listener of a case can read at its point: properties, prompt data, variables, the part."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import marginalia as mg
from marginalia.lore.book import FilledLorebook
from marginalia.prompt.context import Variables
from tests.conformance import vocabulary
from tests.conformance.observing import described_book, described_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.conformance.case import Json, Value
    from tests.conformance.firing import Firing

PROPERTY_FIELDS = {
    "SUMMARIES": "summaries",
    "MANUSCRIPT_CHRONICLE": "chronicle",
    "LOREBOOKS": "lorebooks",
    "ACTIVATED_LOREBOOK_ENTRIES": "activated",
    "CHUNK": "chunk",
    "REASONING_CHUNK": "chunk",
}
"""Where an event keeps the properties of the specification that are read back."""


def recorded(firing: Firing, name: str, action: Json) -> Value:
    if action.get("value") == "start_end_times":
        return [firing.began, time.monotonic()]
    if "value" in action:
        return action["value"]
    if "property" in action:
        return _property(firing, action["property"])
    return _field(firing, action.get("field", name))


def _property(firing: Firing, name: str) -> Value:
    event = firing.event
    if name in _FIELDS:
        return _FIELDS[name](firing, "")
    if name not in PROPERTY_FIELDS:
        return firing.run.stash.get(firing.stash_key(name))
    field = PROPERTY_FIELDS[name]
    value = getattr(event, field, firing.recorder.latest.get(field))
    if value is None or isinstance(value, str):
        return value
    return [_name_of(each) for each in value]


def _name_of(value: Value) -> str:
    if isinstance(value, mg.Entry):
        return value.name
    return value.lorebook.name if isinstance(value, FilledLorebook) else value.text


def _field(firing: Firing, path: str) -> Value:
    """What a dotted name means at this point; a bare word that names nothing is recorded as ``True``."""
    head, _, rest = path.partition(".")
    if path in vocabulary.PROMPT_DATA:
        return _prompt_field(firing, path)
    if path in PROPERTY_FIELDS:
        return _property(firing, path)
    if head in _FIELDS:
        return _FIELDS[head](firing, rest)
    if rest:
        firing.world.problem(f"the adapter cannot read {path!r}")
    return True


def _book_field(firing: Firing, name: str) -> Value:
    book = firing.world.studio.books.get(firing.event.book.id)
    described = described_book(firing.world, book) | {"globals": dict(book.global_variables)}
    return described[name or "name"]


def _part_field(firing: Firing, name: str) -> Value:
    part = getattr(firing.event, "part", None)
    return part and (described_part(part) | {"label": firing.world.label(part.id)}).get(name or "label")


def _variable(firing: Firing, path: str) -> Value:
    variables = getattr(firing.event, "variables", Variables())
    _, _, rest = path.partition("variables.")
    scope, _, name = rest.partition(".")
    values = variables.local if scope in {"local", "locals"} else variables.shared
    return values.get(name) if name else dict(values)


def _turn_field(firing: Firing, name: str) -> Value:
    event = firing.event
    if name == "type":
        return {"NewPart": "NEW_MESSAGE", "Swipe": "SWIPE", "Regenerate": "REGENERATE"}[
            type(event.request).__name__
        ]
    return getattr(event.turn, name, None)


def _prompt_field(firing: Firing, name: str) -> Value:
    value: Value = firing.event
    for step in vocabulary.PROMPT_DATA[name]:
        value = getattr(value, step, None)
    return value


def _original_field(firing: Firing, name: str) -> Value:
    original = getattr(firing.event, "original", None)
    return original and described_part(original)[name or "text"]


def _entry_field(firing: Firing, name: str) -> Value:
    entry = getattr(firing.event, "entry", None)
    return entry and vocabulary.described_entry(entry)[name or "name"]


def _payload(firing: Firing, _: str) -> Value:
    return vocabulary.messages(getattr(firing.event, "messages", ()))


_FIELDS: Mapping[str, Callable[[Firing, str], Value]] = {
    "state": lambda firing, _: str(firing.run.state),
    "book": _book_field,
    "part": _part_field,
    "message": _part_field,
    "request": _turn_field,
    "input": _turn_field,
    "turn": _turn_field,
    "TEMPLATE_CONTEXT": _variable,
    "prompt_data": _prompt_field,
    "data": _prompt_field,
    "ORIGINAL_MESSAGE": _original_field,
    "LOREBOOK_ENTRY": _entry_field,
    "payload": _payload,
}
