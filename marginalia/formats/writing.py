"""Lorebooks as files: back onto the file they came from, or new ones; what cannot be said there is listed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from marginalia.errors import InvalidInput
from marginalia.formats.base import Fidelity, Note, Place
from marginalia.formats.codec import Codec, Path, Target, container, with_container
from marginalia.formats.coerce import Json, Object, is_object, obj, one_line, rows, text, whole
from marginalia.formats.marginalia import FORMAT, MARGINALIA, VERSION, again, head, write_entry
from marginalia.formats.overlay import overlay
from marginalia.formats.registry import codec as named
from marginalia.lore.book import Entry, FilledLorebook, Lorebook
from marginalia.values import LorebookId

_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|]')
_LONGEST = 200  # bytes; names of files may have 255


class Exported(bytes):
    """A written file. ``losses`` says per entry what the format cannot say; ``file_name`` is one to offer."""

    format: str
    file_name: str
    losses: tuple[Note, ...]

    def __new__(cls, data: bytes, *, format: str, file_name: str, losses: Sequence[Note]) -> Self:  # noqa: A002 - the public word for it
        """The bytes with what there is to say about them."""
        written = super().__new__(cls, data)
        written.format, written.file_name, written.losses = format, file_name, tuple(losses)
        return written


def write_lore(books: Sequence[FilledLorebook], format_: str) -> Exported:
    """The first of *books*, and the others as the lorebooks below it, as a file of that format.

    What came from a file of the same format goes back onto it: what was not edited here is as it was there.

    Raises:
        InvalidInput: there is no such format, or it can only be written back to where lore came from.
    """
    codec, root = named(format_), books[0].lorebook
    losses: list[Note] = []
    if codec is MARGINALIA:
        document = _own(books, losses, single=format_.strip().lower().replace("-", "_") == "marginalia_v1")
    else:
        document = _foreign(books, codec, losses)
    data = json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8", "replace")
    return Exported(data, format=codec.id, file_name=f"{_file_name(root.name)}.{codec.ending}", losses=losses)


def _file_name(name: str) -> str:
    """*name* without what a file's name may not have on one system or another, and not too long for any."""
    plain = one_line(_NOT_IN_FILE_NAMES.sub("-", name), 80)
    return plain.encode("utf-8", "ignore")[:_LONGEST].decode("utf-8", "ignore").strip(". ") or "lorebook"


def _foreign(books: Sequence[FilledLorebook], codec: Codec, losses: list[Note]) -> Json:
    root = books[0].lorebook
    memo = obj(dict(root.raw)) if root.raw.get("format") == codec.id and "rows" in root.raw else {}
    if memo:
        document, keyed = memo.get("document"), bool(memo.get("keyed"))
        path = tuple(text(each) for each in rows(memo.get("path")))
    elif codec.blank is not None:
        document = codec.blank(root)
        path = codec.path(document)
        keyed = is_object(container(document, path))
    else:
        raise InvalidInput(
            f"A {codec.title} can only be written for lore that came from one. Choose another format."
        )
    if codec.head is not None and memo:
        document = overlay(document, obj(memo.get("head")), codec.head(root))
    elif "of" in root.raw or any(each.lorebook.subbooks for each in books):
        _say(losses, root.name, "", ("the lorebooks below it become one lorebook there",), only=not memo)
    document = _filled(document, _rows(books, codec, memo, losses), path, keyed=keyed)
    return codec.closed(document)


def _filled(document: Json, found: list[tuple[Place, Json]], path: Path, *, keyed: bool) -> Json:
    if not found and container(document, path) is None and not _has(document, path):
        return document
    value: Json = {str(place): raw for place, raw in found} if keyed else [raw for _, raw in found]
    return with_container(document, path, value)


def _has(document: Json, path: Path) -> bool:
    """Whether *document* has a place for the rows, even if nothing is there."""
    return not path or path[-1] in obj(container(document, path[:-1]))


def _rows(
    books: Sequence[FilledLorebook], codec: Codec, memo: Object, losses: list[Note]
) -> list[tuple[Place, Json]]:
    there = _entries(books, losses)
    found: list[tuple[Place, Json]] = []
    for kept in map(rows, rows(memo.get("rows"))):
        uid, place, key = kept[0], kept[1], text(kept[2])
        if uid is None:
            found.append((place, kept[3]))
        elif uid in there:
            entry, lorebook = there.pop(uid)
            found.append((place, _edited(codec, entry, place, (key, _folder(lorebook)), losses)))
    number = 1 + max((whole(place, -1) for place, _ in found), default=-1)
    for entry, lorebook in there.values():
        target = Target(raw={}, place=number, folder=_folder(lorebook), fresh=True)
        written = codec.write(entry, target)
        _say(losses, lorebook.name, entry.name, written.losses)
        found.append((number, written.row))
        number += 1
    return found


