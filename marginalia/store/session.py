"""What a piece of work on the database gets: rows by SQL, values by memory, and, when it writes, a transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from marginalia.store.memory import ABSENT, Key, Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from marginalia.values import BookId, LorebookId

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Execute: TypeAlias = "Callable[[str, Sequence[object]], list[Row]]"
Statement: TypeAlias = "tuple[str, Sequence[object]]"
Together: TypeAlias = "Callable[[Sequence[Statement]], list[list[Row]]]"
Table: TypeAlias = "dict[str, NDArray[np.int64]]"
Moment: TypeAlias = "Callable[[Statement, Sequence[Statement]], tuple[Table, list[list[Row]]]]"
ChangeKind: TypeAlias = Literal[
    "book", "story", "draft", "summary", "lorebook", "provider", "protocol", "settings"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something was committed: what kind of thing, and in which book or lorebook."""

    kind: ChangeKind
    book_id: BookId | None = None
    lorebook_id: LorebookId | None = None


class Session(ABC):
    """Reads; good for one piece of work in one thread."""

    def __init__(self, execute: Execute, memory: Memory) -> None:
        self._execute = execute
        self._memory = memory
        self.seen: set[Key[Any]] = set()

    def rows(self, sql: str, *parameters: object) -> list[Row]:
        """All rows of a statement; texts among *parameters* are made storable first."""
        return self._execute(sql, [storable(each) for each in parameters])

    def row(self, sql: str, *parameters: object) -> Row | None:
        """The first row of a statement, if there is one."""
        return next(iter(self.rows(sql, *parameters)), None)

    @abstractmethod
    def together(self, *statements: Statement) -> list[list[Row]]:
        """The rows of several statements, all of one moment."""

    @abstractmethod
    def moment(self, table: Statement, *statements: Statement) -> tuple[Table, list[list[Row]]]:
        """The columns of a statement that gives whole numbers only, by name, and the rows of others, all of one moment.

        Reading columns costs next to nothing per row, however many there are.
        """

    def known(self, key: Key[T]) -> T | None:
        """A remembered value, if there is one."""
        return self._memory.known(key)

    def recall(self, key: Key[T], load: Callable[[], T]) -> T:
        """A remembered value, or what *load* reads."""
        self.seen.add(key)
        return self._memory.recall(key, load)


class Reading(Session):
    """Sees what is committed."""

    def __init__(self, execute: Execute, together: Together, moment: Moment, memory: Memory) -> None:
        super().__init__(execute, memory)
        self._together = together
        self._moment = moment

    def together(self, *statements: Statement) -> list[list[Row]]:
        """The rows of several statements, all of one moment."""
        return self._together(statements)

    def moment(self, table: Statement, *statements: Statement) -> tuple[Table, list[list[Row]]]:
        """The columns of one statement and the rows of others, all of one moment."""
        return self._moment(_storable(table), statements)


class Transaction(Session):
    """Reads and writes; what it ``put``s is seen by later work of the same transaction, by others after the commit."""

    def __init__(
        self, execute: Execute, read: Callable[[str, Sequence[object]], Table], memory: Memory
    ) -> None:
        super().__init__(execute, memory)
        self._read = read
        self.put_values: dict[Key[Any], object] = {}
        self.loaded: dict[Key[Any], object] = {}
        self.changes: dict[tuple[str, Change], None] = {}
        self.failure: Exception | None = None

    def rows(self, sql: str, *parameters: object) -> list[Row]:
        """All rows of a statement."""
        try:
            return super().rows(sql, *parameters)
        except Exception as error:
            # A failed statement aborts the transaction, yet the engine's commit returns normally and stores nothing:
            # the writer looks here, in case the work has swallowed the error.
            self.failure = error
            raise

    def together(self, *statements: Statement) -> list[list[Row]]:
        """The rows of several statements: a transaction is one moment."""
        return [self.rows(sql, *given) for sql, given in statements]

    def moment(self, table: Statement, *statements: Statement) -> tuple[Table, list[list[Row]]]:
        """The columns of one statement and the rows of others."""
        return self._read(*_storable(table)), self.together(*statements)

    def recall(self, key: Key[T], load: Callable[[], T]) -> T:
        """A value as this transaction has it."""
        for held in (self.put_values, self.loaded):
            if held.get(key, ABSENT) is not ABSENT:
                return cast("T", held[key])
        forgotten = key in self.put_values
        value = load() if forgotten else self._memory.find(key, load)
        (self.put_values if forgotten else self.loaded)[key] = value
        return value

    def put(self, key: Key[T], value: T) -> None:
        """Remember a changed value, from the commit on."""
        self.put_values[key] = value

    def forget(self, key: Key[Any]) -> None:
        """The value has changed and is read again when it is wanted."""
        self.put_values[key] = ABSENT
        self.loaded.pop(key, None)

    def notify(self, owner: str, change: Change) -> None:
        """Tell *owner*'s listeners after the commit; the same change is told once."""
        self.changes[owner, change] = None


def storable(value: object) -> object:
    """*value* as the engine can take it: halves of surrogate pairs (models cut them) become the replacement mark."""
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def _storable(statement: Statement) -> Statement:
    sql, given = statement
    return sql, [storable(each) for each in given]
