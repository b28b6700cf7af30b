"""The nodes of a tree as a mapping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from marginalia.story.node import Node
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.story.tree import StoryTree


class Nodes(Mapping[PartId, Node]):
    """The nodes of a tree by id; each is made when it is looked at."""

    __slots__ = ("_tree",)

    def __init__(self, tree: StoryTree) -> None:
        self._tree = tree

    def __getitem__(self, part: PartId) -> Node:
        node = self._tree.find(part)
        if node is None:
            raise KeyError(part)
        return node

    def __contains__(self, part: object) -> bool:
        return part in self._tree

    def __iter__(self) -> Iterator[PartId]:
        return self._tree.parts()

    def __len__(self) -> int:
        return len(self._tree)
