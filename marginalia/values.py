"""The frozen values that every layer speaks: ids, roles, limits, turns, requests, books, providers, protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NewType, TypeAlias, TypeVar, cast

BookId = NewType("BookId", int)
PartId = NewType("PartId", int)
SummaryId = NewType("SummaryId", int)
LorebookId = NewType("LorebookId", int)
EntryId = NewType("EntryId", int)
ProviderId = NewType("ProviderId", int)
ProtocolId = NewType("ProtocolId", int)

Role: TypeAlias = Literal["system", "user", "assistant"]
Syntax: TypeAlias = Literal["macros", "jinja"]
Progress: TypeAlias = Callable[[float], None]
"""Is told now and then which share of something is done, from 0 to 1; what it raises ends that."""

T = TypeVar("T")


class Nothing(Mapping[str, Any]):
    """The empty mapping; hashable, so that frozen values can share it as default."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a mapping of anything
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and not len(cast("Mapping[object, object]", other))

    def __repr__(self) -> str:
        return "{}"


NOTHING = Nothing()

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message of a prompt, exactly as it goes over the wire."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The four fields of the instruction panel; ``None`` means that the field was left alone."""

    scene_setting: str | None = None
    pov_character: str | None = None
    present_characters: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many tokens the context and the answer may have; 0 stands for unknown (specification, *Token budget*)."""

    context: int = 0
    response: int = 0

    @property
    def prompt(self) -> int:
        """What is left for the prompt: context minus response."""
        return self.context - self.response


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The sampling settings of a protocol; ``None`` is not sent, so that the server's own default holds."""

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where a model is: an OpenAI-compatible address, the model's name and what it can take.

    ``key_ref`` names where the API key is kept (an environment variable or an item of the key store); the key
    itself is never part of this value. ``kind`` is ``openai`` for any OpenAI-compatible server, ``bundled``
    for the model that comes with Marginalia. Limits are tokens; ``timeout`` is seconds of silence.
    """

    id: ProviderId = ProviderId(0)
    uid: str = ""
    owner: str = "local"
    name: str = ""
    kind: str = "openai"
    base_url: str = ""
    model: str = ""
    key_ref: str = ""
    max_context: int | None = None
    max_response: int | None = None
    needs_jailbreak: bool = False
    jailbreak: str | None = None
    timeout: float | None = None
    max_retries: int | None = None
    additional_parameters: Mapping[str, Any] = NOTHING
    enable_reasoning: bool = False
    reasoning_effort: str | None = None
    settings: Mapping[str, Any] = NOTHING
    created: datetime = EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How a model is asked: sampling, and limits that win over the provider's."""

    id: ProtocolId = ProtocolId(0)
    uid: str = ""
    owner: str = "local"
    name: str = ""
    sampling: Sampling = Sampling()
    max_tokens: int | None = None
    reply_tokens: int | None = None
    settings: Mapping[str, Any] = NOTHING
    created: datetime = EPOCH


TEMPLATES = ("master_template", "user_prompt", "summary_prompt", "meta_summary_prompt")
"""The prompts that are templates."""
PLAIN_PROMPTS = ("pov", "tense", "style")
"""The prompts that are plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The texts a prompt is made of; ``None`` or blank means "not set here, ask the next one".

    They are looked up per field: the book's, then the user's defaults, then the built-in ones. Templates are written
    in ``syntax``; those that ``jinja`` names are in Jinja whatever it says.
    """

    master_template: str | None = None
    user_prompt: str | None = None
    pov: str | None = None
    tense: str | None = None
    style: str | None = None
    summary_prompt: str | None = None
    meta_summary_prompt: str | None = None
    syntax: Syntax = "macros"
    jinja: tuple[str, ...] = ()

    def syntax_of(self, template: str) -> Syntax:
        """The syntax that the field *template* is written in."""
        return "jinja" if template in self.jinja else self.syntax

    def over(self, *others: Prompts) -> Prompts:
        """These prompts, with what is not set here taken from the first of *others* that has it.

        Each template keeps the syntax that it was written in; where none has it, this one's counts.
        """
        found = {name: _first_with(name, self, *others) for name in (*TEMPLATES, *PLAIN_PROMPTS)}
        texts: dict[str, Any] = {name: each and getattr(each, name) for name, each in found.items()}
        jinja = tuple(name for name in TEMPLATES if (found[name] or self).syntax_of(name) == "jinja")
        return Prompts(**texts, jinja=jinja)


def _first_with(name: str, *prompts: Prompts) -> Prompts | None:
    return next((each for each in prompts if (getattr(each, name) or "").strip()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book: its settings and where one is in it. The story itself is read through ``studio.story``.

    ``active_leaf`` and ``global_variables`` move with the story and are not written by ``books.save``;
    ``settings`` holds what extensions keep per book.
    """

    id: BookId = BookId(0)
    uid: str = ""
    owner: str = "local"
    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    provider_id: ProviderId | None = None
    protocol_id: ProtocolId | None = None
    lorebook_id: LorebookId | None = None
    prompts: Prompts = Prompts()
    active_leaf: PartId | None = None
    global_variables: Mapping[str, str] = NOTHING
    settings: Mapping[str, Any] = NOTHING
    created: datetime = EPOCH
    updated: datetime = EPOCH


@dataclass(frozen=True, slots=True)
class NewPart:
    """Ask for a part after the book's active leaf."""


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Ask for the given part to be written again, in place."""

    part: PartId

    def __init__(self, part: HasPartId | PartId) -> None:
        object.__setattr__(self, "part", _part_id(part))


@dataclass(frozen=True, slots=True)
class Swipe:
    """Ask for another version of the given part, as its sibling."""

    part: PartId

    def __init__(self, part: HasPartId | PartId) -> None:
        object.__setattr__(self, "part", _part_id(part))


Request: TypeAlias = NewPart | Regenerate | Swipe


class HasPartId:
    """Anything with the ``id`` of a part; ``Part`` is one."""

    __slots__ = ()
    id: PartId


def _part_id(part: HasPartId | PartId) -> PartId:
    return part.id if isinstance(part, HasPartId) else part


def replaced_part(request: Request) -> PartId | None:
    """The part that a request replaces or stands beside, so that the prompt must not contain it."""
    return None if isinstance(request, NewPart) else request.part


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer cost, as the server reported it; ``None`` where it said nothing."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])


def resolve_limits(provider: Provider | None, protocol: Protocol | None) -> Limits:
    """The limits of a turn: the protocol's where it has positive ones, else the provider's, else 0."""
    return Limits(
        context=_positive(
            protocol.max_tokens if protocol else None, provider.max_context if provider else None
        ),
        response=_positive(
            protocol.reply_tokens if protocol else None, provider.max_response if provider else None
        ),
    )


def _positive(*candidates: int | None) -> int:
    return next((number for number in candidates if number is not None and number > 0), 0)


def untold(_share: float, /) -> None:
    """The :data:`Progress` that nobody asked for."""


def counted(items: Sequence[T], progress: Progress, *, begin: float = 0.0, end: float = 1.0) -> Iterator[T]:
    """*items*, one by one, while *progress* is told how far they have come between *begin* and *end*."""
    for at, item in enumerate(items):
        progress(begin + (end - begin) * at / len(items))
        yield item
