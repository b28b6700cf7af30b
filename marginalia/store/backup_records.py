"""What a backup of a book holds: the rows behind it, under names that stay when the schema changes.

Numbers (``id``, ``part``, ``text`` …) mean something inside one backup only; ``uid``s are known elsewhere, too. Times
are UTC. An API key is nowhere: a provider is described without the place of its key, and without settings that look
like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from marginalia.values import NOTHING, Provider

Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone; one without would mean something else on another machine."""

_SECRET = re.compile(
    r"(?:^|[_\-])(?:api[_\-]?key|key|secret|password|passwd|passphrase|auth|authorization|bearer|credentials?"
    r"|access[_\-]?token|cookie)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BookRow:
    """The book: ``settings`` are the fields of ``values.Book`` that a user edits, by their names."""

    uid: str
    name: str
    settings: Mapping[str, Any]
    created: Moment
    active_part: int | None = None
    variables: Mapping[str, str] = NOTHING
    lorebook: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRow:
    """A provider, a protocol or a lorebook: ``settings`` are its other fields, by their names."""

    uid: str
    name: str
    settings: Mapping[str, Any]
    created: Moment
    id: int = 0
    below: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """An entry of a lorebook; ``deleted`` ones are in the trash."""

    id: int = 0
    lorebook: int
    uid: str
    name: str
    settings: Mapping[str, Any]
    created: Moment | None = None
    deleted: Moment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A part: its place. What it says is in the version it points to."""

    id: int
    uid: str
    parent: int | None
    version: int
    created: Moment
    summary: int | None = None
    deleted: Moment | None = None
    label: str = ""
    bookmarked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """One text that a part has or had; ``detail`` are the other fields of ``story.parts.Part``, by their names."""

    id: int
    part: int
    origin: str
    text: str
    created: Moment
    reasoning: str = ""
    lore: int | None = None
    receipt: int | None = None
    detail: Mapping[str, Any] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRow:
    """What was sent for a part; ``body`` are the fields of ``prompt.receipt.Receipt``, ``messages`` point to texts."""

    id: int
    part: int
    created: Moment
    messages: tuple[tuple[str, int], ...] = ()
    body: Mapping[str, Any] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A text that several rows share: a message of a prompt, the lore of a turn."""

    id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """A summary on a part; ``data`` are the fields of ``story.parts.Summary``, by their names."""

    id: int
    part: int
    data: Mapping[str, Any]
    created: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashRow:
    """What a deleted part or summary needs to come back."""

    kind: Literal["part", "summary"]
    item: int
    data: Mapping[str, Any]
    deleted: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class BookBackup:
    """A book with everything in it, at one moment."""

    book: BookRow
    provider: NamedRow | None = None
    protocol: NamedRow | None = None
    parts: tuple[PartRow, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    receipts: tuple[ReceiptRow, ...] = ()
    texts: tuple[TextRow, ...] = ()
    summaries: tuple[SummaryRow, ...] = ()
    trash: tuple[TrashRow, ...] = ()
    lorebooks: tuple[NamedRow, ...] = ()
    entries: tuple[EntryRow, ...] = ()

    @property
    def living(self) -> tuple[PartRow, ...]:
        """The parts that are not in the trash, in the order of their creation."""
        there = (part for part in self.parts if part.deleted is None)
        return tuple(sorted(there, key=lambda part: (part.created, part.id)))


def without_keys(provider: Provider) -> Provider:
    """*provider* as it may leave the machine: no key, no place of a key, nothing that looks like one."""
    return replace(
        provider,
        key_ref="",
        base_url=_bare_address(provider.base_url),
        additional_parameters=_harmless(provider.additional_parameters),
        settings=_harmless(provider.settings),
    )


def _harmless(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _cleaned(value) for name, value in settings.items() if not _SECRET.search(name)}


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return _harmless(cast("Mapping[str, Any]", value))
    if isinstance(value, list | tuple):
        return [_cleaned(each) for each in cast("list[object]", value)]
    return value


def _bare_address(address: str) -> str:
    """The address without user name, password, query and fragment, any of which can hold a key."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