def _entries(books: Sequence[FilledLorebook], losses: list[Note]) -> dict[str, tuple[Entry, Lorebook]]:
    """The entries by uid. In one file there are no lorebooks to switch off, so the entries of one that is off are."""
    on = _switched_on(books)
    found: dict[str, tuple[Entry, Lorebook]] = {}
    for filled in books:
        lorebook = filled.lorebook
        off = lorebook.id not in on and bool(lorebook.raw.get("on", True))
        if off and filled.entries:
            _say(losses, lorebook.name, "", ("it is switched off, so its entries are switched off there",))
        for entry in filled.entries:
            found[entry.uid] = replace(entry, enabled=entry.enabled and not off), lorebook
    return found


def _switched_on(books: Sequence[FilledLorebook]) -> set[LorebookId]:
    """The lorebooks that are reached from the first one without passing one that is off."""
    by_id = {each.lorebook.id: each.lorebook for each in books}
    found = [books[0].lorebook.id]
    for each in found:
        below = (by_id[one] for one in by_id[each].subbooks if one in by_id)
        found += [one.id for one in below if one.enabled and one.id not in found]
    return set(found)


def _folder(lorebook: Lorebook) -> str:
    return text(lorebook.raw.get("key")) if "of" in lorebook.raw else ""


def _edited(codec: Codec, entry: Entry, place: Place, folders: tuple[str, str], losses: list[Note]) -> Json:
    """The original of an entry with what was edited since."""
    raw = dict(entry.raw or {})
    before = codec.again(raw, place)
    if folders[0] == folders[1] and _same(before, entry):
        return raw
    then = codec.write(before, Target(raw=raw, place=place, folder=folders[0]))
    now = codec.write(entry, Target(raw=raw, place=place, folder=folders[1]))
    _say(losses, "", entry.name, tuple(each for each in now.losses if each not in then.losses))
    return overlay(raw, then.row, now.row)


def _same(before: Entry, entry: Entry) -> bool:
    same = replace(
        before,
        id=entry.id,
        uid=entry.uid,
        lorebook_id=entry.lorebook_id,
        created=entry.created,
        raw=entry.raw,
        note=entry.note,
    )
    return same == entry


def _say(
    losses: list[Note], lorebook: str, entry: str, remarks: tuple[str, ...], *, only: bool = True
) -> None:
    if remarks and only:
        losses.append(Note(lorebook=lorebook, entry=entry, fidelity=Fidelity.APPROXIMATED, remarks=remarks))


def _own(books: Sequence[FilledLorebook], losses: list[Note], *, single: bool) -> Json:
    root = books[0].lorebook
    memo: Object = dict(root.raw) if root.raw.get("format") == MARGINALIA.id else {}
    uids = {each.lorebook.id: each.lorebook.uid for each in books}
    if single or (memo and "top" not in memo and len(books) == 1 and not books[0].lorebook.subbooks):
        book = _own_book(books[0], uids, losses)
        if not memo:
            book = {
                "format": FORMAT,
                "version": 1,
                **{name: each for name, each in book.items() if name != "uuid"},
            }
        book.pop("subbooks", None)
        return book
    order = [text(each) for each in rows(memo.get("order"))]
    first = sorted(
        books, key=lambda each: order.index(each.lorebook.uid) if each.lorebook.uid in order else len(order)
    )
    top = dict(obj(memo.get("top"))) or {"format": FORMAT, "version": VERSION}
    top["root"] = books[0].lorebook.uid
    return top | {"lorebooks": [_own_book(each, uids, losses) for each in first]}


def _own_book(filled: FilledLorebook, uids: Mapping[LorebookId, str], losses: list[Note]) -> Object:
    lorebook = filled.lorebook
    memo: Object = dict(lorebook.raw) if lorebook.raw.get("format") == MARGINALIA.id else {}
    raw, then = dict(obj(memo.get("book"))), obj(memo.get("head"))
    book: Object = dict(obj(overlay(raw, then, head(lorebook)))) if memo else head(lorebook)
    below = [uids[each] for each in dict.fromkeys(lorebook.subbooks) if each in uids]
    if not memo or below != [text(each) for each in rows(memo.get("below"))]:
        book["subbooks"] = below
    found = _own_rows(filled, memo, losses)
    if found or not memo or memo.get("rows"):
        book["entries"] = found
    elif "empty" in memo:
        book["entries"] = memo["empty"]
    return book


def _own_rows(filled: FilledLorebook, memo: Object, losses: list[Note]) -> list[Json]:
    there = {entry.uid: entry for entry in filled.entries}
    found: list[Json] = []
    for kept in map(rows, rows(memo.get("rows"))):
        entry = there.pop(kept[0], None) if kept[0] is not None else None
        if kept[0] is None:
            found.append(kept[3])
        elif entry is not None:
            raw = dict(entry.raw or {})
            now, then = write_entry(entry).row, write_entry(again(raw)).row
            found.append(overlay(raw, then, now))
    for entry in there.values():
        written = write_entry(entry)
        _say(losses, filled.lorebook.name, entry.name, written.losses)
        found.append(written.row)
    return found
