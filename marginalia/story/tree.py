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


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part without its text: what walking, budgeting and drawing need."""

    id: PartId
    parent_id: PartId | None
    tokens: int = 0
    words: int = 0
    blank: bool = False
    partial: bool = False
    summary_id: SummaryId | None = None
    text_id: int = 0
    created: datetime = EPOCH


class StoryTree:
    """All parts of a book as a tree; immutable, ``with_nodes`` and ``without`` give new ones."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[PartId, Node] = {node.id: node for node in nodes}
        self._children: dict[PartId | None, list[PartId]] | None = None
        self._branches: dict[PartId, tuple[PartId, ...]] = {}

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
        moved = {node.id for node in nodes if node.id in self and self[node.id].parent_id != node.parent_id}
        tree = StoryTree()
        tree._nodes = self._nodes | {node.id: node for node in nodes}
        tree._branches = {} if moved else dict(self._branches)
        if self._children is not None and not moved:
            tree._children = dict(self._children)
            for node in nodes:
                siblings = tree._children.get(node.parent_id, [])
                if node.id not in siblings:
                    tree._children[node.parent_id] = sorted([*siblings, node.id], key=tree._age)
        return tree

    def without(self, *parts: PartId) -> StoryTree:
        """A tree that lacks *parts*; the caller re-parents their children first."""
        gone = set(parts)
        return StoryTree(node for node in self if node.id not in gone)

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
            known = self._branches[leaf] = self._walk_up(leaf)
        return known

    def deepest(self, part: PartId) -> PartId:
        """The end of the line below *part* that follows the newest child at every step."""
        while children := self._child_lists().get(part):
            part = children[-1]
        return part

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
            path.append(part)
            part = node.parent_id
        return tuple(reversed(path))

    def _child_lists(self) -> dict[PartId | None, list[PartId]]:
        if self._children is None:
            lists: dict[PartId | None, list[PartId]] = {}
            for part in sorted(self._nodes, key=self._age):
                lists.setdefault(self._nodes[part].parent_id, []).append(part)
            self._children = lists
        return self._children

    def _age(self, part: PartId) -> tuple[datetime, PartId]:
        return self._nodes[part].created, part
