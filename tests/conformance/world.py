"""The world of a case: the studio, the scripted server, the labels of parts, and what was recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.pipeline.hooks import Subscription
from marginalia.testing import WordTokenizer
from marginalia.values import BookId, LorebookId, PartId
from tests.conformance import vocabulary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from marginalia.testing import ScriptedServer
    from tests.conformance.case import Case, Json, Value


class NotBuiltYetError(Exception):
    """The product has no public function for what the case does."""


def needed(owner: Value, name: str) -> Value:
    """A public function of the product; the case ends here when there is none yet."""
    found = getattr(owner, name, None)
    if found is None:
        message = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
        raise NotBuiltYetError(message)
    return found


class TickingClock:
    """The real time, but never the same twice, so that things made in one breath keep their order."""

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        self._last = max(datetime.now(UTC), self._last + timedelta(microseconds=1))
        return self._last


def open_studio(path: str, clock: TickingClock, user: str = "local") -> mg.Studio:
    """A studio as every case has it."""
    return mg.Studio(path, tokenizer=WordTokenizer(), clock=clock, user=user)


class Labels(dict[str, PartId]):
    """The parts of a case by their labels."""

    def __missing__(self, label: str) -> PartId:
        message = f"the case speaks of part {label!r}, which never came to be"
        raise LookupError(message)


@dataclass(slots=True, kw_only=True)
class World:
    """What the operations of one case share."""

    case: Case
    clock: TickingClock
    path: str
    server: ScriptedServer
    studio: mg.Studio
    book_id: BookId = BookId(0)
    books: dict[str, BookId] = field(default_factory=dict)
    parts: Labels = field(default_factory=Labels)
    lorebooks: dict[str, LorebookId] = field(default_factory=dict)
    records: dict[str, list[Any]] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    listeners: dict[str, Subscription[Any]] = field(default_factory=dict)
    kept: list[Subscription[Any]] = field(default_factory=list)
    background: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def problem(self, text: str) -> None:
        """Something that the adapter could not do; the case fails."""
        self.problems.append(text)

    async def reopen(self) -> None:
        """Close the studio and open its file again."""
        await self.studio.aclose()
        self.studio = open_studio(self.path, self.clock)

    @asynccontextmanager
    async def as_user(self, name: str | None) -> AsyncIterator[mg.Studio]:
        """The studio as somebody else opens it; everybody has the same file, one after the other."""
        if name is None:
            yield self.studio
            return
        await self.studio.aclose()
        self.studio = open_studio(self.path, self.clock, user=name)
        try:
            yield self.studio
        finally:
            await self.studio.aclose()
            self.studio = open_studio(self.path, self.clock)

    @property
    def book(self) -> mg.Book:
        """The book of the case, as it is stored now."""
        return self.book_named(None)

    def book_named(self, name: str | None) -> mg.Book:
        """A book by its name in the case; ``None`` is the case's own."""
        return self.studio.books.get(self.book_id if name is None else self.books[name])

    def name_part(self, label: str | None, part: PartId) -> None:
        """Give a part that is new to the case its label."""
        if label is not None and part not in self.parts.values():
            self.parts[label] = part

    def part(self, label: str) -> mg.Part:
        """The stored part with that label."""
        return self.studio.story.part(self.parts[label])

    def label(self, part: PartId | None) -> str | None:
        """The label of a part; ``?7`` for a part that the case did not name."""
        if part is None:
            return None
        return next((label for label, known in self.parts.items() if known == part), f"?{part}")

    def part_in(self, label: str, book: mg.Book) -> mg.Part:
        """The part with that label; in a copy of the book the one that was created at its place."""
        if book.id == self.book_id:
            return self.part(label)
        place = [each.id for each in self.studio.story.parts(self.book)].index(self.parts[label])
        return self.studio.story.parts(book)[place]

    def record(self, name: str, value: Value) -> None:
        """Append to ``records[name]``."""
        self.records.setdefault(name, []).append(value)

    def recorded(self) -> Mapping[str, list[Any]]:
        """The records as they are now."""
        return {name: list(values) for name, values in self.records.items()}

    def save_book(self, book_id: BookId, fields: Json) -> mg.Book:
        """Save a book with *fields* changed, as its settings dialog does."""
        book = self.studio.books.get(book_id)
        changes: dict[str, Any] = {name: fields[name] for name in ("name", "description") if name in fields}
        if "tags" in fields:
            changes["tags"] = tuple(fields["tags"])
        if "lorebook" in fields:
            changes["lorebook_id"] = fields["lorebook"] and self.lorebooks[fields["lorebook"]]
        return self.studio.books.save(
            replace(book, prompts=vocabulary.prompts(fields, book.prompts), **changes)
        )
