"""Checking a backup before it may replace anything: every row must be readable, every reference must lead somewhere.

What a careless editor or another program left loose is put right and said (spec/semantics.md, IMP-052: a part whose
parent is missing becomes a first part, an unknown active leaf is none); what cannot be read is refused.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec

from marginalia.errors import FormatError
from marginalia.lore.book import Entry, Lorebook
from marginalia.prompt.receipt import Receipt
from marginalia.store.codec import rebuilt
from marginalia.store.rows import Origin
from marginalia.story.parts import Part, Summary
from marginalia.values import Book, BookId, PartId, Protocol, Provider, SummaryId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from marginalia.store.backup_records import (
        BookBackup,
        NamedRow,
        SummaryRow,
        TrashRow,
        VersionRow,
    )

T = TypeVar("T")
_ORIGINS: frozenset[str] = frozenset(get_args(Origin))
_PLACE = frozenset(
    {"id", "book_id", "parent_id", "summary_id", "created", "text", "reasoning", "background_lore", "part_id"}
)
_NAMED = frozenset({"id", "uid", "owner", "name", "created", "updated"})
_BOOK = _NAMED | {"provider_id", "protocol_id", "lorebook_id", "active_leaf", "global_variables"}
_MOST = 2**31 - 1  # what the database has room for in a count


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A backup in which everything can be read and leads somewhere; ``notes`` say in sentences what was put right."""

    backup: BookBackup
    notes: tuple[str, ...] = ()


def checked(backup: BookBackup) -> Checked:
    """*backup*, put right; raises ``FormatError`` where that cannot be."""
    notes: list[str] = []
    backup = _fields_read(backup)
    backup = _references_led(_versions_led(backup, notes), notes)
    backup = _parents_led(backup, notes)
    return Checked(backup=_lore_led(backup, notes), notes=tuple(notes))


def _fields_read(backup: BookBackup) -> BookBackup:
    """Every row made into what the library works with, once, so that nothing unreadable is stored."""
    book = dataclasses.replace(backup.book, settings=_without(backup.book.settings, _BOOK))
    if not book.name.strip():
        raise FormatError("The book in this backup has no name.")
    _try(Book, "book.json", book.settings, name=book.name)
    rows = {
        "provider": _named(backup.provider, Provider, "the provider"),
        "protocol": _named(backup.protocol, Protocol, "the protocol"),
        "lorebooks": tuple(
            _named(each, Lorebook, f"the lorebook {each.name!r}") for each in backup.lorebooks
        ),
        "entries": tuple(
            dataclasses.replace(
                each,
                settings=_tried(Entry, f"the entry {each.name!r}", each.settings, _NAMED | {"lorebook_id"}),
            )
            for each in backup.entries
        ),
        "versions": tuple(_version(each) for each in backup.versions),
        "summaries": tuple(_summary(each) for each in backup.summaries),
        "trash": tuple(_trash(each) for each in backup.trash),
    }
    for receipt in backup.receipts:
        _try(Receipt, f"receipt {receipt.id}", _without(receipt.body, frozenset({"messages"})))
    return dataclasses.replace(backup, book=book, **rows)  # type: ignore[arg-type]


def _version(row: VersionRow) -> VersionRow:
    detail = _without(row.detail, _PLACE)
    part = _try(
        Part,
        f"version {row.id}",
        {"uid": "", **detail},
        id=PartId(0),
        book_id=BookId(0),
        parent_id=None,
        text=row.text,
    )
    counts = (part.tokens, part.words, part.reasoning_tokens, part.prompt_tokens or 0)
    if row.origin not in _ORIGINS or not all(0 <= count <= _MOST for count in counts):
        raise FormatError(f"This backup cannot be restored: version {row.id} in it has impossible values.")
    return dataclasses.replace(row, detail=detail)


def _summary(row: SummaryRow) -> SummaryRow:
    data = _without(row.data, frozenset({"id", "part_id", "created"}))
    _try(Summary, f"summary {row.id}", data, id=SummaryId(0), part_id=PartId(0))
    return dataclasses.replace(row, data=data)


def _trash(row: TrashRow) -> TrashRow:
    if row.kind == "summary":
        _try(Summary, f"the deleted summary {row.item}", row.data)
    else:
        _try(_Place, f"the deleted part {row.item}", row.data)
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    parent: int | None
    children: tuple[int, ...]
    leaf: bool


def _named(row: NamedRow | None, cls: type[Any], what: str) -> NamedRow | None:
    if row is None:
        return None
    if not row.name.strip():
        raise FormatError(f"This backup cannot be restored: {what} in it has no name.")
    settings = _tried(cls, what, row.settings, _NAMED | {"subbooks", "key_ref"})
    return dataclasses.replace(row, settings=settings)


