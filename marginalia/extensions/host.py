"""The hands of one extension: what it does through them is guarded, kept under its name, and undone by ``close``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from marginalia.errors import InvalidInput
from marginalia.extensions.api import (
    SECONDS,
    BookData,
    Exporter,
    Extension,
    Form,
    Host,
    LoreFormat,
    Panel,
    Placing,
    UserData,
)
from marginalia.extensions.data import StoredBookData, StoredUserData, book_key, fresh, user_key
from marginalia.extensions.files import (
    guarded_exporter,
    guarded_format,
    refuse_taken_exporter,
    refuse_taken_format,
)
from marginalia.extensions.guard import Calls, Health, guarded_listener, guarded_macro, guarded_step, off_loop
from marginalia.pipeline.abandon import Workers
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.events import BeforePrepareContent, Event
from marginalia.pipeline.hooks import Listener, Problem
from marginalia.pipeline.run import Run
from marginalia.pipeline.slots import Slot, Step, Wrapper
from marginalia.prompt.macros.builtin import MACROS, WITHOUT_MEANING
from marginalia.prompt.macros.table import MacroFunction, MacroTable
from marginalia.prompt.stages import Insert
from marginalia.store.repositories import Books
from marginalia.store.settings import Settings
from marginalia.values import BookId

E = TypeVar("E", bound=Event)
In = TypeVar("In", bound=Event)
Out = TypeVar("Out")
T = TypeVar("T")
WITHOUT_MEANING_HERE = frozenset(name.lower() for name in WITHOUT_MEANING)


@dataclass(frozen=True, slots=True)
class OwnedMacro:
    """A macro and the extension that brings it."""

    owner: str
    name: str
    function: MacroFunction
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class OwnedPanel:
    """A panel and the extension that brings it."""

    owner: str
    panel: Panel
    calls: Calls = field(default_factory=lambda: Calls(SECONDS), compare=False, repr=False)


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What hosts work on; the lists hold what all extensions have brought, in the order in which they came."""

    pipeline: Pipeline
    books: Books
    settings: Settings
    report: Callable[[Problem], None]
    rest: Callable[[str], None]
    macros: list[OwnedMacro] = field(default_factory=list[OwnedMacro])
    panels: list[OwnedPanel] = field(default_factory=list[OwnedPanel])
    lore_formats: list[LoreFormat] = field(default_factory=list[LoreFormat])
    exporters: list[Exporter] = field(default_factory=list[Exporter])
    lock: Lock = field(default_factory=Lock)

    def table(self) -> MacroTable:
        """The built-in macros and those of the extensions."""
        table = MACROS
        for each in self.macros:
            table = table.with_macro(each.name, each.function, minimum=each.minimum, maximum=each.maximum)
        return table


