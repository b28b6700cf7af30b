"""What can be seen after an operation, key by key; only what a case asks for is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import marginalia as mg
from marginalia.values import BookId, PartId
from tests.conformance import vocabulary
from tests.conformance.matchers import mismatches
from tests.conformance.seen import Mismatches, Surroundings

if TYPE_CHECKING:
    from datetime import datetime

    from tests.conformance.case import Json, Value
    from tests.conformance.world import World

Observers: TypeAlias = Mapping[str, Callable[[], Any]]


@dataclass(slots=True, kw_only=True)
class Observation:
    """The values that were asked for, seen when the operation had ended, and when it began and ended."""

    began: datetime
    ended: datetime
    observers: Observers
    values: dict[str, Any] = field(default_factory=dict)

    def look(self, names: set[str]) -> None:
        """See the values with these names now."""
        for name in names:
            self.values[name] = self.observers[name]() if name in self.observers else Unknown(name)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A key that the adapter cannot observe after this kind of operation."""

    name: str

    def mismatches(self, _expected: Value, _around: Surroundings, path: str) -> Mismatches:
        """Always one: the adapter has to learn the word."""
        yield f"{path}: the adapter cannot observe {self.name!r} after this operation"


@dataclass(frozen=True, slots=True)
class AtMost:
    """Seconds that may be fewer than expected."""

    seconds: float

    def mismatches(self, expected: float, _: Surroundings, path: str) -> Mismatches:
        """One when it took longer."""
        if self.seconds > expected:
            yield f"{path}: expected at most {expected} s, got {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Seconds that may be more than expected."""

    seconds: float

    def mismatches(self, expected: float, _: Surroundings, path: str) -> Mismatches:
        """One when it was over too soon."""
        if self.seconds < expected:
            yield f"{path}: expected at least {expected} s, got {self.seconds:.2f} s"


@dataclass(frozen=True, slots=True)
class Body:
    """A request body: what it ``has`` and ``lacks``, and how often a key stands in the raw text."""

    body: Any
    raw: str

    def mismatches(self, expected: Json, around: Surroundings, path: str) -> Mismatches:
        """What is missing, too much, or different."""
        body = self.body if isinstance(self.body, Mapping) else {}
        yield from mismatches(expected.get("has", {}) or dict(body), body, around, f"{path}.has")
        for name in expected.get("lacks") or ():
            if name in body:
                yield f"{path}.lacks: {name!r} is there: {body[name]!r}"
        for name, number in (expected.get("key_occurrences") or {}).items():
            yield from mismatches(
                number, self.raw.count(f'"{name}":'), around, f"{path}.key_occurrences.{name}"
            )


@dataclass(frozen=True, slots=True)
class Http:
    """An HTTP request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]

    def mismatches(self, expected: Json, around: Surroundings, path: str) -> Mismatches:
        """What is different; a suffix of the path is enough when a suffix is expected."""
        for name, wanted in expected.items():
            if name == "path_suffix":
                if not self.path.partition("?")[0].endswith(wanted):
                    yield f"{path}.path_suffix: expected {wanted!r}, got {self.path!r}"
            elif name == "headers":
                got = {each: self.headers.get(each.lower()) for each in wanted}
                yield from mismatches(wanted, got, around, f"{path}.headers")
            else:
                yield from mismatches(wanted, getattr(self, name, None), around, f"{path}.{name}")


def state_observers(world: World, book_id: BookId | None = None) -> dict[str, Callable[[], Any]]:
    """What can be seen of a book at any time; without *book_id* of the case's own."""

    def book() -> mg.Book:
        return world.book if book_id is None else world.studio.books.get(book_id)

    return {
        "parts": lambda: [_live(world, part) for part in world.studio.story.parts(book())],
        "parts_count": lambda: len(world.studio.story.parts(book())),
        "active_leaf": lambda: world.label(book().active_leaf),
        "branch": lambda: [world.label(each.id) for each in world.studio.story.branch(book())],
        "globals": lambda: dict(book().global_variables),
        "locals": lambda: _leaf_variables(world, book()),
        "book": lambda: described_book(world, book()),
        "variables": lambda: _of_each(world, lambda part: dict(part.variables)),
        "part_fields": lambda: _of_each(world, lambda part: full_part(world, part.id)),
        "summary_of": lambda: _of_each(world, lambda part: described_summary(world, part)),
        "stored_summaries": lambda: stored_summaries(world, book()),
        "stored_entries": lambda: _stored_entries(world),
        "records": world.recorded,
    }


def _live(world: World, part: mg.Part) -> dict[str, Any]:
    return described_part(part) | {"part": world.label(part.id), "parent": world.label(part.parent_id)}


def described_part(part: mg.Part) -> dict[str, Any]:
    """A stored part in the words of the cases."""
    return vocabulary.described_part(part)


def full_part(world: World, part_id: PartId) -> dict[str, Any]:
    """A stored part with the prompt that its receipt kept."""
    part = world.studio.story.part(part_id)
    receipt = world.studio.story.receipt(part)
    found = described_part(part) | {"part": world.label(part.id), "parent": world.label(part.parent_id)}
    messages = vocabulary.messages(receipt.messages) if receipt else None
    text = "\n\n".join(f"{role}\n{content}" for role, content in messages or ())
    return found | {
        "built_prompt": messages,
        "built_prompt_text": text,
        "built_prompt_tokens": receipt and receipt.prompt_tokens,
    }


def _leaf_variables(world: World, book: mg.Book) -> dict[str, str]:
    return {} if book.active_leaf is None else dict(world.studio.story.part(book.active_leaf).variables)


def described_book(world: World, book: mg.Book) -> dict[str, Any]:
    """A book in the words of the cases."""
    names = {lorebook: name for name, lorebook in world.lorebooks.items()}
    prompts = {name: getattr(book.prompts, name) for name in vocabulary.PROMPT_FIELDS}
    return prompts | {
        "name": book.name,
        "description": book.description,
        "tags": list(book.tags),
        "lorebook": None if book.lorebook_id is None else names.get(book.lorebook_id, f"?{book.lorebook_id}"),
        "global_variables": dict(book.global_variables),
        "active_leaf": world.label(book.active_leaf),
    }


def _stored_entries(world: World) -> dict[str, Any]:
    shelf = world.studio.lorebooks
    entries = [entry for lorebook in world.lorebooks.values() for entry in shelf.entries(lorebook)]
    began = world.made.get("entries as given", {})
    return {
        each.name: vocabulary.described_entry(each)
        | {"modified_since_start": began.get(each.id, each) != each}
        for each in entries
    }


def _of_each(world: World, see: Callable[[mg.Part], Any]) -> dict[str, Any]:
    """Something of every part that is still there, by label."""
    found = {}
    for label, part in world.parts.items():
        with suppress(mg.NotFound):  # it was deleted or taken back
            found[label] = see(world.studio.story.part(part))
    return found


def described_summary(world: World, part: mg.Part) -> dict[str, Any] | None:
    """The summary on a part, in the words of the cases."""
    summary = world.studio.summaries.of(part)
    if summary is None:
        return None
    kind = "META_SUMMARY" if summary.meta else "SUMMARY"
    return {"on": world.label(part.id), "type": kind, "text": summary.text, "tokens": summary.tokens}


def stored_summaries(world: World, book: mg.Book) -> int:
    """How many summaries a book holds, those that a meta summary took the place of included."""
    found = 0
    for part in world.studio.story.parts(book):
        summary = world.studio.summaries.of(part)
        while summary is not None:
            found, summary = found + 1, summary.replaced
    return found
