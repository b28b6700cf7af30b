"""The tables of named records: how a book, provider, protocol or lorebook becomes a row and comes back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from marginalia.errors import NotFound
from marginalia.lore.book import Lorebook
from marginalia.store.codec import bare, fields_of, from_json, rebuilt, to_json, utc
from marginalia.store.memory import Key
from marginalia.values import Book, Provider
from marginalia.values import Protocol as SamplingProtocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from marginalia.store.session import ChangeKind, Row, Session, Transaction
    from marginalia.values import PartId


class Record(Protocol):
    """What all named records have."""

    @property
    def id(self) -> int:
        """Its number; 0 before it is stored."""
        ...

    @property
    def uid(self) -> str:
        """Its name in other files."""
        ...

    @property
    def owner(self) -> str:
        """Whose it is."""
        ...

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def created(self) -> datetime:
        """When it was made."""
        ...


R = TypeVar("R", bound=Record)


def changed(record: R, **fields: object) -> R:
    """``dataclasses.replace`` for any record."""
    return cast("R", dataclasses.replace(cast("Any", record), **fields))


class Table(Generic[R]):
    """One table of records. Rows that are in the trash are not found here."""

    columns: ClassVar[str] = "id, uid, owner, name, data, created_at, updated_at"
    apart: ClassVar[frozenset[str]] = frozenset({"id", "uid", "owner", "name", "created", "updated"})

    def __init__(self, name: ChangeKind, cls: type[R]) -> None:
        self.name: ChangeKind = name
        self.cls = cls

    def key(self, record: int) -> Key[R | None]:
        """Under what a record is remembered."""
        return Key(self.name, record)

    def find(self, session: Session, record: int | None) -> R | None:
        """The record, whoever it belongs to; ``None`` when it is not there or deleted."""
        if record is None:
            return None
        return session.recall(self.key(record), lambda: self._load(session, record))

    def mine(self, session: Session, record: int, owner: str) -> R:
        """The record of *owner*; raises ``NotFound``, also for a record of somebody else."""
        found = self.find(session, record)
        if found is None or found.owner != owner:
            raise NotFound(f"There is no {self.name} {record}; it may have been deleted.")
        return found

    def by_uid(self, session: Session, uid: str, owner: str) -> R:
        """The record with that uid; raises ``NotFound``."""
        sql = f"SELECT id FROM {self.name} WHERE uid = ? AND owner = ? AND deleted_at IS NULL ORDER BY id"  # noqa: S608 - names of ours
        row = session.row(sql, uid, owner)
        if row is None:
            raise NotFound(f"There is no {self.name} {uid!r}; it may have been deleted.")
        return self.mine(session, row[0], owner)

    def of_owner(self, session: Session, owner: str, *, deleted: bool = False) -> tuple[R, ...]:
        """All records of *owner* (or those in the trash), oldest first."""
        which = "IS NOT NULL" if deleted else "IS NULL"
        sql = f"SELECT {self.columns} FROM {self.name} WHERE owner = ? AND deleted_at {which} ORDER BY created_at, id"  # noqa: S608 - names of ours
        return tuple(self.record(row) for row in session.rows(sql, owner))

    def insert(self, transaction: Transaction, record: R, now: datetime) -> R:
        """Store a new record; the answer has its id."""
        sql = (
            f"INSERT INTO {self.name} (uid, owner, name, data, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) "  # noqa: S608 - names of ours
            f"RETURNING {self.columns}"
        )
        data = to_json(fields_of(record, without=self.apart))
        row = transaction.rows(
            sql, record.uid, record.owner, record.name, data, bare(record.created), bare(now)
        )[0]
        return self._keep(transaction, row)

    def update(self, transaction: Transaction, record: R, now: datetime) -> R:
        """Store what a user edits of a record; what moves with the story stays as it is."""
        sql = (
            f"UPDATE {self.name} SET name = ?, data = ?, updated_at = ? WHERE id = ? RETURNING {self.columns}"  # noqa: S608 - names of ours
        )
        data = to_json(fields_of(record, without=self.apart))
        return self._keep(transaction, transaction.rows(sql, record.name, data, bare(now), record.id)[0])

    def mark(self, transaction: Transaction, record: int, deleted: datetime | None) -> R:
        """Move a record to the trash, or (``None``) back."""
        sql = f"UPDATE {self.name} SET deleted_at = ? WHERE id = ? RETURNING {self.columns}"  # noqa: S608 - names of ours
        row = transaction.rows(sql, None if deleted is None else bare(deleted), record)[0]
        transaction.forget(self.key(record))
        return self.record(row)

    def record(self, row: Row) -> R:
        """A row as a record."""
        number, uid, owner, name, data, created, updated, *rest = row
        times: dict[str, object] = {"created": utc(created)}
        if self.name == "book":
            times["updated"] = utc(updated)
        fields: Mapping[str, Any] = from_json(data)
        return rebuilt(
            self.cls, fields, id=number, uid=uid, owner=owner, name=name, **times, **self._moving(rest)
        )

    def _moving(self, _rest: list[Any]) -> dict[str, object]:
        return {}

    def _load(self, session: Session, record: int) -> R | None:
        sql = f"SELECT {self.columns} FROM {self.name} WHERE id = ? AND deleted_at IS NULL"  # noqa: S608 - names of ours
        row = session.row(sql, record)
        return None if row is None else self.record(row)

    def _keep(self, transaction: Transaction, row: Row) -> R:
        kept = self.record(row)
        transaction.put(self.key(kept.id), kept)
        return kept


class BookTable(Table[Book]):
    """Books, whose active leaf and shared variables are written by the story alone."""

    columns: ClassVar[str] = f"{Table.columns}, leaf_id, variables"
    apart: ClassVar[frozenset[str]] = Table.apart | {"active_leaf", "global_variables"}

    def move(
        self,
        transaction: Transaction,
        book: Book,
        *,
        leaf: PartId | None,
        shared: Mapping[str, str] | None = None,
    ) -> Book:
        """Make *leaf* the active one and, where given, store the shared variables."""
        if leaf == book.active_leaf and (shared is None or shared == book.global_variables):
            return book
        variables = book.global_variables if shared is None else shared
        sql = "UPDATE book SET leaf_id = ?, variables = ? WHERE id = ?"
        transaction.rows(sql, leaf, to_json(variables), book.id)
        moved = changed(book, active_leaf=leaf, global_variables=dict(variables))
        transaction.put(self.key(book.id), moved)
        return moved

    def _moving(self, rest: list[Any]) -> dict[str, object]:
        leaf, variables = rest
        return {"active_leaf": leaf, "global_variables": from_json(variables)}


BOOKS = BookTable("book", Book)
PROVIDERS = Table("provider", Provider)
PROTOCOLS = Table("protocol", SamplingProtocol)
LOREBOOKS = Table("lorebook", Lorebook)
