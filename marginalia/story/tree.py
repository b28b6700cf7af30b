"""The shape of a story without its texts: who is whose child, what each part counts, and which branch is read.

A tree of 10,000 parts is walked for every preview, so it remembers the branches it has walked; as long as nobody
looks at a part, it is a row in some columns, and its text stays in the store until somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from marginalia.errors import NotFound
from marginalia.story.columns import MICROSECOND, NO_COLUMNS, Columns, Sums
from marginalia.story.frames import frame
from marginalia.story.node import Node
from marginalia.story.nodes import Nodes
from marginalia.values import EPOCH, PartId, SummaryId

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.story.frames import DataFrame

__all__ = ["Node", "StoryTree"]

_REMEMBERED = 32  # branches; each of a long story is a long tuple


class _Footprint:
    """The parts that one change of a tree touched; each is equal to itself alone."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[PartId] = ()) -> None:
        self.parts = tuple(parts)


class StoryTree:
    """All parts of a book as a tree; immutable, ``with_nodes`` and ``without`` give new ones.

    It is made of *columns*, of *nodes*, or of both: then a node stands for the row with the same id.
    """

    def __init__(self, nodes: Iterable[Node] = (), *, columns: Columns = NO_COLUMNS) -> None:
        self._columns = columns
        self._laid: dict[PartId, Node | None] = {
            node.id: node for node in nodes
        }  # over the columns; None: gone
        self._length = len(columns) + sum(columns.row(part) < 0 for part in self._laid)
        self._hung: dict[PartId | None, tuple[PartId, ...]] | None = None  # who of them is whose child
        self._branches: dict[PartId, tuple[PartId, ...]] = {}
        self._trail: tuple[_Footprint, ...] = (_Footprint(),)

    def __len__(self) -> int:
        return self._length

    def __contains__(self, part: object) -> bool:
        return isinstance(part, int) and self._has(PartId(part))

    def __iter__(self) -> Iterator[Node]:
        for part in self.parts():
            node = self.find(part)
            if node is not None:
                yield node

    @property
    def frame(self) -> DataFrame:
        """A row per part."""
        rows = ((each.id, each.parent_id, each.tokens, each.words, each.label, each.created) for each in self)
        return frame(rows, "part", "parent", "tokens", "words", "label", "created")

    def __getitem__(self, part: PartId) -> Node:
        node = self.find(part)
        if node is None:
            raise NotFound(f"This book has no part {part}; it may have been deleted meanwhile.")
        return node

    def find(self, part: PartId) -> Node | None:
        """The node of a part, if it is in the story."""
        return self._laid[part] if part in self._laid else self._columns.find(part)

    def parts(self) -> Iterator[PartId]:
        """The ids of all parts."""
        laid, columns = self._laid, self._columns
        yield from (part for part in columns.numbers if laid.get(part, columns) is not None)
        yield from (part for part, node in laid.items() if node is not None and columns.row(part) < 0)

    def with_nodes(self, *nodes: Node) -> StoryTree:
        """A tree in which *nodes* are added, or stand for the ones with the same id.

        What is known of the old tree is taken over, so that adding to a long story costs no more than to a short one.
        """
        laid = {node.id: node for node in nodes}
        known = {part: self.find(part) for part in laid}
        moved = any(was is not None and was.parent_id != laid[part].parent_id for part, was in known.items())
        return self._successor(laid, {} if moved else self._branches)

    def without(self, *parts: PartId) -> StoryTree:
        """A tree that lacks *parts*; the caller re-parents their children first."""
        gone = dict.fromkeys(part for part in parts if part in self)
        branches = {} if any(self.children(part) for part in gone) else self._branches
        return self._successor(gone, {leaf: path for leaf, path in branches.items() if leaf not in gone})

    def changed_from(self, older: StoryTree) -> tuple[PartId, ...]:
        """The parts that were added, removed, moved or changed between two trees of one book."""
        common = next((each for each in reversed(older._trail) if each in self._trail), None)
        if common is None:
            touched = {*older.parts(), *self.parts()}
        else:  # made from one tree: only what was touched since can differ
            since = (trail[trail.index(common) + 1 :] for trail in (older._trail, self._trail))
            touched = {part for trail in since for footprint in trail for part in footprint.parts}
        return tuple(part for part in touched if older.find(part) != self.find(part))

    def children(self, part: PartId | None) -> tuple[PartId, ...]:
        """The children of a part (of ``None``: the first parts), oldest first, ties by id."""
        stand = self._columns.children(part)
        if not self._laid:
            return stand
        if stand:
            stand = tuple(child for child in stand if child not in self._laid)
        hang = self._hanging().get(part, ())
        return tuple(sorted(stand + hang, key=self.age)) if stand and hang else stand or hang

    def siblings(self, part: PartId) -> tuple[PartId, ...]:
        """All versions of a part, itself included, oldest first."""
        return self.children(self[part].parent_id)

    def branch(self, leaf: PartId | None) -> tuple[PartId, ...]:
        """The ids from the first part down to *leaf*, oldest first; empty for ``None``."""
        if leaf is None:
            return ()
        known = self._branches.get(leaf)
        if known is None:
            known = self._walk_up(leaf)
            if len(self._branches) >= _REMEMBERED:
                self._branches = {}
            self._branches[leaf] = known
        return known

    def deepest(self, part: PartId) -> PartId:
        """The end of the line below *part* that follows the newest child at every step."""
        while children := self.children(part):
            part = children[-1]
        return part

    def end_near(self, part: PartId, active: PartId | None) -> PartId:
        """The leaf to show for a part that was found (spec/semantics.md, B1 100).

        The *active* one if the part is on its branch, else the nearest end below the part, the newest of equally near.
        """
        if active is not None and active in self and part in self.branch(active):
            return active
        level = [self[part].id]
        while True:
            ends = [each for each in level if not self.children(each)]
            if ends:
                return max(ends, key=self.age)
            level = [child for each in level for child in self.children(each)]

    def subtree(self, part: PartId) -> tuple[PartId, ...]:
        """The part and everything below it, breadth-first."""
        found = [part]
        for each in found:
            found.extend(self.children(each))
        return tuple(found)

    def nodes(self) -> Mapping[PartId, Node]:
        """All nodes by id; each is made when it is looked at."""
        return Nodes(self)

    # What needs no nodes, and so costs little over a whole story.

    def age(self, part: PartId) -> tuple[datetime, PartId]:
        """What siblings are ordered by: when the part was made, then its id."""
        return self[part].created, part

    def by_age(self, parts: Iterable[PartId]) -> list[PartId]:
        """Parts in the order in which they were made, ties by id."""
        wanted = list(parts)
        ages = self._columns.ages(part for part in wanted if part not in self._laid)
        laid = (self[part] for part in wanted if part in self._laid)
        ages += [((node.created - EPOCH) // MICROSECOND, node.id) for node in laid]
        return [part for _, part in sorted(ages)]

    def blank(self, part: PartId) -> bool:
        """Whether a part has no text."""
        row = -1 if part in self._laid else self._columns.row(part)
        return self._columns.blank(row) if row >= 0 else self[part].blank

    def sums(self, parts: Iterable[PartId] | None = None) -> Sums:
        """What *parts* amount to, or the whole story."""
        laid, columns = self._laid, self._columns
        if parts is None:
            parts = self.parts() if laid else None
        if parts is None:
            return columns.sums()
        wanted = list(parts)
        nodes = [self[part] for part in wanted if part in laid]
        stand = columns.sums(part for part in wanted if part not in laid)
        return Sums(
            stand.parts + len(nodes),
            stand.words + sum(node.words for node in nodes),
            stand.tokens + sum(node.tokens for node in nodes),
        )

    def texts(self, parts: Iterable[PartId]) -> tuple[int, ...]:
        """The newest versions of *parts*, by number."""
        wanted = tuple(parts)
        if any(part in self._laid for part in wanted):
            return tuple(self[part].text_id for part in wanted)
        return self._columns.texts_of(wanted)

    def summarised(self) -> dict[PartId, SummaryId]:
        """The parts with a summary, and which."""
        stand = {
            part: summary for part, summary in self._columns.summarised.items() if part not in self._laid
        }
        laid = self._laid.values()
        return stand | {node.id: node.summary_id for node in laid if node is not None and node.summary_id}

    def versions(self) -> dict[int, PartId]:
        """The parts by the number of their newest version; those that wait for their first are left out."""
        laid, found = self._laid, self._columns.versions()
        if laid:
            found = {version: part for version, part in found.items() if part not in laid}
            found |= {node.text_id: part for part, node in laid.items() if node is not None}
        found.pop(0, None)
        return found

    # How a new tree comes about.

    def _successor(
        self, laid: Mapping[PartId, Node | None], branches: Mapping[PartId, tuple[PartId, ...]]
    ) -> StoryTree:
        """This tree with *laid* over it, and the *branches* that are as they were."""
        tree = StoryTree(columns=self._columns)
        tree._laid, tree._length = self._laid.copy(), self._length
        tree._hung = None if self._hung is None else self._hung.copy()
        tree._trail = (*self._trail[-_REMEMBERED:], _Footprint(laid))
        for part, node in laid.items():
            tree._lay(part, node)
        tree._branches = dict(branches)
        return tree

    def _lay(self, part: PartId, node: Node | None) -> None:
        """Have *node* stand for a part (``None``: the part is gone); for a tree that is just being made."""
        was = self.find(part)
        self._length += (node is not None) - (was is not None)
        if self._hung is not None and part in self._laid and was is not None:
            left = self._hung.get(was.parent_id, ())
            self._hung[was.parent_id] = tuple(each for each in left if each != part)
        self._laid[part] = node
        if self._hung is not None and node is not None:
            beside = self._hung.get(node.parent_id, ())
            self._hung[node.parent_id] = tuple(sorted((*beside, part), key=self.age))

    def _hanging(self) -> dict[PartId | None, tuple[PartId, ...]]:
        if self._hung is None:
            lists: dict[PartId | None, list[PartId]] = {}
            nodes = [node for node in self._laid.values() if node is not None]
            for node in sorted(nodes, key=lambda node: (node.created, node.id)):
                lists.setdefault(node.parent_id, []).append(node.id)
            self._hung = {parent: tuple(parts) for parent, parts in lists.items()}
        return self._hung

    def _has(self, part: PartId) -> bool:
        return self._laid[part] is not None if part in self._laid else self._columns.row(part) >= 0

    def _walk_up(self, leaf: PartId) -> tuple[PartId, ...]:
        path: list[PartId] = []
        part: PartId | None = self[leaf].id
        while part is not None and self._has(part):
            if known := self._branches.get(part):
                return (*known, *reversed(path))
            if part in self._laid:
                path.append(part)
                part = self[part].parent_id
            else:
                part = self._climb(part, path)
        return tuple(reversed(path))

    def _climb(self, part: PartId, path: list[PartId]) -> PartId | None:
        """Add *part* to *path* and what is above it, as long as rows know it; the answer is where to go on."""
        numbers, above = self._columns.numbers, self._columns.above
        known = self._laid.keys() | self._branches.keys()
        row = top = self._columns.row(part)
        while row >= 0 and (not known or numbers[row] not in known):
            path.append(numbers[row])
            row, top = above[row], row
        return PartId(int(self._columns.parents[top])) or None
