"""A file that was read, made ready to be stored: its lorebooks with their entries, and the way back to the file."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from marginalia.formats.base import Fidelity, Note, Row, Shelf, Volume
from marginalia.formats.codec import Codec, container, without_container
from marginalia.formats.coerce import Json, Object, is_list, is_object, obj, rows, text
from marginalia.formats.marginalia import MARGINALIA
from marginalia.formats.marginalia import head as own_head
from marginalia.lore.book import Entry, Lorebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A lorebook to be stored; ``below`` are the places of its lorebooks in the same sequence."""

    lorebook: Lorebook
    entries: tuple[Entry, ...]
    below: tuple[int, ...]


def bind(
    shelf: Shelf,
    codec: Codec,
    *,
    file: str,
    new_uid: Callable[[], str],
    taken: Container[str] = (),
    name: str | None = None,
) -> tuple[Bound, ...]:
    """The lorebooks of a file, the root first. Uids of the file are kept unless they are *taken*.

    Every entry keeps its original in ``raw``, every lorebook what else the file said, and the notes of the import.
    """
    uids = [each.uid if each.uid and each.uid not in taken else new_uid() for each in shelf.volumes]
    uid_of = {id(row): new_uid() for row in shelf.rows if row.entry is not None}
    books = [_lorebook(each, uid) for each, uid in zip(shelf.volumes, uids, strict=True)]
    memos = _memos(shelf, codec, books, uid_of)
    if name and name.strip():
        books[0] = replace(books[0], name=name.strip())
    memos[0] |= {"file": file, "title": shelf.title, "notes": notes_to_json(all_notes(shelf))}
    entries: list[list[Entry]] = [[] for _ in shelf.volumes]
    for row in shelf.rows:
        if row.entry is not None:
            entries[row.volume].append(replace(row.entry, uid=uid_of[id(row)], raw=obj(row.raw)))
    return tuple(
        Bound(lorebook=replace(book, raw=memo), entries=tuple(found), below=volume.subbooks)
        for book, memo, found, volume in zip(books, memos, entries, shelf.volumes, strict=True)
    )


def all_notes(shelf: Shelf) -> tuple[Note, ...]:
    """The notes on the file, then one for every row, each with the name of its lorebook."""
    names = [each.name for each in shelf.volumes]
    of_rows = (replace(row.note, lorebook=names[row.volume]) for row in shelf.rows if row.note is not None)
    return (*shelf.notes, *of_rows)


def notes_to_json(notes: Sequence[Note]) -> list[Json]:
    """Notes as they are kept with a lorebook."""
    return [[each.lorebook, each.entry, str(each.fidelity), *each.remarks] for each in notes]


def notes_from_json(kept: Json) -> tuple[Note, ...]:
    """The notes that :func:`notes_to_json` wrote."""
    return tuple(
        Note(
            lorebook=text(each[0]),
            entry=text(each[1]),
            fidelity=Fidelity(each[2]),
            remarks=tuple(text(remark) for remark in each[3:]),
        )
        for each in map(rows, rows(kept))
    )


def _in_file_order(found: Sequence[Row]) -> Sequence[Row]:
    numbered = [(row.place, row) for row in found if isinstance(row.place, int)]
    return (
        found
        if len(numbered) < len(found)
        else [row for _, row in sorted(numbered, key=lambda each: each[0])]
    )


def _kept(row: Row, uid_of: Mapping[int, str], volumes: Sequence[Volume]) -> list[Json]:
    """A row as the memo has it: uid, place, folder; the original itself only where there is no entry to keep it."""
    uid = uid_of.get(id(row))
    kept: list[Json] = [uid, row.place, volumes[row.volume].key]
    return kept if uid is not None else [*kept, row.raw]


def _lorebook(volume: Volume, uid: str) -> Lorebook:
    return Lorebook(
        uid=uid,
        name=volume.name,
        description=volume.description,
        enabled=volume.enabled,
        tags=volume.tags,
        settings=volume.settings,
    )


def _memos(shelf: Shelf, codec: Codec, books: Sequence[Lorebook], uid_of: Mapping[int, str]) -> list[Object]:
    if codec is MARGINALIA:
        return _own_memos(shelf, books, uid_of)
    document = codec.opened(shelf.document)
    path = codec.path(document)
    root: Object = {
        "format": codec.id,
        "document": without_container(document, path),
        "path": list(path),
        "keyed": is_object(container(document, path)),
        "rows": [_kept(row, uid_of, shelf.volumes) for row in _in_file_order(shelf.rows)],
        "head": codec.head(books[0]) if codec.head else {},
    }
    below: list[Object] = [
        {"format": codec.id, "of": books[0].uid, "key": each.key, "on": each.enabled}
        for each in shelf.volumes[1:]
    ]
    return [root, *below]


def _own_memos(shelf: Shelf, books: Sequence[Lorebook], uid_of: Mapping[int, str]) -> list[Object]:
    """In Marginalia's own files every lorebook is an object of its own, in an order of its own."""
    file = obj(shelf.document)
    many = is_list(file.get("lorebooks"))
    raws = [obj(each) for each in rows(file["lorebooks"])] if many else [file]
    memos: list[Object] = []
    for at, (volume, book) in enumerate(zip(shelf.volumes, books, strict=True)):
        raw = raws[int(volume.key)]
        uid = text(raw.get("uuid")) if "uuid" in raw else book.uid
        memo: Object = {
            "format": MARGINALIA.id,
            "book": {name: value for name, value in raw.items() if name != "entries"},
            "rows": [_kept(row, uid_of, shelf.volumes) for row in shelf.rows if row.volume == at],
            "head": own_head(replace(book, uid=uid)),
            "below": [shelf.volumes[each].uid for each in volume.subbooks],
        }
        empty = "entries" in raw and not raw["entries"]
        memos.append(memo | ({"empty": raw["entries"]} if empty else {}))
    if many:
        order = sorted(range(len(books)), key=lambda at: int(shelf.volumes[at].key))
        memos[0]["top"] = {name: value for name, value in file.items() if name != "lorebooks"}
        memos[0]["order"] = [books[at].uid for at in order]
    return memos
