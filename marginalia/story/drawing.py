"""The tree of all branches as a picture: marks on lanes and rows, long runs folded, swipes stacked.

The root is at the top. The branch that is read stands straight on lane 0, other branches to the right of where they
leave, each on the leftmost lane that is free there.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Container, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple, TypeAlias

from marginalia.story.tree import Node, StoryTree
from marginalia.values import PartId

MarkKind: TypeAlias = Literal["part", "run", "stack"]


class Mark(NamedTuple):
    """One mark of the picture: a part, a folded run of parts that follow each other, or a stack of swipes.

    ``parent`` is the index of the mark that it hangs on. ``active`` marks lie on the branch that is read, ``here`` is
    its end; ``summary``, ``partial`` and ``bookmarked`` are said of any of its parts. A tuple, because a picture has
    thousands of them.
    """

    kind: MarkKind
    parts: tuple[PartId, ...]
    lane: int
    row: int
    parent: int | None
    active: bool
    here: bool
    tokens: int
    summary: bool
    partial: bool
    bookmarked: bool
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The picture: its marks, each after the one it hangs on, and how many lanes and rows they take."""

    marks: tuple[Mark, ...] = ()
    lanes: int = 0
    rows: int = 0

    def find(self, part: PartId) -> Mark | None:
        """The mark that shows a part."""
        return next((mark for mark in self.marks if part in mark.parts), None)


class _Line(NamedTuple):
    """Marks to be, one below the other, that share a lane: which parts each has, and where the line leaves another."""

    kind: MarkKind
    first: tuple[PartId, ...]
    row: int
    parent: int | None


def draw(
    tree: StoryTree,
    *,
    active: PartId | None = None,
    root: PartId | None = None,
    opened: Container[PartId] = frozenset(),
    fold_from: int = 6,
) -> Drawing:
    """The picture of a story.

    *active* is the end of the branch that is read; *root* shows only what is below that part. Runs of at least
    *fold_from* parts without branches, labels or bookmarks are folded, and swipes that nothing follows are stacked,
    except those whose first part is *opened*. Raises ``NotFound`` for a *root* that is not there.
    """
    return _Draughtsman(tree, active, opened, fold_from).draw(root)


class _Draughtsman:
    """Draws one picture, line by line from the top, so that a lane is free again below the end of a line."""

    def __init__(
        self, tree: StoryTree, active: PartId | None, opened: Container[PartId], fold_from: int
    ) -> None:
        self._tree = tree
        self._nodes = tree.nodes()
        self._here = active
        self._active = frozenset(tree.branch(active)) if active in tree else frozenset[PartId]()
        self._opened = opened
        self._fold_from = max(fold_from, 2)
        self._marks: list[Mark] = []
        self._starts: dict[int, list[_Line]] = {}  # by rows: a line only ever starts others further down
        self._free: list[int] = []
        self._ends: list[tuple[int, int]] = []
        self._lanes = 0

    def draw(self, root: PartId | None) -> Drawing:
        top = self._tree.children(None) if root is None else (self._tree[root].id,)
        self._branch_off(top, row=0, parent=None)
        row = 0
        while self._starts:
            for line in self._starts.pop(row, ()):
                self._draw_line(line)
            row += 1
        rows = max((mark.row for mark in self._marks), default=-1) + 1
        return Drawing(marks=tuple(self._marks), lanes=self._lanes, rows=rows)

    def _draw_line(self, line: _Line) -> None:
        lane = self._lane(line)
        parent, row = line.parent, line.row
        if line.kind == "stack":
            self._mark("stack", line.first, lane, row, parent)
            heappush(self._ends, (row, lane))
            return
        part: PartId | None = line.first[0]
        while part is not None:
            run, part = self._run(part)
            folded = len(run) >= self._fold_from and run[0] not in self._opened
            for parts in (run,) if folded else [(each,) for each in run]:
                parent = self._mark("run" if folded else "part", parts, lane, row, parent)
                row += 1
            children = self._tree.children(run[-1])
            if len(children) > 1:
                self._branch_off([child for child in children if child != part], row=row, parent=parent)
        heappush(self._ends, (row - 1, lane))

    def _run(self, part: PartId) -> tuple[tuple[PartId, ...], PartId | None]:
        """The parts from *part* on that can be folded together (or it alone), and the one that follows on the line."""
        run: list[PartId] = []
        while self._plain(part):
            run.append(part)
            follower = self._tree.children(part)[0]
            if not self._plain(follower):
                return tuple(run), follower
            part = follower
        return (part,), self._follower(part)

    def _plain(self, part: PartId) -> bool:
        node = self._nodes[part]
        return len(self._tree.children(part)) == 1 and not (
            node.label or node.bookmarked or part == self._here
        )

    def _follower(self, part: PartId) -> PartId | None:
        """The child that goes straight on: the one on the branch that is read, else the newest."""
        children = self._tree.children(part)
        return next(
            (child for child in children if child in self._active), children[-1] if children else None
        )

    def _branch_off(self, parts: Sequence[PartId], *, row: int, parent: int | None) -> None:
        """Lines for *parts*, the one that is read first; swipes that nothing follows become one stack."""
        loose = tuple(each for each in parts if self._loose(each))
        stacked = loose if len(loose) > 1 and loose[0] not in self._opened else ()
        lines = [each for each in parts if each not in stacked] if stacked else list(parts)
        lines.sort(key=lambda each: each not in self._active)
        starts = [_Line("part", (each,), row, parent) for each in lines]
        if stacked:
            starts.append(_Line("stack", stacked, row, parent))
        if starts:
            self._starts.setdefault(row, []).extend(starts)

    def _loose(self, part: PartId) -> bool:
        node = self._nodes[part]
        marked = node.label or node.bookmarked or part in self._active
        return not marked and not self._tree.children(part)

    def _lane(self, line: _Line) -> int:
        """The leftmost free lane to the right of where the line leaves; the read branch is drawn first and gets 0."""
        while self._ends and self._ends[0][0] < line.row:
            insort(self._free, heappop(self._ends)[1])
        left = -1 if line.parent is None else self._marks[line.parent].lane
        at = bisect_right(self._free, left)
        if at < len(self._free):
            return self._free.pop(at)
        self._lanes += 1
        return self._lanes - 1

    def _mark(
        self, kind: MarkKind, parts: tuple[PartId, ...], lane: int, row: int, parent: int | None
    ) -> int:
        nodes: list[Node] = [self._nodes[part] for part in parts]
        last = nodes[-1]
        self._marks.append(
            Mark(
                kind=kind,
                parts=parts,
                lane=lane,
                row=row,
                parent=parent,
                active=parts[0] in self._active,
                here=last.id == self._here,
                tokens=sum(node.tokens for node in nodes),
                summary=any(node.summary_id is not None for node in nodes),
                partial=any(node.partial for node in nodes),
                bookmarked=last.bookmarked,
                label=last.label,
            )
        )
        return len(self._marks) - 1
