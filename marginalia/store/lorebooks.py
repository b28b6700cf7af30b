"""Lorebooks and their entries."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Unpack

from marginalia.errors import InvalidInput, NotFound
from marginalia.lore.book import Entry, FilledLorebook, Lorebook, LoreSettings
from marginalia.store.codec import bare, fields_of, from_json, rebuilt, to_json, utc
from marginalia.store.entries import mark_entries, update_entries
from marginalia.store.memory import Key
from marginalia.store.repository import Repository, id_of, tidy_tags
from marginalia.store.session import Change
from marginalia.store.tables import LOREBOOKS
from marginalia.values import NOTHING, EntryId, LorebookId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from marginalia.store.desk import Desk
    from marginalia.store.fields import EntryFields
    from marginalia.store.session import Row, Session, Transaction

_COLUMNS = "id, uid, lorebook_id, name, data, created_at"
_APART = frozenset({"id", "uid", "lorebook_id", "name", "created"})


class Lorebooks(Repository[Lorebook]):
    """The lorebooks of one user, and their entries in the order of creation."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, LOREBOOKS)

    def create(
        self,
        *,
        name: str,
        description: str = "",
        enabled: bool = True,
        tags: Iterable[str] = (),
        subbooks: Iterable[Lorebook | int] = (),
        settings: LoreSettings | None = None,
        raw: Mapping[str, Any] = NOTHING,
        uid: str = "",
        created: datetime | None = None,
    ) -> Lorebook:
        """A new lorebook; ``subbooks`` are records or ids. Raises ``InvalidInput`` for a blank name."""
        return self._add(
            Lorebook(
                uid=uid,
                name=name,
                description=description,
                enabled=enabled,
                tags=tuple(tags),
                subbooks=tuple(LorebookId(id_of(each)) for each in subbooks),
                settings=settings or LoreSettings(),
                raw=raw,
                created=created or self._desk.clock(),
            )
        )

    def entries(self, lorebook: Lorebook | int) -> tuple[Entry, ...]:
        """The entries of a lorebook, oldest first; raises ``NotFound``."""
        return self.filled(lorebook).entries

    def filled(self, lorebook: Lorebook | int) -> FilledLorebook:
        """The lorebook with its entries; the same object as long as nothing changed. Raises ``NotFound``."""
        number = id_of(lorebook)

        def work(session: Session) -> FilledLorebook:
            LOREBOOKS.mine(session, number, self._desk.user)
            found = find_filled(session, number, self._desk.user)
            if found is None:
                raise NotFound(f"There is no lorebook {number}; it may have been deleted.")
            return found

        return self._desk.database.read(work)

    def add_entry(self, lorebook: Lorebook | int, *, name: str, **fields: Unpack[EntryFields]) -> Entry:
        """A new entry, from any field of ``Entry``; raises ``InvalidInput`` for a blank name."""
        number = id_of(lorebook)
        entry = _tidied(Entry(lorebook_id=LorebookId(number), name=name, **fields))  # type: ignore[arg-type]
        entry = dataclasses.replace(
            entry, uid=entry.uid or self._desk.new_uid(), created=entry.created or self._desk.clock()
        )

        def work(transaction: Transaction) -> Entry:
            LOREBOOKS.mine(transaction, number, self._desk.user)
            self._changed(transaction, number)
            return _insert(transaction, entry)

        return self._desk.database.write(work)

    def save_entry(self, entry: Entry) -> Entry:
        """Store an edited entry; ``lorebook_id`` may name another lorebook to move it there. Raises ``NotFound``."""
        tidy = _tidied(entry)

        def work(transaction: Transaction) -> Entry:
            before = self._entry(transaction, tidy.id)
            LOREBOOKS.mine(transaction, tidy.lorebook_id, self._desk.user)
            self._changed(transaction, before.lorebook_id)
            self._changed(transaction, tidy.lorebook_id)
            return _update(transaction, tidy)

        return self._desk.database.write(work)

    def save_entries(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Store many edited entries, as :meth:`save_entry` does one: all in one transaction, or none."""
        tidy = tuple(map(_tidied, entries))
        rows = [
            (each.id, each.lorebook_id, each.name, to_json(fields_of(each, without=_APART))) for each in tidy
        ]
        self._together(lambda transaction: update_entries(transaction, self._desk.user, rows))
        return tidy

    def delete_entries(self, entries: Iterable[Entry | EntryId]) -> None:
        """Move many entries to the trash: all in one transaction, or none. Raises ``NotFound``."""
        numbers, now = [id_of_entry(each) for each in entries], self._desk.clock()
        self._together(lambda transaction: mark_entries(transaction, self._desk.user, numbers, now))

    def restore_entries(self, entries: Iterable[Entry | EntryId]) -> None:
        """Bring many deleted entries back: all in one transaction, or none. Raises ``NotFound``."""
        numbers = [id_of_entry(each) for each in entries]
        self._together(lambda transaction: mark_entries(transaction, self._desk.user, numbers, None))

    def _together(self, change: Callable[[Transaction], Iterable[int]]) -> None:
        def work(transaction: Transaction) -> None:
            for lorebook in sorted(change(transaction)):
                self._changed(transaction, lorebook)

        self._desk.database.write(work)

    def delete_entry(self, entry: Entry | EntryId) -> None:
        """Move an entry to the trash; raises ``NotFound``."""
        number, now = id_of_entry(entry), self._desk.clock()

        def work(transaction: Transaction) -> None:
            before = self._entry(transaction, number)
            transaction.rows("UPDATE entry SET deleted_at = ? WHERE id = ?", bare(now), number)
            self._changed(transaction, before.lorebook_id)

        self._desk.database.write(work)

    def deleted_entries(self, lorebook: Lorebook | int) -> tuple[Entry, ...]:
        """The entries of a lorebook that are in the trash, oldest first; raises ``NotFound``."""
        number = id_of(lorebook)

        def work(session: Session) -> tuple[Entry, ...]:
            LOREBOOKS.mine(session, number, self._desk.user)
            return _load(session, number, "IS NOT NULL")

        return self._desk.database.read(work)

    def restore_entry(self, entry: Entry | EntryId) -> Entry:
        """Bring a deleted entry back; raises ``NotFound``."""
        number = id_of_entry(entry)

        def work(transaction: Transaction) -> Entry:
            back = self._entry(transaction, number, deleted=True)
            transaction.rows("UPDATE entry SET deleted_at = NULL WHERE id = ?", number)
            self._changed(transaction, back.lorebook_id)
            return back

        return self._desk.database.write(work)

    def _entry(self, session: Session, entry: EntryId, *, deleted: bool = False) -> Entry:
        which = "IS NOT NULL" if deleted else "IS NULL"
        row = session.row(f"SELECT {_COLUMNS} FROM entry WHERE id = ? AND deleted_at {which}", entry)  # noqa: S608 - names of ours
        if row is None:
            raise NotFound(f"There is no entry {entry}; it may have been deleted.")
        found = _entry(row)
        LOREBOOKS.mine(session, found.lorebook_id, self._desk.user)
        return found

    def _changed(self, transaction: Transaction, lorebook: int) -> None:
        transaction.forget(_key(lorebook))
        transaction.notify(self._desk.user, Change(kind="lorebook", lorebook_id=LorebookId(lorebook)))

    def _check(self, session: Session, record: Lorebook, known: Lorebook | None) -> None:
        old = frozenset(known.subbooks) if known else frozenset[LorebookId]()
        for each in record.subbooks:
            if each not in old:
                LOREBOOKS.mine(session, each, self._desk.user)

    def _announce(self, transaction: Transaction, record: Lorebook) -> None:
        self._changed(transaction, record.id)


def id_of_entry(entry: Entry | EntryId) -> EntryId:
    """The id of an entry, or the id itself."""
    return entry.id if isinstance(entry, Entry) else entry


def find_filled(session: Session, lorebook: int, owner: str) -> FilledLorebook | None:
    """A lorebook with its entries; ``None`` when it is deleted or somebody else's."""

    def load() -> FilledLorebook | None:
        record = LOREBOOKS.find(session, lorebook)
        if record is None:
            return None
        return FilledLorebook(lorebook=record, entries=_load(session, lorebook, "IS NULL"))

    found = session.recall(_key(lorebook), load)
    return found if found is not None and found.lorebook.owner == owner else None


def _key(lorebook: int) -> Key[FilledLorebook | None]:
    return Key("filled", lorebook)


def _load(session: Session, lorebook: int, which: str) -> tuple[Entry, ...]:
    sql = f"SELECT {_COLUMNS} FROM entry WHERE lorebook_id = ? AND deleted_at {which} ORDER BY created_at, id"  # noqa: S608 - names of ours
    return tuple(_entry(row) for row in session.rows(sql, lorebook))


def _entry(row: Row) -> Entry:
    number, uid, lorebook, name, data, created = row
    time = None if created is None else utc(created)
    return rebuilt(Entry, from_json(data), id=number, uid=uid, lorebook_id=lorebook, name=name, created=time)


def _insert(transaction: Transaction, entry: Entry) -> Entry:
    sql = (
        "INSERT INTO entry (uid, lorebook_id, name, data, created_at) VALUES (?, ?, ?, ?, ?) "  # noqa: S608 - names of ours
        f"RETURNING {_COLUMNS}"
    )
    data = to_json(fields_of(entry, without=_APART))
    created = None if entry.created is None else bare(entry.created)
    return _entry(transaction.rows(sql, entry.uid, entry.lorebook_id, entry.name, data, created)[0])


def _update(transaction: Transaction, entry: Entry) -> Entry:
    sql = f"UPDATE entry SET lorebook_id = ?, name = ?, data = ? WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608 - names of ours
    data = to_json(fields_of(entry, without=_APART))
    return _entry(transaction.rows(sql, entry.lorebook_id, entry.name, data, entry.id)[0])


def _tidied(entry: Entry) -> Entry:
    if not entry.name.strip():
        raise InvalidInput("An entry needs a name, and a blank one would not be found again.")
    return dataclasses.replace(
        entry,
        name=entry.name.strip(),
        tags=tidy_tags(entry.tags),
        negative_tags=tidy_tags(entry.negative_tags),
    )
