"""The surface that extensions build on, version 1: everything that stays is on this page.

An extension is a class with a name and ``install(host)``. Its package offers it under the entry point group
``marginalia.extensions``; from then on the app lists it, and people switch it on and off. What an extension does
through its host is undone when it is switched off, and what goes wrong in it is shown with its name and harms
nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from marginalia.export import Manuscript
from marginalia.extensions.lore_tests import LoreTests
from marginalia.pipeline.events import BeforePrepareContent, Event
from marginalia.pipeline.hooks import Listener
from marginalia.pipeline.run import Run
from marginalia.pipeline.slots import Slot, Step, Wrapper
from marginalia.prompt.context import Facts
from marginalia.prompt.macros.table import Invocation, MacroFunction
from marginalia.prompt.segments import Prompt
from marginalia.prompt.stages import Insert
from marginalia.prompt.tokens import Tokenizer
from marginalia.store.lorebooks import Lorebooks
from marginalia.store.repositories import Books
from marginalia.store.story import Story
from marginalia.values import Book, BookId, Limits

__all__ = [
    "API_VERSION",
    "SECONDS",
    "BookData",
    "Cell",
    "Exporter",
    "Extension",
    "Facts",
    "Form",
    "Host",
    "Insert",
    "Invocation",
    "LoreFormat",
    "Manuscript",
    "Panel",
    "Table",
    "UserData",
    "View",
]

API_VERSION = 1
"""Grows by one when something on this page changes in a way that an extension has to know of."""

E = TypeVar("E", bound=Event)
In = TypeVar("In", bound=Event)
Out = TypeVar("Out")
T = TypeVar("T")
SECONDS = 5.0
Cell: TypeAlias = str | int | float | bool
Placing: TypeAlias = "Callable[[Run, BeforePrepareContent], Insert | Awaitable[Insert | None] | None]"


class Extension(Protocol):
    """An extension; inherit to have the defaults.

    ``name`` is its key: small letters, digits and dashes, the same for ever, because data is kept under it. ``api``
    is the version of this page that it was written for. ``starts_on`` says whether it works before anybody switched
    it on.
    """

    name: str
    title: str = ""
    description: str = ""
    api: int = API_VERSION
    starts_on: bool = True

    def install(self, host: Host) -> None:
        """Say through *host* what the extension does; if this raises, nothing of it is left behind."""
        ...


class Host(Protocol):
    """The hands of one extension."""

    name: str

    def on(
        self,
        event: type[E],
        listener: Listener[E],
        *,
        book: BookId | None = None,
        timeout: float = SECONDS,
    ) -> None:
        """Listen to *event* (:mod:`marginalia.pipeline.events`), of *book* or of all; after *timeout* it is skipped."""
        ...

    def insert(self, find: Placing) -> None:
        """Have a message placed in every prompt for which *find* gives one; the budget counts it."""
        ...

    def reserve(self, tokens: Callable[[Run, BeforePrepareContent], int]) -> None:
        """Keep room free for what is added to the prompt later."""
        ...

    def wrap(
        self, slot: Slot[In, Out], wrapper: Wrapper[In, Out], *, timeout: float | None = SECONDS
    ) -> None:
        """Put *wrapper* around a step. *timeout* is for its own time, without the step's; ``None`` waits for ever."""
        ...

    def replace(self, slot: Slot[In, Out], step: Step[In, Out], *, timeout: float | None = None) -> None:
        """Use *step* in the place of a step. If it fails before anything was stored, the replaced one is used."""
        ...

    def macro(
        self, name: str, function: MacroFunction, *, minimum: int = 0, maximum: int | None = None
    ) -> None:
        """Give templates ``{{name}}``; raises ``InvalidInput`` for a name that is taken or cannot be written."""
        ...

    def lore_format(self, lore_format: LoreFormat) -> None:
        """Let lorebooks be imported from another kind of file."""
        ...

    def exporter(self, exporter: Exporter) -> None:
        """Let stories be exported as another kind of file."""
        ...

    def panel(self, panel: Panel) -> None:
        """Show something beside the story."""
        ...

    def book_data(self, kind: type[T]) -> BookData[T]:
        """What the extension keeps per book: a dataclass of JSON's types in which every field has a default."""
        ...

    def user_data(self, kind: type[T]) -> UserData[T]:
        """What the extension keeps for the user; *kind* as in :meth:`book_data`. Never a place for secrets."""
        ...


class BookData(Protocol[T]):
    """Data of one extension, per book; it is in the book's backup, and stays while the extension is off."""

    @property
    def kind(self) -> type[T]:
        """The dataclass."""
        ...

    def of(self, book: Book | None) -> T:
        """What is kept with *book*; a field that cannot be read has its default, and without a book all have."""
        ...

    def store(self, book: Book | BookId, value: T) -> Book:
        """Keep *value* and give the book as it is now; raises ``NotFound``."""
        ...


class UserData(Protocol[T]):
    """Data of one extension for the user."""

    @property
    def kind(self) -> type[T]:
        """The dataclass."""
        ...

    def get(self) -> T:
        """What is kept; a field that cannot be read has its default."""
        ...

    def set(self, value: T) -> None:
        """Keep *value*."""
        ...


class View(Protocol):
    """The part of the studio that a panel may use."""

    @property
    def books(self) -> Books:
        """The books."""
        ...

    @property
    def lorebooks(self) -> Lorebooks:
        """The lorebooks."""
        ...

    @property
    def story(self) -> Story:
        """The stories."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts tokens."""
        ...

    @property
    def lore_tests(self) -> LoreTests:
        """The lore tests."""
        ...

    def limits(self, book: Book) -> Limits:
        """The token limits of a book."""
        ...

    def version(self, book: Book) -> int:
        """Grows with every change of a book or its lore."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows to be shown; *note* stands above them, as Markdown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...] = ()
    note: str = ""


Show: TypeAlias = "Callable[[View, Book, Prompt | None], str | Table | Awaitable[str | Table]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What people fill in in a panel, when it is not simply the data of a book or of the user.

    ``read(studio, book)`` gives a dataclass with what stands in the form; ``write(studio, book, value)`` takes what was
    typed, or raises ``InvalidInput`` with a sentence for whoever typed it. Both are called in a thread.
    """

    read: Callable[[View, Book], Any]
    write: Callable[[View, Book, Any], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel beside the story: a section of the inspector's page *Panels*.

    ``show(studio, book, prompt)`` gives Markdown or a table. It is called whenever the prompt (``None`` while there is
    none) or the book changes, in a thread unless it is ``async``, has :data:`SECONDS`, and must change nothing.
    ``form`` is what people edit below it, one field of the form per field of the dataclass: text, numbers, ``bool``,
    ``Literal``, and tuples of texts. ``field(metadata={"label": ..., "help": ...})`` says what stands beside a field.
    """

    title: str
    show: Show
    form: BookData[Any] | UserData[Any] | Form | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreFormat:
    """A kind of file with lore. ``sees`` and ``read`` get its bytes and its name.

    ``sees`` tells from the content whether it is one; ``read`` gives the same lore as a file of a format that
    Marginalia knows (``docs/howto/lore-formats.md`` shows its own), or raises ``FormatError``.
    """

    key: str
    title: str
    sees: Callable[[bytes, str], bool]
    read: Callable[[bytes, str], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """A kind of file for stories: how it is asked for, what people call it, how its files end, and its media type."""

    key: str
    name: str
    suffix: str
    media_type: str
    write: Callable[[Manuscript], bytes]
