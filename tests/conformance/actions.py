"""The actions of a case's listeners, each translated into an answer to a typed event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

import marginalia as mg
from marginalia.prompt.context import Variables
from marginalia.prompt.stages import Passage
from tests.conformance import vocabulary
from tests.conformance.firing import BoomError, Firing
from tests.conformance.reading import PROPERTY_FIELDS, recorded

if TYPE_CHECKING:
    from tests.conformance.case import Json, Value


async def perform(firing: Firing, action: Value) -> None:
    if isinstance(action, str):
        action = {action: True}
    name = next((each for each in action if each in _ACTIONS), None)
    if name is None:
        message = f"the adapter knows no action {sorted(action)}"
        firing.world.problem(message)
        return
    done = _ACTIONS[name](firing, action[name], action)
    if done is not None:
        await done


def _cancel(firing: Firing, _: Value, __: Json) -> None:
    firing.callbacks.stopped.set()
    firing.run.stop()


def _reserve(firing: Firing, tokens: int, _: Json) -> None:
    firing.change(reserved_tokens=getattr(firing.event, "reserved_tokens", 0) + tokens)


def _set_prompt_data(firing: Firing, values: Value, _: Json) -> None:
    """Answer with other prompt data; ``true`` alone stands for an equal object in the place of the old one."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        path = vocabulary.PROMPT_DATA[name]
        if len(path) == 1:
            firing.change(**{path[0]: value})
        elif hasattr(firing.event, path[0]):
            holder = getattr(firing.event, path[0])
            firing.change(**{path[0]: replace(holder, **{path[1]: value if value is not None else ""})})


def _set_property(firing: Firing, values: Json, _: Json) -> None:
    for name, value in values.items():
        if name in PROPERTY_FIELDS:
            firing.change(**{PROPERTY_FIELDS[name]: _MAKERS[name](firing, value)})
        else:
            firing.run.stash.set(firing.stash_key(name), value)


def _passages(_: Firing, value: Value) -> Value:
    if value is None:
        return ()
    return tuple(Passage(text=text) for text in value) if isinstance(value, list) else value


def _entries_named(firing: Firing, names: Value) -> Value:
    known = {each.entry.name: each.entry for each in getattr(firing.event, "verdicts", ())}
    return tuple(known[name] for name in names) if isinstance(names, list) else names


def _lorebooks_named(firing: Firing, names: Value) -> Value:
    if not isinstance(names, list):
        return names
    shelf = firing.world.studio.lorebooks
    return tuple(shelf.filled(firing.world.lorebooks[name]) for name in names)


def _as_it_is(_: Firing, value: Value) -> Value:
    return value


_MAKERS: Mapping[str, Callable[[Firing, Any], Any]] = {
    "SUMMARIES": _passages,
    "MANUSCRIPT_CHRONICLE": _passages,
    "LOREBOOKS": _lorebooks_named,
    "ACTIVATED_LOREBOOK_ENTRIES": _entries_named,
    "CHUNK": _as_it_is,
    "REASONING_CHUNK": _as_it_is,
}


def _replace_in_property(firing: Firing, what: Value, action: Json) -> None:
    name, old, new = _replacement(what, action)
    field = PROPERTY_FIELDS[name]
    current = getattr(firing.event, field, None)
    if isinstance(current, str):
        firing.change(**{field: current.replace(old, new)})
    elif current is not None:
        firing.change(**{field: tuple(replace(each, text=each.text.replace(old, new)) for each in current)})


def _replacement(what: Value, action: Json) -> tuple[str, str, str]:
    if isinstance(what, str):
        what = {"property": what, **action}
    if isinstance(what, list):
        return what[0], what[1], what[2]
    if "property" in what:
        return what["property"], what.get("from", what.get("old")), what.get("to", what.get("new"))
    name, pair = next(iter(what.items()))
    if isinstance(pair, Mapping):
        pair = (pair["from"], pair["to"]) if "from" in pair else next(iter(pair.items()))
    return name, pair[0], pair[1]


def _message(raw: Value) -> mg.Message:
    role, content = raw if isinstance(raw, list) else (raw["role"], raw["content"])
    return mg.Message(role=role.lower(), content=content)


def _set_payload(firing: Firing, payload: Sequence[Any], _: Json) -> None:
    firing.change(messages=tuple(_message(each) for each in payload))


def _append_message(firing: Firing, raw: Json, _: Json) -> None:
    firing.change(messages=(*getattr(firing.event, "messages", ()), _message(raw)))


def _insert_message(firing: Firing, raw: Json, _: Json) -> None:
    now = list(getattr(firing.event, "messages", ()))
    at = raw["index"]
    now.insert(at if at >= 0 else len(now) + at, _message(raw))
    firing.change(messages=tuple(now))


def _record(firing: Firing, name: str, action: Json) -> None:
    firing.world.record(name, recorded(firing, name, action))


