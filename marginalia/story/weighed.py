"""A story whose parts are counted in another way than they are stored: what a budget for one model reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from marginalia.story.tree import StoryTree

if TYPE_CHECKING:
    from marginalia.story.node import Node
    from marginalia.values import PartId


class WeighedTree(StoryTree):
    """*tree* with the tokens of each part as *weigh* has them; only parts that are looked at are weighed.

    ``stored`` is the tree as it is, whose counts never change.
    """

    def __init__(self, tree: StoryTree, weigh: Callable[[Node], int]) -> None:
        super().__init__()
        vars(self).update(vars(tree))  # everything else is shared: branches that were walked once, too
        self._weigh = weigh
        self.stored = tree

    def find(self, part: PartId) -> Node | None:
        """The node of a part, with its tokens as they are weighed."""
        node = super().find(part)
        if node is None:
            return None
        tokens = self._weigh(node)
        return node if tokens == node.tokens else replace(node, tokens=tokens)