def _versions_led(backup: BookBackup, notes: list[str]) -> BookBackup:
    """Versions of parts that are there, with receipts and texts that are there."""
    for what, rows in (("part", backup.parts), ("version", backup.versions), ("text", backup.texts)):
        _refuse_twice(what, (row.id for row in rows))
    parts, texts = {part.id for part in backup.parts}, {text.id for text in backup.texts}
    receipts = tuple(
        each
        for each in backup.receipts
        if each.part in parts and all(text in texts for _, text in each.messages)
    )
    versions = tuple(each for each in backup.versions if each.part in parts)
    left = len(backup.receipts) - len(receipts) + len(backup.versions) - len(versions)
    if left:
        notes.append(f"{left} older texts and receipts belong to no part of the story and were left out.")
    known = {each.id for each in receipts}
    led = tuple(
        dataclasses.replace(each, lore=_if_in(each.lore, texts), receipt=_if_in(each.receipt, known))
        for each in versions
    )
    owners = {version.id: version.part for version in led}
    for part in backup.parts:
        if owners.get(part.version) != part.id:
            raise FormatError(f"This backup cannot be restored: the text of part {part.id} is missing in it.")
    return dataclasses.replace(backup, receipts=receipts, versions=led)


def _references_led(backup: BookBackup, notes: list[str]) -> BookBackup:
    """Summaries on their parts, the trash, and the active leaf."""
    _refuse_twice("summary", (row.id for row in backup.summaries))
    living = {part.id for part in backup.parts if part.deleted is None}
    every = {part.id for part in backup.parts}
    summaries = tuple(each for each in backup.summaries if each.part in every)
    if len(summaries) < len(backup.summaries):
        notes.append(
            f"{len(backup.summaries) - len(summaries)} summaries belong to no part and were left out."
        )
    places = {each.id: each.part for each in summaries}
    parts = tuple(
        part
        if part.summary is None or places.get(part.summary) == part.id
        else dataclasses.replace(part, summary=None)
        for part in backup.parts
    )
    leaf = backup.book.active_part
    if leaf is not None and leaf not in living:
        notes.append(
            "The part at which the story was is not in the backup, so the book is before its first part."
        )
    book = dataclasses.replace(backup.book, active_part=_if_in(leaf, living))
    trash = tuple(each for each in backup.trash if each.kind == "summary" or each.item in every - living)
    return dataclasses.replace(backup, book=book, parts=parts, summaries=summaries, trash=trash)


def _parents_led(backup: BookBackup, notes: list[str]) -> BookBackup:
    """Living parts under living parts, without circles."""
    living = {part.id: part for part in backup.parts if part.deleted is None}
    every = {part.id for part in backup.parts}
    parents = {number: _if_in(part.parent, living) for number, part in living.items()}
    lost = sum(1 for number, part in living.items() if part.parent is not None and parents[number] is None)
    circles = _open_circles(parents)
    if lost or circles:
        notes.append(f"{lost + circles} parts follow nothing that is in the backup and became first parts.")
    parts = tuple(
        dataclasses.replace(part, parent=parents.get(part.id, _if_in(part.parent, every)))
        for part in backup.parts
    )
    return dataclasses.replace(backup, parts=parts)


def _open_circles(parents: dict[int, int | None]) -> int:
    """Make one part of every circle a first part, in *parents*; returns how many there were."""
    done: set[int] = set()
    opened = 0
    for start in list(parents):
        path: set[int] = set()
        part: int | None = start
        while part is not None and part not in done:
            path.add(part)
            above = parents[part]
            if above in path:
                parents[part] = above = None
                opened += 1
            part = above
        done |= path
    return opened


def _lore_led(backup: BookBackup, notes: list[str]) -> BookBackup:
    _refuse_twice("lorebook", (row.id for row in backup.lorebooks))
    known = {each.id for each in backup.lorebooks}
    entries = tuple(each for each in backup.entries if each.lorebook in known)
    if len(entries) < len(backup.entries):
        notes.append(
            f"{len(backup.entries) - len(entries)} lore entries belong to no lorebook and were left out."
        )
    lorebooks = tuple(
        dataclasses.replace(each, below=tuple(number for number in each.below if number in known))
        for each in backup.lorebooks
    )
    book = dataclasses.replace(backup.book, lorebook=_if_in(backup.book.lorebook, known))
    return dataclasses.replace(backup, book=book, lorebooks=lorebooks, entries=entries)


def _refuse_twice(what: str, numbers: Iterable[int]) -> None:
    number, times = next(iter(Counter(numbers).most_common(1)), (0, 0))
    if times > 1:
        raise FormatError(f"This backup cannot be restored: it has {what} {number} {times} times.")


def _tried(cls: type[Any], what: str, fields: Mapping[str, Any], apart: frozenset[str]) -> dict[str, Any]:
    kept = _without(fields, apart)
    _try(cls, what, kept)
    return kept


def _try(cls: type[T], what: str, fields: Mapping[str, Any], **more: object) -> T:
    try:
        return rebuilt(cls, fields, **more)
    except (msgspec.MsgspecError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(
            f"This backup cannot be restored: {what} in it cannot be read ({error})."
        ) from error


def _without(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _if_in(number: int | None, known: Collection[int]) -> int | None:
    return number if number in known else None
