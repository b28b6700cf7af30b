"""The keywords that ``create`` and ``append`` pass on, typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from marginalia.lore.book import EntryBudget, Filter, Insertion, Match, Scope, When, Where
    from marginalia.values import Syntax


class PromptFields(TypedDict, total=False):
    """The fields of ``Prompts``."""

    master_template: str | None
    user_prompt: str | None
    pov: str | None
    tense: str | None
    style: str | None
    summary_prompt: str | None
    meta_summary_prompt: str | None
    syntax: Literal["macros", "jinja"]
    jinja: tuple[str, ...]


class ProviderFields(TypedDict, total=False):
    """The fields of ``Provider`` that a user sets."""

    kind: str
    base_url: str
    model: str
    key_ref: str
    max_context: int | None
    max_response: int | None
    needs_jailbreak: bool
    jailbreak: str | None
    timeout: float | None
    max_retries: int | None
    additional_parameters: Mapping[str, Any]
    enable_reasoning: bool
    reasoning_effort: str | None
    settings: Mapping[str, Any]


class EntryFields(TypedDict, total=False):
    """The fields of ``Entry`` that a user sets."""

    uid: str
    payload: str
    enabled: bool
    ordinal: int
    filter: Filter | None
    insertion: Insertion
    tags: Iterable[str]
    negative_tags: Iterable[str]
    note: str
    match: Match
    scope: Scope
    when: When
    where: Where
    budget: EntryBudget
    syntax: Syntax
    raw: Mapping[str, Any] | None
    created: datetime | None


class PartFields(TypedDict, total=False):
    """The fields of ``Part`` that can come with a text; what is left out is counted or empty."""

    uid: str
    reasoning: str
    tokens: int
    words: int
    reasoning_tokens: int
    model: str
    protocol: str
    variables: Mapping[str, str]
    attributes: Mapping[str, Any]
    images: tuple[Mapping[str, Any], ...]
    partial: bool
    edited: bool
    background_lore: str
    prompt_tokens: int | None
    finish_reason: str
    request_time: datetime | None
    first_token_time: datetime | None
    reasoning_end_time: datetime | None
    created: datetime
