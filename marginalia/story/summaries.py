"""Summaries: which stretch of the story each one stands for.

And whether that stretch is still what it was made from.

The rules are those of the specification (*Summaries*) and of spec/semantics.md, B1 58 to 68. All functions
are pure: they get the branch and the summary on each part, and say what is so.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha512

from marginalia.story.parts import Summary
from marginalia.story.tree import StoryTree
from marginalia.values import PartId, SummaryId

_REMEMBERED = 512
_OPEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of the branch that one summary stands for.

    ``parts`` are newest first, the summary hangs on the first.
    """

    summary: Summary
    parts: tuple[PartId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The summaries in use on a branch.

    Valid ``blocks``, newest first, and the summaries ``dropped`` because they are outdated.

    A meta summary that was unwound is listed, and the one it gave back too, if that was outdated as well.
    """

    blocks: tuple[Block, ...] = ()
    dropped: tuple[Summary, ...] = ()

    @property
    def stop(self) -> PartId | None:
        """The newest part that is represented by a summary, and with it everything before it."""
        return self.blocks[0].summary.part_id if self.blocks else None

    @property
    def dropped_parts(self) -> tuple[PartId, ...]:
        """The parts whose summaries were dropped, each once, newest first."""
        return tuple(dict.fromkeys(summary.part_id for summary in self.dropped))


def summaries_on(
    tree: StoryTree, branch: Sequence[PartId], summaries: Mapping[SummaryId, Summary]
) -> dict[PartId, Summary]:
    """The summary on each part of *branch* that has one."""
    if not summaries:
        return {}
    known = {part: summaries[id_] for part, id_ in tree.summarised().items() if id_ in summaries}
    return {part: known[part] for part in branch if part in known} if known else {}


def collect_blocks(branch: Sequence[PartId], on: Mapping[PartId, Summary]) -> tuple[Block, ...]:
    """The blocks of *branch*, newest first.

    A meta summary takes the place of the summaries it merged, which are passed over.
    """
    blocks: list[Block] = []
    at = len(branch) - 1
    while at >= 0:
        summary = on.get(branch[at])
        if summary is None:
            at -= 1
            continue
        end = _end_of_block(branch, on, at)
        blocks.append(Block(summary=summary, parts=tuple(reversed(branch[end : at + 1]))))
        at = end - 1
    return tuple(blocks)


def joined_summaries(blocks: Sequence[Block]) -> str:
    """The summaries of *blocks*, which come newest first, as templates print them: oldest first, on lines of their own.

    The source of the rule: B1 50.
    """
    return "\n".join(block.summary.text for block in reversed(blocks))


def _end_of_block(branch: Sequence[PartId], on: Mapping[PartId, Summary], at: int) -> int:
    """The index of the oldest part that the summary at index *at* stands for."""
    summary = on[branch[at]]
    while summary.meta:
        oldest = next((i for i in range(at - 1, -1, -1) if branch[i] == summary.oldest_id), None)
        if oldest is None or branch[oldest] not in on:
            break  # its end was deleted: as a plain stretch it cannot match its hash
        at, summary = oldest, on[branch[oldest]]
    end = at
    while end > 0 and branch[end - 1] not in on:
        end -= 1
    return end


def hash_of(
    parts: Sequence[PartId], on: Mapping[PartId, Summary], texts: Mapping[PartId, str], *, meta: bool
) -> str:
    """The hash of a stretch, newest part first.

    Its texts, and inside a meta summary the summaries below its first part.
    """
    digest = sha512()
    for index, part in enumerate(parts):
        digest.update(texts.get(part, "").encode("utf-8", "surrogatepass"))
        if meta and index and part in on:
            digest.update(on[part].text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Checked:
    """A chain, and the very objects it was made from: trees and summaries are new objects when something changes."""

    tree: StoryTree
    summaries: Mapping[SummaryId, Summary]
    leaf: PartId | None
    chain: Chain


class Verifier:
    """Checks chains, and remembers them while nothing changes, so that typing costs neither hashing nor long walks."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, str] = OrderedDict()
        self._chains: deque[_Checked] = deque(maxlen=_OPEN)

    def chain(
        self,
        tree: StoryTree,
        branch: Sequence[PartId],
        summaries: Mapping[SummaryId, Summary],
        texts: Callable[[Sequence[PartId]], Mapping[PartId, str]],
    ) -> Chain:
        """The valid blocks of *branch*.

        From the newest back, the first invalid one is dropped (a meta summary gives back what it replaced),
        the blocks are collected anew, and so on until all are valid (B1 59).
        """
        leaf = branch[-1] if branch else None
        for checked in self._chains:
            if checked.tree is tree and checked.summaries is summaries and checked.leaf == leaf:
                return checked.chain
        chain = self._checked(tree, branch, summaries, texts)
        self._chains.append(_Checked(tree, summaries, leaf, chain))
        return chain

    def _checked(
        self,
        tree: StoryTree,
        branch: Sequence[PartId],
        summaries: Mapping[SummaryId, Summary],
        texts: Callable[[Sequence[PartId]], Mapping[PartId, str]],
    ) -> Chain:
        on = summaries_on(tree, branch, summaries)
        dropped: list[Summary] = []
        while True:
            blocks = collect_blocks(branch, on)
            broken = next((block for block in blocks if not self.valid(block, on, tree, texts)), None)
            if broken is None:
                return Chain(blocks=blocks, dropped=tuple(dropped))
            dropped.append(broken.summary)
            part = broken.summary.part_id
            del on[part]
            if broken.summary.replaced is not None:
                on[part] = broken.summary.replaced

    def valid(
        self,
        block: Block,
        on: Mapping[PartId, Summary],
        tree: StoryTree,
        texts: Callable[[Sequence[PartId]], Mapping[PartId, str]],
    ) -> bool:
        """Whether the story under a summary is still what it was made from."""
        meta = block.summary.meta
        inner = tuple(on[part].text for part in block.parts[1:] if part in on) if meta else ()
        key = hash((meta, block.parts, tree.texts(block.parts), inner))
        known = self._known.get(key)
        if known is None:
            known = hash_of(block.parts, on, texts(block.parts), meta=meta)
            self._known[key] = known
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known == block.summary.source_hash


def merge_range(
    branch: Sequence[PartId], on: Mapping[PartId, Summary], newest: PartId, oldest: PartId
) -> tuple[Block, ...]:
    """The blocks that a meta summary from *newest* back to *oldest* merges, newest first; empty when that cannot be.

    Both ends must carry a summary on this branch, *oldest* must be older, and at least two blocks must lie in
    the range, which is widened to whole blocks (B1 67).
    """
    if newest not in on or oldest not in on or newest not in branch or oldest not in branch:
        return ()
    blocks = collect_blocks(branch, on)
    first = next((i for i, block in enumerate(blocks) if newest in block.parts), None)
    last = next((i for i, block in enumerate(blocks) if oldest in block.parts), None)
    if first is None or last is None or last <= first or blocks[first].summary.part_id != newest:
        return ()
    return blocks[first : last + 1]
