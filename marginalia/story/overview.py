"""The overview of the summaries of a branch: what each stands for, what it merged, and why it is stale if it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha512

from marginalia.story.parts import Summary
from marginalia.story.summaries import Block, collect_blocks
from marginalia.story.tree import StoryTree
from marginalia.values import PartId

_DIGITS = 12
SOURCES = "sources"
"""Under what a summary's ``extra`` keeps the fingerprints of the texts that it was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Why a summary is stale, as far as that is known: ``str()`` is a sentence for the writer.

    ``parts`` have (by edits, or because they came into the stretch) texts that it was not made from, ``numbers`` are
    their places on the branch; ``missing`` counts texts that it was made from and that are gone.
    """

    parts: tuple[PartId, ...] = ()
    numbers: tuple[int, ...] = ()
    missing: int = 0

    def __str__(self) -> str:
        if not self.parts and not self.missing:
            return "The story under it was changed since it was written."
        said: list[str] = []
        if self.parts:
            listed = ", ".join(str(number) for number in self.numbers)
            said.append(f"Part {listed} is" if len(self.parts) == 1 else f"Parts {listed} are")
            said[-1] += " not what it was made from."
        if self.missing:
            said.append(
                f"{self.missing} of the texts that it was made from {'is' if self.missing == 1 else 'are'} gone."
            )
        return " ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryNode:
    """A summary in the overview.

    ``number`` is the place of its part on the branch, counted from 1; ``parts`` are what it stands for, newest first,
    and ``story_tokens`` what they would cost in full. A meta summary has what it merged as ``children``, oldest first;
    the one that it took the place of is the last and ``replaced``. ``stale`` is told for summaries in use alone.
    """

    summary: Summary
    number: int
    parts: tuple[PartId, ...]
    story_tokens: int
    replaced: bool = False
    stale: Stale | None = None
    children: tuple[SummaryNode, ...] = ()


def overview(
    tree: StoryTree,
    branch: Sequence[PartId],
    on: Mapping[PartId, Summary],
    stale: Mapping[PartId, Stale],
) -> tuple[SummaryNode, ...]:
    """The summaries in use on *branch*, oldest first; *stale* says why, by the part of the summary."""
    places = {part: number for number, part in enumerate(branch, 1)}
    blocks = reversed(collect_blocks(branch, on))
    return tuple(
        _node(tree, branch, on, places, block, stale=stale.get(block.summary.part_id)) for block in blocks
    )


def fingerprints(
    parts: Sequence[PartId], on: Mapping[PartId, Summary], texts: Mapping[PartId, str], *, meta: bool
) -> tuple[tuple[PartId, str], ...]:
    """What a summary of *parts* (newest first) is made from, piece by piece, each with the part that it belongs to."""
    found: list[tuple[PartId, str]] = []
    for index, part in enumerate(parts):
        found.append((part, _fingerprint(texts.get(part, ""))))
        if meta and index and part in on:
            found.append((part, _fingerprint(on[part].text)))
    return tuple(found)


def why_stale(
    block: Block, on: Mapping[PartId, Summary], texts: Mapping[PartId, str], branch: Sequence[PartId]
) -> Stale:
    """What differs between the stretch under a summary and what it was made from."""
    known: Sequence[str] = block.summary.extra.get(SOURCES, ())
    if not known:
        return Stale()
    left = Counter(known)
    changed: dict[PartId, None] = {}
    for part, print_ in fingerprints(block.parts, on, texts, meta=block.summary.meta):
        if left[print_] > 0:
            left[print_] -= 1
        else:
            changed[part] = None
    places = {part: number for number, part in enumerate(branch, 1)}
    parts = tuple(sorted(changed, key=lambda part: places.get(part, 0)))
    gone = max(left.total() - len(changed), 0)
    return Stale(parts=parts, numbers=tuple(places.get(part, 0) for part in parts), missing=gone)


def _node(
    tree: StoryTree,
    branch: Sequence[PartId],
    on: Mapping[PartId, Summary],
    places: Mapping[PartId, int],
    block: Block,
    *,
    replaced: bool = False,
    stale: Stale | None = None,
) -> SummaryNode:
    summary = block.summary
    children: list[SummaryNode] = []
    if summary.replaced is not None:
        inside = {**on, summary.part_id: summary.replaced}
        within = branch[: places[summary.part_id]]
        merged = [each for each in collect_blocks(within, inside) if set(each.parts) <= set(block.parts)]
        children = [
            _node(tree, branch, inside, places, each, replaced=each.summary.part_id == summary.part_id)
            for each in reversed(merged)
        ]
    return SummaryNode(
        summary=summary,
        number=places[summary.part_id],
        parts=block.parts,
        story_tokens=tree.sums(block.parts).tokens,
        replaced=replaced,
        stale=stale,
        children=tuple(children),
    )


def _fingerprint(text: str) -> str:
    return sha512(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
