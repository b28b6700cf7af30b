"""What the pipeline needs from outside, as Protocols.

The library it reads, the archive it writes, the model it asks.

The store implements :class:`Library` and :class:`Archive`, inference implements :class:`Inference`; tests use
fakes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from marginalia.lore.book import FilledLorebook
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.rendering import Renders
from marginalia.prompt.templates import render
from marginalia.prompt.tokens import Tokenizer
from marginalia.story.parts import Part, Summary
from marginalia.story.summaries import Verifier
from marginalia.story.tree import StoryTree
from marginalia.values import (
    NOTHING,
    Book,
    BookId,
    Limits,
    LorebookId,
    Message,
    PartId,
    Prompts,
    Provider,
    Request,
    SummaryId,
    Turn,
    Usage,
)
from marginalia.values import Protocol as SamplingProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Manuscript:
    """A book as it is at one moment: everything the steps read except texts and lore, which are read when needed."""

    book: Book
    tree: StoryTree
    provider: Provider | None = None
    protocol: SamplingProtocol | None = None
    defaults: Prompts = Prompts()
    summaries: Mapping[SummaryId, Summary] = field(default_factory=dict[SummaryId, Summary])


class Library(Protocol):
    """The reading side of the store. Calls are fast (memory, or a millisecond of database) and safe from any thread."""

    def manuscript(self, book: BookId) -> Manuscript:
        """The book as it is now; raises ``NotFound``."""
        ...

    def part(self, part: PartId) -> Part:
        """One part with everything in it; raises ``NotFound``."""
        ...

    def texts(self, parts: Sequence[PartId]) -> Mapping[PartId, str]:
        """The texts of *parts*; unknown ids are missing in the answer."""
        ...

    def filled_lorebook(self, lorebook: LorebookId) -> FilledLorebook | None:
        """A lorebook with its entries, the same object while nothing changes in it; ``None`` when it is deleted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What step 6 wants to have stored before the answer comes.

    ``attributes`` are laid over those the part has already.
    """

    book: BookId
    request: Request
    parent: PartId | None
    turn: Turn
    model: str
    protocol: str
    variables: Mapping[str, str]
    shared_variables: Mapping[str, str]
    background_lore: str
    attributes: Mapping[str, Any]
    request_time: datetime
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A part that waits for its answer, and what is needed to take it back as if nothing had happened."""

    part: Part
    request: Request
    original: Part | None
    previous_leaf: PartId | None
    previous_shared: Mapping[str, str]


class Archive(Protocol):
    """The writing side of the store, as far as a run needs it.

    Each call is one transaction, done off the event loop.
    """

    async def open_part(self, opening: Opening) -> Opened:
        """Create the part (or clear the one that is regenerated), make it the active leaf, store the variables."""
        ...

    async def store_receipt(self, part: PartId, receipt: Receipt) -> None:
        """Replace the receipt of a part whose prompt was changed after step 6."""
        ...

    async def checkpoint(self, part: Part) -> None:
        """Keep the partial text, so that a crash loses at most what came since."""
        ...

    async def close_part(self, part: Part, receipt: Receipt | None) -> Part:
        """Store the part as it is now: text, counts, times, ``partial``; the draft is gone afterwards."""
        ...

    async def withdraw(self, opened: Opened) -> None:
        """Take back what ``open_part`` did: delete the new part (its children move up), or restore the old text."""
        ...

    async def drop_summaries(self, book: BookId, summaries: Iterable[SummaryId]) -> None:
        """Remove outdated summaries; a meta summary gives back the one it replaced."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an answer as it arrives."""

    kind: Literal["reasoning", "text"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a model is doing before its first token.

    ``text`` for people, and tokens read of all where the server tells.
    """

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an answer ended: the server's own word for it (``stop``, ``length`` ...) and what it cost."""

    finish_reason: str = ""
    usage: Usage | None = None


Arrival: TypeAlias = Chunk | Progress | Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a model."""

    provider: Provider
    protocol: SamplingProtocol
    limits: Limits
    messages: tuple[Message, ...]


class Inference(Protocol):
    """Asks models. Failures are raised as ``ModelError``; an answer that broke off raises after its chunks."""

    def supports(self, provider: Provider) -> bool:
        """Whether there is an implementation for this kind of provider."""
        ...

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[Arrival]]:
        """The answer, pulled piece by piece; leaving the block closes the connection and so stops the server."""
        ...


class Measures(Protocol):
    """Counts as the models count that are asked, outside of a run."""

    def tokenizer(self, provider: Provider | None) -> Tokenizer:
        """The tokenizer for texts that go to *provider*."""
        ...

    def scaled(self, provider: Provider | None, stored: int) -> int:
        """What *stored* tokens, as they stand in the story, are for *provider*."""
        ...


def _builtin() -> MacroTable:
    return MACROS


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything outside that a run uses.

    ``macros`` gives the table of macros as it is when it is asked; ``render`` renders templates. ``tokenizer`` counts
    what is sent, ``stored_by`` what is stored with parts: the same where it is ``None``. ``measures`` are for what
    is sent without a run.
    """

    library: Library
    archive: Archive
    inference: Inference
    tokenizer: Tokenizer
    clock: Callable[[], datetime]
    verifier: Verifier = field(default_factory=Verifier)
    versions: Mapping[str, str] = NOTHING
    macros: Callable[[], MacroTable] = _builtin
    render: Renders = render
    stored_by: Tokenizer | None = None
    measures: Measures | None = None
