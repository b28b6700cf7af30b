"""The nodes of a long story column by column: read at once however many there are, made objects one by one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from marginalia.story.node import Node
from marginalia.values import EPOCH, PartId, SummaryId

Numbers: TypeAlias = NDArray[np.int64]

BLANK, PARTIAL, BOOKMARKED = 1, 2, 4
"""The bits of the column ``flags``."""

MICROSECOND: Final = timedelta(microseconds=1)
_NONE: Final = np.zeros(0, dtype=np.int64)


class Sums(NamedTuple):
    """How many parts there are, and the words and tokens of all of them."""

    parts: int
    words: int
    tokens: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Nodes by rising id, one array per field; all arrays are equally long and are not changed by anybody.

    ``parents`` and ``summaries`` are 0 where there is none, ``created`` counts microseconds since 1970, ``flags`` are
    ``BLANK``, ``PARTIAL`` and ``BOOKMARKED``, ``labels`` has the parts that have one.
    """

    ids: Numbers
    parents: Numbers
    tokens: Numbers
    words: Numbers
    flags: Numbers
    summaries: Numbers
    texts: Numbers
    created: Numbers
    labels: Mapping[PartId, str] = field(default_factory=dict[PartId, str])
    _made: dict[PartId, Node] = field(default_factory=dict[PartId, Node], init=False, repr=False)
    _families: dict[PartId | None, tuple[PartId, ...]] = field(
        default_factory=dict[PartId | None, tuple[PartId, ...]], init=False, repr=False
    )

    @classmethod
    def of(cls, labels: Mapping[PartId, str], **columns: Numbers) -> Self:
        """Columns of rows that come in any order."""
        ids = columns["ids"]
        if (ids[1:] < ids[:-1]).any():  # a database gives rows of a book mostly as they came
            order = np.argsort(ids)
            columns = {name: column[order] for name, column in columns.items()}
        return cls(labels=labels, **cast("dict[str, Any]", columns))

    def __len__(self) -> int:
        return len(self.ids)

    def row(self, part: PartId) -> int:
        """The row of a part, -1 if it has none."""
        ids = self._ids
        row = bisect_left(ids, part)
        return row if row < len(ids) and ids[row] == part else -1

    def find(self, part: PartId) -> Node | None:
        """The node of a part; the same object whenever it is asked for."""
        made = self._made.get(part)
        if made is not None:
            return made
        row = self.row(part)
        return None if row < 0 else self._made.setdefault(part, self._node(row))

    def children(self, part: PartId | None) -> tuple[PartId, ...]:
        """The children of a part (of ``None``: the first parts), oldest first, ties by id."""
        known = self._families.get(part) if len(self.ids) else ()
        if known is None:
            children, parents = self._by_parent
            wanted = part or 0
            start, end = bisect_left(parents, wanted), bisect_right(parents, wanted)
            known = self._families[part] = tuple(PartId(child) for child in children[start:end])
        return known

    def blank(self, row: int) -> bool:
        """Whether the part of a row has no text."""
        return bool(self.flags[row] & BLANK)

    def sums(self, parts: Iterable[PartId] | None = None) -> Sums:
        """What *parts*, which all have a row, amount to, or all."""
        if parts is None:
            return Sums(len(self.ids), int(self.words.sum()), int(self.tokens.sum()))
        rows = np.searchsorted(self.ids, np.fromiter(parts, dtype=np.int64))
        return Sums(len(rows), int(self.words[rows].sum()), int(self.tokens[rows].sum()))

    def ages(self, parts: Iterable[PartId]) -> list[tuple[int, PartId]]:
        """When *parts*, which all have a row, were made, in microseconds since 1970, each with its id."""
        wanted = list(parts)
        rows = np.searchsorted(self.ids, np.array(wanted, dtype=np.int64))
        return list(zip(self.created[rows].tolist(), wanted, strict=True))

    def texts_of(self, parts: Iterable[PartId]) -> tuple[int, ...]:
        """The newest versions of *parts*, which all have a row."""
        rows = np.searchsorted(self.ids, np.fromiter(parts, dtype=np.int64))
        return tuple(self.texts[rows].tolist())

    def versions(self) -> dict[int, PartId]:
        """The parts by the number of their newest version."""
        return dict(zip(self.texts.tolist(), self.numbers, strict=True))

    @cached_property
    def numbers(self) -> list[PartId]:
        """The ids, by row."""
        return cast("list[PartId]", self.ids.tolist())

    @cached_property
    def summarised(self) -> dict[PartId, SummaryId]:
        """The parts with a summary, and which."""
        rows = np.flatnonzero(self.summaries)
        ids, summaries = self.ids[rows].tolist(), self.summaries[rows].tolist()
        return cast("dict[PartId, SummaryId]", dict(zip(ids, summaries, strict=True)))

    @cached_property
    def above(self) -> list[int]:
        """For every row that of the parent, -1 where there is none."""
        if not len(self.ids):
            return []
        rows = np.minimum(np.searchsorted(self.ids, self.parents), len(self.ids) - 1)
        above: list[int] = np.where(self.ids[rows] == self.parents, rows, -1).tolist()
        return above

    @cached_property
    def _ids(self) -> memoryview[int]:
        return self.ids.data  # numbers come out of it as Python's own, and faster

    @cached_property
    def _by_parent(self) -> tuple[memoryview[int], memoryview[int]]:
        order = np.lexsort((self.ids, self.created, self.parents))
        return self.ids[order].data, self.parents[order].data

    def _node(self, row: int) -> Node:
        part, flags = PartId(int(self.ids[row])), int(self.flags[row])
        parent, summary = int(self.parents[row]), int(self.summaries[row])
        return Node(
            id=part,
            parent_id=PartId(parent) if parent else None,
            tokens=int(self.tokens[row]),
            words=int(self.words[row]),
            blank=bool(flags & BLANK),
            partial=bool(flags & PARTIAL),
            summary_id=SummaryId(summary) if summary else None,
            text_id=int(self.texts[row]),
            created=EPOCH + MICROSECOND * int(self.created[row]),
            label=self.labels.get(part, ""),
            bookmarked=bool(flags & BOOKMARKED),
        )


NO_COLUMNS: Final = Columns(
    ids=_NONE,
    parents=_NONE,
    tokens=_NONE,
    words=_NONE,
    flags=_NONE,
    summaries=_NONE,
    texts=_NONE,
    created=_NONE,
)
