"""The shape of a story without its texts: who is whose child, what each part counts, and which branch is read.

A tree of 10,000 parts is walked for every preview, so it holds one small row per part and remembers the
branches it has walked; the texts stay in the store until somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from marginalia.errors import NotFound
from marginalia.values import EPOCH, PartId, SummaryId

_REMEMBERED = 32  # branches; each of a long story is a long tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part without its text: what walking, budgeting and drawing need.

    ``text_id`` is the number of its newest version, 0 while it waits for its answer.
    """

    id: PartId
    parent_id: PartId | None
    tokens: int = 0
    words: int = 0
    blank: bool = False
    partial: bool = False
    summary_id: SummaryId | None = None
    text_id: int = 0
    created: datetime = EPOCH
    label: str = ""
    bookmarked: bool = False


class _Footprint:
    """The parts that one change of a tree touched; each is equal to itself alone."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[PartId] = ()) -> None:
        self.parts = tuple(parts)


class StoryTree:
    """All parts of a book as a tree; immutable, ``with_nodes`` and ``without`` give new ones."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[PartId, Node] = {node.id: node for node in nodes}
        self._children: dict[PartId | None, list[PartId]] | None = None
        self._branches: dict[PartId, tuple[PartId, ...]] = {}
        self._trail: tuple[_Footprint, ...] = (_Footprint(),)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, part: object) -> bool:
        return part in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __getitem__(self, part: PartId) -> Node:
        try:
            return self._nodes[part]
        except KeyError:
            raise NotFound(f"This book has no part {part}; it may have been deleted meanwhile.") from None

    def with_nodes(self, *nodes: Node) -> StoryTree:
        """A tree in which *nodes* are added, or stand for the ones with the same id.

        What is known of the old tree is taken over, so that adding to a long story costs no more than to a short one.
        """
        old = self._nodes
        moved = [node for node in nodes if node.id not in old or old[node.id].parent_id != node.parent_id]
        tree = StoryTree()
        tree._nodes = old | {node.id: node for node in nodes}
        tree._trail = (*self._trail[-_REMEMBERED:], _Footprint(node.id for node in nodes))
        tree._branches = {} if any(node.id in old for node in moved) else dict(self._branches)
        if self._children is not None:
            tree._children = dict(self._children)
            for node in nodes:
                if node.id in old:
                    tree._leave(node.id, old[node.id].parent_id)
                tree._children[node.parent_id] = sorted(
                    [*tree.children(node.parent_id), node.id], key=tree._age
                )
        return tree

    def without(self, *parts: PartId) -> StoryTree:
        """A tree that lacks *parts*; the caller re-parents their children first."""
        gone = {part: self._nodes[part] for part in parts if part in self._nodes}
        tree = StoryTree()
        tree._nodes = self._nodes.copy()
        tree._trail = (*self._trail[-_REMEMBERED:], _Footprint(gone))
        tree._children = None if self._children is None else dict(self._children)
        ends = all(not self.children(part) for part in gone)
        tree._branches = dict(self._branches) if ends else {}
        for part, node in gone.items():
            del tree._nodes[part]
            tree._branches.pop(part, None)
            if tree._children is not None:
                tree._leave(part, node.parent_id)
        return tree

    def changed_from(self, older: StoryTree) -> tuple[PartId, ...]:
        """The parts that were added, removed, moved or changed between two trees of one book."""
        before, now = older._nodes, self._nodes
        common = next((each for each in reversed(older._trail) if each in self._trail), None)
        if common is None:
            touched = before.keys() | now.keys()
        else:  # made from one tree: only what was touched since can differ
            since = (trail[trail.index(common) + 1 :] for trail in (older._trail, self._trail))
            touched = {part for trail in since for footprint in trail for part in footprint.parts}
        return tuple(part for part in touched if before.get(part) != now.get(part))

    def children(self, part: PartId | None) -> tuple[PartId, ...]:
        """The children of a part (of ``None``: the first parts), oldest first, ties by id."""
        return tuple(self._child_lists().get(part, ()))

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
        while children := self._child_lists().get(part):
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
            ends = [each for each in level if not self._child_lists().get(each)]
            if ends:
                return max(ends, key=self._age)
            level = [child for each in level for child in self.children(each)]

    def subtree(self, part: PartId) -> tuple[PartId, ...]:
        """The part and everything below it, breadth-first."""
        found = [part]
        for each in found:
            found.extend(self.children(each))
        return tuple(found)

    def nodes(self) -> Mapping[PartId, Node]:
        """All nodes by id."""
        return self._nodes

    def _walk_up(self, leaf: PartId) -> tuple[PartId, ...]:
        path: list[PartId] = []
        part: PartId | None = self[leaf].id
        while part is not None and (node := self._nodes.get(part)) is not None:
            if known := self._branches.get(part):
                return (*known, *reversed(path))
            path.append(part)
            part = node.parent_id
        return tuple(reversed(path))

    def _leave(self, part: PartId, parent: PartId | None) -> None:
        """Take *part* out of the children of *parent*; for a tree that is just being made."""
        lists = self._child_lists()
        lists[parent] = [each for each in lists.get(parent, ()) if each != part]

    def _child_lists(self) -> dict[PartId | None, list[PartId]]:
        if self._children is None:
            lists: dict[PartId | None, list[PartId]] = {}
            for part in sorted(self._nodes, key=self._age):
                lists.setdefault(self._nodes[part].parent_id, []).append(part)
            self._children = lists
        return self._children

    def _age(self, part: PartId) -> tuple[datetime, PartId]:
        return self._nodes[part].created, part