def _set_part(firing: Firing, raw: Json, _: Json) -> None:
    part = getattr(firing.event, "part", None)
    if part is not None:
        firing.change(part=vocabulary.stored_part(part, raw, firing.world.clock()))


def _set_variable(firing: Firing, raw: Json, _: Json) -> None:
    variables = getattr(firing.event, "variables", Variables())
    scope = "local" if raw.get("scope", "local") in {"local", "locals"} else "shared"
    values = {**getattr(variables, scope), raw["name"]: raw["value"]}
    firing.change(variables=replace(variables, **{scope: values}))


def _on_entry(firing: Firing, name: str, action: Json) -> None:
    event = firing.event
    if isinstance(event, mg.events.ProcessLorebookEntry) and event.entry.name == name:
        firing.change(entry=replace(event.entry, **vocabulary.entry_fields(action["set"])))


def _remove_activated(firing: Firing, names: Value, _: Json) -> None:
    gone = names if isinstance(names, list) else [names]
    firing.change(activated=tuple(each for each in _activated(firing) if each.name not in gone))


def _activated(firing: Firing) -> tuple[mg.Entry, ...]:
    found: tuple[mg.Entry, ...] = getattr(firing.event, "activated", ())
    return found


def _reverse_activated(firing: Firing, _: Value, __: Json) -> None:
    firing.change(activated=tuple(reversed(_activated(firing))))


def _insert_activated(firing: Firing, raw: Json, _: Json) -> None:
    now = list(_activated(firing))
    now.insert(raw["index"], _entries_named(firing, [raw["entry"]])[0])
    firing.change(activated=tuple(now))


def _drop_lorebook(firing: Firing, name: str, _: Json) -> None:
    lorebooks = getattr(firing.event, "lorebooks", ())
    firing.change(lorebooks=tuple(each for each in lorebooks if each.lorebook.name != name))


def _save_book(firing: Firing, raw: Value, action: Json) -> None:
    fields = raw if isinstance(raw, Mapping) else action.get("set", {})
    firing.world.save_book(firing.event.book.id, fields.get("set", fields))


def _add_child(firing: Firing, raw: Json, _: Json) -> None:
    part = (
        firing.event.part if isinstance(firing.event, mg.events.AfterGenerateNewMessage) else firing.run.part
    )
    if part is None:
        return
    story = firing.world.studio.story
    leaf = firing.world.studio.books.get(part.book_id).active_leaf
    child = story.append(part.book_id, raw["text"], parent=part.id)
    firing.world.parts[raw["part"]] = child.id
    story.activate(part.book_id, leaf)


def _terminate(firing: Firing, _: Value, __: Json) -> None:
    firing.final = True


async def _sleep(seconds: float) -> None:
    await anyio.sleep(seconds)


async def _wait_for(firing: Firing, what: Value) -> None:
    """Wait until something that the case names has happened: a stop, a callback, an event, a record."""
    name = next(iter(what.values())) if isinstance(what, Mapping) else what
    if isinstance(name, int | float):
        await anyio.sleep(name)
        return
    while not (  # noqa: ASYNC110 - several sources, none of them a signal
        (name in {"cancel", "cancelled"} and firing.callbacks.stopped.is_set())
        or name in firing.callbacks.names
        or name in firing.recorder.names
        or name in firing.world.records
    ):
        await anyio.sleep(0.01)


def _unregister(firing: Firing, name: Value, _: Json) -> None:
    firing.world.listeners[name].close()


def _only_book(firing: Firing, name: str, _: Json) -> None:
    firing.over = firing.event.book.name != name


def _raise(_: Firing, text: Value, __: Json) -> None:
    raise BoomError(text)


_ACTIONS: Mapping[str, Callable[[Firing, Any, Json], Awaitable[None] | None]] = {
    "cancel": _cancel,
    "reserve_tokens": _reserve,
    "set_prompt_data": _set_prompt_data,
    "replace_prompt_data": _set_prompt_data,
    "set_property": _set_property,
    "replace_in_property": _replace_in_property,
    "set_payload": _set_payload,
    "append_message": _append_message,
    "insert_message": _insert_message,
    "record": _record,
    "set_part": _set_part,
    "set_variable": _set_variable,
    "on_entry": _on_entry,
    "remove_activated": _remove_activated,
    "reverse_activated": _reverse_activated,
    "insert_activated": _insert_activated,
    "drop_lorebook": _drop_lorebook,
    "save_book": _save_book,
    "add_child_to_current": _add_child,
    "terminate_events": _terminate,
    "sleep_seconds": lambda _firing, seconds, _action: _sleep(seconds),
    "wait_for": lambda firing, what, _action: _wait_for(firing, what),
    "only_book": _only_book,
    "unregister": _unregister,
    "raise": _raise,
}
