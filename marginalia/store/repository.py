"""What all repositories can do: get, all, save, delete, and the way back from the trash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from marginalia.errors import InvalidInput
from marginalia.store.session import Change
from marginalia.store.tables import R, Table, changed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.store.desk import Desk
    from marginalia.store.session import Session, Transaction
    from marginalia.store.tables import Record

T = TypeVar("T", bound="Record")
Reference: TypeAlias = "T | int"


class Repository(Generic[R]):
    """The records of one kind that belong to one user. Every call is a plain function, safe from any thread."""

    def __init__(self, desk: Desk, table: Table[R]) -> None:
        self._desk = desk
        self._table = table

    def get(self, record: R | int | str) -> R:
        """The record as it is now, by itself, its id or its uid; raises ``NotFound``."""
        table, user = self._table, self._desk.user
        if isinstance(record, str):
            return self._desk.database.read(lambda session: table.by_uid(session, record, user))
        number = id_of(record)
        return self._desk.database.read(lambda session: table.mine(session, number, user))

    def all(self) -> tuple[R, ...]:
        """All records, oldest first."""
        return self._desk.database.read(lambda session: self._table.of_owner(session, self._desk.user))

    def save(self, record: R) -> R:
        """Store what was edited and return the record as it is now.

        Id, uid, owner and time of creation never change. Raises ``NotFound``, or ``InvalidInput`` for a blank name.
        """
        tidy, now = self._tidied(record), self._desk.clock()

        def work(transaction: Transaction) -> R:
            known = self._table.mine(transaction, record.id, self._desk.user)
            self._check(transaction, tidy, known)
            saved = self._table.update(transaction, tidy, now)
            self._announce(transaction, saved)
            return saved

        return self._desk.database.write(work)

    def delete(self, record: R | int) -> None:
        """Move the record to the trash. What refers to it keeps doing so, and finds nothing until it is restored."""
        number, now = id_of(record), self._desk.clock()

        def work(transaction: Transaction) -> None:
            self._let_go(transaction, self._table.mine(transaction, number, self._desk.user))
            self._announce(transaction, self._table.mark(transaction, number, now))

        self._desk.database.write(work)

    def trash(self) -> tuple[R, ...]:
        """The deleted records, oldest first."""
        return self._desk.database.read(
            lambda session: self._table.of_owner(session, self._desk.user, deleted=True)
        )

    def restore(self, record: R | int) -> R:
        """Bring a deleted record back with everything it had; raises ``NotFound``."""
        number = id_of(record)

        def work(transaction: Transaction) -> R:
            deleted = self._table.of_owner(transaction, self._desk.user, deleted=True)
            if any(each.id == number for each in deleted):
                self._announce(transaction, self._table.mark(transaction, number, None))
            return self._table.mine(transaction, number, self._desk.user)

        return self._desk.database.write(work)

    def _add(self, record: R) -> R:
        now = self._desk.clock()
        fresh = self._tidied(changed(record, owner=self._desk.user, uid=record.uid or self._desk.new_uid()))

        def work(transaction: Transaction) -> R:
            self._check(transaction, fresh, None)
            stored = self._table.insert(transaction, fresh, now)
            self._announce(transaction, stored)
            return stored

        return self._desk.database.write(work)

    def _tidied(self, record: R) -> R:
        if not record.name.strip():
            raise InvalidInput(
                f"A {self._table.name} needs a name, and a blank one would not be found again."
            )
        tags: Any = getattr(record, "tags", None)
        named = changed(record, name=record.name.strip())
        return named if tags is None else changed(named, tags=tidy_tags(tags))

    def _check(self, session: Session, record: R, known: R | None) -> None:
        """Refuse what refers to nothing; for kinds that refer to something."""

    def _let_go(self, session: Session, record: R) -> None:
        """Refuse to delete what is in use; for kinds that can be."""

    def _announce(self, transaction: Transaction, _record: R) -> None:
        transaction.notify(self._desk.user, Change(kind=self._table.name))


def id_of(record: Record | int) -> int:
    """The id of a record, or the id itself."""
    return record if isinstance(record, int) else record.id


def optional_id(record: Record | int | None) -> int | None:
    """The id of what may be nothing."""
    return None if record is None else id_of(record)


def tidy_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without blanks around them, none empty, each once, in their order. A single text is one tag."""
    given = (tags,) if isinstance(tags, str) else tags
    return tuple(dict.fromkeys(tag.strip() for tag in given if tag.strip()))
