"""The outline of a branch, row by row, and what a stretch of the story amounts to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from marginalia.story.parts import Summary
from marginalia.story.tree import Node, StoryTree
from marginalia.values import PartId

_HEADING = re.compile(r"(#{1,6})\s+(?P<words>.*?)\s*#*")
_CLOSES = ".!?…:;,\"'”\u2019»"
_SHORT = 40
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part in the outline.

    ``number`` is its place on the branch and ``version`` which of ``versions`` siblings it is, both counted from 1.
    ``words`` are its heading or its first words, on one line. ``summary`` is the text of the summary that hangs on it;
    a ``covered`` part stands in the prompt only through one.
    """

    part: PartId
    number: int
    words: str
    heading: bool
    version: int
    versions: int
    tokens: int
    summary: str = ""
    covered: bool = False
    partial: bool = False
    bookmarked: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What some parts amount to."""

    parts: int = 0
    words: int = 0
    tokens: int = 0


def outline(
    tree: StoryTree,
    branch: Sequence[PartId],
    texts: Mapping[PartId, str],
    on: Mapping[PartId, Summary],
    *,
    start: int = 0,
    stop: int | None = None,
    represented: PartId | None = None,
) -> tuple[Row, ...]:
    """The rows *start* to *stop* (counted from 0) of *branch*; *texts* need only have those parts.

    *represented* is the newest part that a summary stands for, see :attr:`marginalia.story.summaries.Chain.stop`.
    """
    covered = branch.index(represented) if represented in branch else -1
    return tuple(
        _row(tree[branch[at]], tree, texts, on, number=at + 1, covered=at <= covered)
        for at in range(*slice(start, stop).indices(len(branch)))
    )


def first_words(text: str, most: int = 90) -> tuple[str, bool]:
    """The heading that *text* begins with, or its first words up to *most* characters; and whether it is a heading.

    A heading is a Markdown one, or a short line with a blank line after it that does not end as a sentence does.
    """
    lines = text.strip().split("\n", 2)
    first = " ".join(lines[0].split())
    marked = _HEADING.fullmatch(first)
    if marked:
        return _cut(marked["words"], most), True
    alone = len(lines) > 1 and not lines[1].strip()
    if first and alone and len(first) <= _SHORT and first[-1] not in _CLOSES:
        return first, True
    return _cut(" ".join(text[: most * 4].split()), most), False


def count(tree: StoryTree, parts: Iterable[PartId] | None = None) -> Count:
    """How many parts, words and tokens some parts of a story have, or all of it."""
    sums = tree.sums(parts)
    return Count(parts=sums.parts, words=sums.words, tokens=sums.tokens)


def _row(
    node: Node,
    tree: StoryTree,
    texts: Mapping[PartId, str],
    on: Mapping[PartId, Summary],
    *,
    number: int,
    covered: bool,
) -> Row:
    words, heading = first_words(texts.get(node.id, ""))
    siblings = tree.siblings(node.id)
    return Row(
        part=node.id,
        number=number,
        words=words,
        heading=heading,
        version=siblings.index(node.id) + 1,
        versions=len(siblings),
        tokens=node.tokens,
        summary=on[node.id].text if node.id in on else "",
        covered=covered,
        partial=node.partial,
        bookmarked=node.bookmarked,
        label=node.label,
    )


def _cut(line: str, most: int) -> str:
    """*line*, or what of it fits, up to the end of a word where there is one."""
    if len(line) <= most:
        return line
    cut = line[: most + 1].rpartition(" ")[0] or line[:most]
    return f"{cut.rstrip()}{ELLIPSIS}"
