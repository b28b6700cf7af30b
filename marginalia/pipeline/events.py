"""The 23 events of a generation, as types (specification, *Events*).

An event holds exactly what is known at its point; a field that the next step reads may be answered with
another value (``dataclasses.replace(event, system_prompt=...)``). Events are frozen: a listener that fails
half-way has changed nothing. What is known is kept: each event also has the fields of the stages before it.

=========================== ==== ==========================================================================
event                       step what a listener may answer
=========================== ==== ==========================================================================
BeforePrepareGeneration     1
AfterPrepareGeneration      1    limits
BeforePrepareConstantData   2    reserved_tokens, inserts (these two up to BeforeSummaries)
AfterStaticTemplateData     2    templates
AfterPrepareConstantData    2    user_prompt, variables (variables up to BeforeGenerateNewMessage)
BeforeProcessLorebook       3
ProcessLorebooks            3    lorebooks
ProcessLorebookEntry        3    entry, once per entry
ProcessActivatedEntries     3    activated
AfterProcessLorebook        3    lore, user_prompt
BeforePrepareContent        4
BeforeSummaries             4    summaries
AfterManuscriptConcatenation 4   chronicle
AfterPrepareContent         4    system_prompt
BeforePreparePayload        5
AfterPreparePayload         5    messages: what is set is sent
BeforeGenerateNewMessage    6    variables
AfterGenerateNewMessage     6
BeforeInference             7    messages
ReasoningChunkReceived      7    chunk
ChunkReceived               7    chunk
AfterInference              7    part
BeforeCleanup               8
=========================== ==== ==========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

from marginalia.lore.book import Entry, FilledLorebook
from marginalia.lore.verdicts import Verdict
from marginalia.pipeline.states import RunState
from marginalia.prompt.budget import Budget
from marginalia.prompt.context import Span, Variables
from marginalia.prompt.segments import Segment
from marginalia.prompt.stages import Insert, Lore, Passage, Templates
from marginalia.story.parts import Part
from marginalia.values import Book, Limits, Message, Protocol, Provider, Request, Turn

E = TypeVar("E", bound="Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What is known at every point: the book as the run found it, the turn, and what was asked for."""

    book: Book
    turn: Turn
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforePrepareGeneration(Event):
    """Nothing was looked up yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterPrepareGeneration(Event):
    """Provider and protocol are there and usable."""

    provider: Provider
    protocol: Protocol
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforePrepareConstantData(AfterPrepareGeneration):
    """From here up to :class:`BeforeSummaries` room can be reserved.

    A number of tokens (add to it), or better inserts.
    """

    reserved_tokens: int = 0
    inserts: tuple[Insert, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterStaticTemplateData(BeforePrepareConstantData):
    """The book's effective templates and values, not rendered yet."""

    templates: Templates


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterPrepareConstantData(AfterStaticTemplateData):
    """The user prompt is rendered; filters will see it as it is answered here.

    ``variables`` are those it left behind.
    """

    user_prompt: str
    variables: Variables


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeProcessLorebook(AfterPrepareConstantData):
    """Fired for a book without lorebook, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLorebooks(BeforeProcessLorebook):
    """The lorebooks that were collected, breadth-first, with their entries."""

    lorebooks: tuple[FilledLorebook, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLorebookEntry(BeforeProcessLorebook):
    """One entry before its check; a changed one counts for this run only. ``lorebook`` is the name of its lorebook."""

    entry: Entry
    lorebook: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessActivatedEntries(BeforeProcessLorebook):
    """The active entries in the order in which they will be rendered, and the verdict on every entry."""

    activated: tuple[Entry, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterProcessLorebook(BeforeProcessLorebook):
    """The lore is rendered; ``user_prompt`` has the lore that goes before it in front."""

    lore: Lore
    user_prompt_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforePrepareContent(AfterProcessLorebook):
    """Before summaries and story are chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeSummaries(BeforePrepareContent):
    """The summaries of the branch, oldest first. Changing them does not move the stop part. Last chance to reserve."""

    summaries: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryChosen(AfterPrepareGeneration):
    """What is known once the story was chosen; reservations are too late from here on."""

    templates: Templates
    user_prompt: str
    user_prompt_tokens: int
    variables: Variables
    lore: Lore
    inserts: tuple[Insert, ...]
    summaries: tuple[Passage, ...]
    chronicle: tuple[Passage, ...]
    budget: Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterManuscriptConcatenation(StoryChosen):
    """The parts that fit, oldest first; empty for the first part of a book."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterPrepareContent(StoryChosen):
    """The rendered master template, without the jailbreak.

    ``system_spans`` say where lore and summaries stand in it.
    """

    system_prompt: str
    system_spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforePreparePayload(AfterPrepareContent):
    """Everything is chosen and rendered, the messages are not built yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterPreparePayload(BeforePreparePayload):
    """The messages; what is answered here is sent.

    ``segments`` describe them and are brought in line with the answer.
    """

    messages: tuple[Message, ...]
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeGenerateNewMessage(AfterPreparePayload):
    """Nothing is stored yet. ``original`` is the part that a regenerate will clear."""

    original: Part | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterGenerateNewMessage(BeforeGenerateNewMessage):
    """The part exists and is the active leaf; its text is still empty."""

    part: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeInference(AfterGenerateNewMessage):
    """The last look at the messages; a change is stored as well as sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningChunkReceived(Event):
    """A piece of reasoning, before it is appended to the part."""

    part: Part
    chunk: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReceived(Event):
    """A piece of text, before it is appended to the part; ``part`` is as it was before it. ``None`` counts as empty."""

    part: Part
    chunk: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterInference(AfterGenerateNewMessage):
    """The answer is complete; counts are made of the text as it is answered here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeCleanup(Event):
    """Always fired, also for failed and stopped runs.

    ``error`` is what ended the run, ``stopped`` says that somebody did.
    """

    state: RunState
    part: Part | None = None
    error: Exception | None = None
    stopped: bool = False


ALL: tuple[type[Event], ...] = (
    BeforePrepareGeneration,
    AfterPrepareGeneration,
    BeforePrepareConstantData,
    AfterStaticTemplateData,
    AfterPrepareConstantData,
    BeforeProcessLorebook,
    ProcessLorebooks,
    ProcessLorebookEntry,
    ProcessActivatedEntries,
    AfterProcessLorebook,
    BeforePrepareContent,
    BeforeSummaries,
    AfterManuscriptConcatenation,
    AfterPrepareContent,
    BeforePreparePayload,
    AfterPreparePayload,
    BeforeGenerateNewMessage,
    AfterGenerateNewMessage,
    BeforeInference,
    ReasoningChunkReceived,
    ChunkReceived,
    AfterInference,
    BeforeCleanup,
)
"""The events in the order in which they come."""


def onward(event: Event, into: type[E], **known: object) -> E:
    """The next event: what *event* knows and *into* wants, and what has become *known* since."""
    kept = {
        field.name: getattr(event, field.name)
        for field in fields(into)
        if field.name not in known and hasattr(event, field.name)
    }
    values: dict[str, Any] = {**kept, **known}
    return into(**values)