class GuardedHost(Host):
    """The :class:`~marginalia.extensions.api.Host` of one extension."""

    def __init__(self, extension: Extension, around: Surroundings) -> None:
        self.name = extension.name
        self._around = around
        self._health = Health(lambda: around.rest(extension.name))
        self._workers = Workers()
        with ExitStack() as undo:
            undo.callback(self._workers.close)
            self._undo = undo
            extension.install(self)
            self._undo = undo.pop_all()  # reached only when install() succeeded

    def on(  # type: ignore[override]  # mypy does not see that the two unions with E are the same
        self,
        event: type[E],
        listener: Listener[E],
        *,
        book: BookId | None = None,
        timeout: float = SECONDS,
    ) -> None:
        """Listen to *event*, of one book or of all."""
        _be(event, type(Event), f"{event!r} is no event. Listen to one of marginalia.events.")
        failed = partial(self._failed, event.__name__)
        guarded = guarded_listener(
            listener, seconds=timeout, health=self._health, workers=self._workers, failed=failed
        )
        hooks = self._around.pipeline.hooks
        self._undo.callback(hooks.on(event, guarded, owner=self.name, book=book, timeout=timeout).close)

    def insert(self, find: Placing) -> None:
        """Place a message in every prompt for which *find* gives one."""

        async def placed(run: Run, event: BeforePrepareContent) -> BeforePrepareContent | None:
            insert: object = await off_loop(find, run, event)
            if insert is None:
                return None
            if not isinstance(insert, Insert):
                raise TypeError(f"it gave {type(insert).__name__}; it has to give an Insert or None")
            return replace(event, inserts=(*event.inserts, insert))

        self.on(BeforePrepareContent, placed)

    def reserve(self, tokens: Callable[[Run, BeforePrepareContent], int]) -> None:
        """Keep room free."""

        def reserved(run: Run, event: BeforePrepareContent) -> BeforePrepareContent:
            wanted, room = tokens(run, event), event.limits.prompt
            if wanted < 0 or 0 < room < wanted:
                raise ValueError(f"it cannot have {wanted:,} tokens reserved; a whole prompt has {room:,}")
            return replace(event, reserved_tokens=event.reserved_tokens + wanted)

        self.on(BeforePrepareContent, reserved)

    def wrap(
        self, slot: Slot[In, Out], wrapper: Wrapper[In, Out], *, timeout: float | None = SECONDS
    ) -> None:
        """Put *wrapper* around a step."""
        _be(slot, Slot, f"{slot!r} is no step. Wrap or replace one of marginalia.steps.")
        guarded = guarded_step(
            slot,
            wrapper,
            owner=self.name,
            seconds=timeout,
            health=self._health,
            failed=partial(self._failed, slot.name),
        )
        self._undo.callback(self._around.pipeline.wrap(slot, guarded))

    def replace(self, slot: Slot[In, Out], step: Step[In, Out], *, timeout: float | None = None) -> None:
        """Use *step* in the place of a step."""

        def instead(_: Step[In, Out]) -> Step[In, Out]:
            return step

        self.wrap(slot, instead, timeout=timeout)

    def macro(
        self, name: str, function: MacroFunction, *, minimum: int = 0, maximum: int | None = None
    ) -> None:
        """Give templates ``{{name}}``."""
        lowered = name.lower()
        taken = next((each.owner for each in self._around.macros if each.name.lower() == lowered), None)
        if taken is None and lowered not in WITHOUT_MEANING_HERE and MACROS.find(name):
            taken = "Marginalia itself"
        if taken is not None:
            raise InvalidInput(f"The macro {name!r} belongs to {taken} already. Choose another name.")

        failed = partial(self._failed, f"macro {name}")
        guarded = guarded_macro(function, name=name, owner=self.name, seconds=SECONDS, failed=failed)
        MACROS.with_macro(name, function, minimum=minimum, maximum=maximum)  # refuses what cannot be written
        self._keep(self._around.macros, OwnedMacro(self.name, name, guarded, minimum, maximum))

    def lore_format(self, lore_format: LoreFormat) -> None:
        """Let lorebooks be imported from another kind of file."""
        refuse_taken_format(lore_format.key, self._around.lore_formats)
        self._keep(self._around.lore_formats, guarded_format(lore_format, self._failed))

    def exporter(self, exporter: Exporter) -> None:
        """Let stories be exported as another kind of file."""
        refuse_taken_exporter(exporter.key, self._around.exporters)
        self._keep(self._around.exporters, guarded_exporter(exporter, self._failed))

    def panel(self, panel: Panel) -> None:
        """Show something beside the story."""
        forms = (StoredBookData, StoredUserData, Form, type(None))
        _be(panel, Panel, "A panel is made as Panel(title=…, show=…).")
        _be(panel.form, forms, "The form of a panel is what book_data or user_data gave, or a Form.")
        mine = {each.panel.title for each in self._around.panels if each.owner == self.name}
        if panel.title in mine:
            raise InvalidInput(f"There is a panel {panel.title!r} of this extension already.")
        self._keep(self._around.panels, OwnedPanel(self.name, panel))

    def book_data(self, kind: type[T]) -> BookData[T]:
        """What the extension keeps per book."""
        fresh(kind)
        return StoredBookData(kind, book_key(self.name), self._around.books, self._around.lock)

    def user_data(self, kind: type[T]) -> UserData[T]:
        """What the extension keeps for the user."""
        fresh(kind)
        return StoredUserData(kind, user_key(self.name), self._around.settings)

    def close(self) -> None:
        """Take back everything."""
        self._undo.close()

    def _failed(self, where: str, error: Exception) -> None:
        self._around.report(Problem(owner=self.name, event=where, error=error))

    def _keep(self, shelf: list[Any], item: object) -> None:
        shelf.append(item)
        self._undo.callback(shelf.remove, item)


def _be(given: object, kind: type | tuple[type, ...], otherwise: str) -> None:
    if not isinstance(given, kind):
        raise InvalidInput(otherwise)
