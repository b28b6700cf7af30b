"""Pairs opening and closing tags in one list of tags.

SillyTavern's blocks that are not closed are text; those of the template language (``strict`` ones) are a mistake,
since what they should hold cannot be known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from marginalia.prompt.macros.problems import mistake
from marginalia.prompt.macros.scanner import Piece, Tag
from marginalia.prompt.macros.tree import Node, Nodes, Text


@dataclass(frozen=True, slots=True, eq=False)
class Else:
    """``{{else}}`` or ``{{^}}``; with ``condition`` an ``{{else if …}}``."""

    tag: Tag
    condition: list[Piece] | None = None


Item: TypeAlias = Node | Else
Build: TypeAlias = Callable[[list[Item]], Node]


@dataclass(frozen=True, slots=True, eq=False)
class Opener:
    """An opening tag: the name that closes it, how its block is made, and what stands there when nothing closes it."""

    key: str
    tag: Tag
    build: Build
    unclosed: Callable[[], Nodes] | None = None

    @property
    def strict(self) -> bool:
        """Whether it must be closed."""
        return self.unclosed is None


@dataclass(slots=True, eq=False)
class _Frame:
    opener: Opener | None
    items: list[Item] = field(default_factory=list["Item"])


class Blocks:
    """The list of nodes being made, and the blocks open in it. Each tag is looked at a fixed number of times."""

    def __init__(self, source: str, as_text: Callable[[Tag], Nodes]) -> None:
        self._source = source
        self._as_text = as_text
        self._frames = [_Frame(None)]
        self._open: Counter[str] = Counter()
        self.count = 0

    def add(self, *items: Item) -> None:
        """Put what follows into the block that is open."""
        self._frames[-1].items.extend(items)

    def open(self, opener: Opener) -> None:
        """Begin a block."""
        self._frames.append(_Frame(opener))
        self._open[opener.key] += 1
        self.count += 1

    def is_open(self, key: str) -> bool:
        """Whether a block with that name can be closed."""
        return self._open[key] > 0

    def close(self, key: str, tag: Tag) -> None:
        """End the innermost block of that name; call only when one is open.

        Raises:
            Mistake: a block of the template language that began later is still open.
        """
        found = len(self._frames) - 1
        while (opener := self._frames[found].opener) is not None and opener.key != key:
            if opener.strict:
                ours, theirs = self._shown(tag), self._shown(opener.tag)
                raise mistake(
                    self._source, tag.start, f"{ours} closes nothing here: {theirs} must be closed first."
                )
            found -= 1
        items = self._merged(found)
        if opener is not None:
            self._open[key] -= 1
            self.add(opener.build(items))

    def finish(self) -> Nodes:
        """All nodes, once everything was added.

        Raises:
            Mistake: a block of the template language is not closed.
        """
        for frame in self._frames:
            if frame.opener and frame.opener.strict:
                tag, name = frame.opener.tag, frame.opener.key
                raise mistake(
                    self._source,
                    tag.start,
                    f"{self._shown(tag)} is never closed. Add {{{{/{name}}}}} after its text.",
                )
        return self.settled(self._merged(0))

    def settled(self, items: list[Item]) -> Nodes:
        """The nodes of a block that has no branches; an ``{{else}}`` in it is text."""
        nodes: list[Node] = []
        for item in items:
            if isinstance(item, Else):
                nodes.extend(self._as_text(item.tag))
            else:
                nodes.append(item)
        return tuple(nodes)

    def branches(self, items: list[Item]) -> list[tuple[Else | None, Nodes]]:
        """The nodes of a block, cut at its ``{{else if}}`` tags and its first ``{{else}}``; a later one is text."""
        cuts: list[tuple[Else | None, list[Item]]] = [(None, [])]
        for item in items:
            last = cuts[-1][0]
            if isinstance(item, Else) and (last is None or last.condition is not None):
                cuts.append((item, []))
            else:
                cuts[-1][1].append(item)
        return [(start, self.settled(part)) for start, part in cuts]

    def _merged(self, index: int) -> list[Item]:
        """Take the frames from *index* on away: its items, and after them those of later ones that nothing closes."""
        first, *later = self._frames[index:]
        del self._frames[index:]
        for frame in later:
            if frame.opener and frame.opener.unclosed:
                self._open[frame.opener.key] -= 1
                first.items.extend(frame.opener.unclosed())
            first.items.extend(frame.items)
        return first.items

    def _shown(self, tag: Tag) -> str:
        text = self._source[tag.start : tag.end]
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 40


def text(content: str) -> Nodes:
    """*content* as nodes."""
    return (Text(content),) if content else ()
