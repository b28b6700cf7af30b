"""The stable layout: a prompt whose beginning stays equal from turn to turn, so that a server's cache stays warm.

Off by default; the specification's layout is the default. With it on,

* lore that comes and goes stands before the request, behind the story; lore that is always in stays where it is,
* old parts leave in blocks: the story begins at the same part for many turns, then moves on by up to half of what
  it may have.

Both are pure functions of what the steps found, so a preview and its generation agree, and a swipe sees what the part
beside it saw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from marginalia.lore.book import Entry, Match, When
from marginalia.prompt.budget import SAFETY_MARGIN, Budget
from marginalia.prompt.payload import SEPARATOR
from marginalia.prompt.stages import MESSAGE_TOKENS, Lore, Passage, Placed
from marginalia.story.tree import StoryTree
from marginalia.story.weighed import WeighedTree
from marginalia.values import PartId

STABLE = "stable_layout"
"""The key in a book's ``settings`` that turns it on."""
_STEPS = 4


def is_stable(settings: Mapping[str, Any]) -> bool:
    """Whether a book wants the stable layout."""
    return settings.get(STABLE) is True


def comes_and_goes(entry: Entry) -> bool:
    """Whether an entry depends on what is asked, on the story, or on chance: whether it may be out next turn."""
    if entry.when.always and not entry.scope.recursion_level:
        return False
    called = entry.filter is not None or entry.match != Match()
    waits = entry.scope.only_recursive or entry.scope.recursion_level > 0
    return called or waits or entry.when != When()


def late(lore: Lore) -> Lore:
    """*lore* with what comes and goes moved from the master template's block to behind what goes before the request."""
    entries: dict[int, Entry] = {each.entry.id: each.entry for each in lore.verdicts if each.active}
    moving = [
        each for each in lore.placed if each.entry_id in entries and comes_and_goes(entries[each.entry_id])
    ]
    if not moving or lore.background is None:
        return lore
    staying = [each for each in lore.placed if each not in moving]
    background, placed = _block(lore.background, staying)
    later, placed_later = _block(lore.background, moving)
    before = lore.before_user + SEPARATOR if lore.before_user else ""
    shifted = (
        replace(each, start=each.start + len(before), end=each.end + len(before)) for each in placed_later
    )
    return replace(
        lore,
        background=background,
        placed=placed,
        before_user=before + later,
        placed_before_user=(*lore.placed_before_user, *shifted),
    )


def in_front(user_prompt: str, old: Lore, new: Lore, count: Callable[[str], int]) -> tuple[str, int]:
    """The user prompt with *new*'s lore before it in the place of *old*'s, and its tokens, counted apart (B1 47)."""
    bare = user_prompt.removeprefix(old.before_user + SEPARATOR) if old.before_user else user_prompt
    if not new.before_user:
        return bare, count(bare)
    return new.before_user + SEPARATOR + bare, count(new.before_user) + count(bare)


def in_blocks(
    chronicle: Sequence[Passage],
    budget: Budget,
    tree: StoryTree,
    branch: Sequence[PartId],
    stop: PartId | None,
) -> tuple[tuple[Passage, ...], Budget]:
    """*chronicle*, beginning at the border of a block, and the budget of that.

    Blocks are counted in charged tokens from the first part after *stop*, the newest one that a summary stands for, and
    by the counts that parts were stored with: a better estimate of them must not move the borders. A story that fits
    whole is left alone, and so is one that a listener made up.
    """
    first = next((each.part for each in chronicle if each.part is not None), None)
    if budget.needed is None or first is None:
        return tuple(chronicle), budget
    stored = tree.stored if isinstance(tree, WeighedTree) else tree
    charged = _charged(stored, branch[-1], stop)
    before = charged.get(first)
    if before is None:
        return tuple(chronicle), budget
    block = _block_size(budget)
    border = -(-before // block) * block
    kept = tuple(
        each for each in chronicle if each.part is None or _ends_behind(each.part, border, charged, stored)
    )
    if len(kept) == len(chronicle) or all(each.part is None for each in kept):
        return tuple(chronicle), budget
    return kept, _recounted(budget, kept, tree, "old parts leave in blocks, the book has a stable layout")


def newest(
    chronicle: Sequence[Passage], budget: Budget, tree: StoryTree, most: int
) -> tuple[tuple[Passage, ...], Budget]:
    """At most *most* of the newest passages, and the budget of that."""
    if len(chronicle) <= most:
        return tuple(chronicle), budget
    kept = chronicle[len(chronicle) - most :]
    return tuple(kept), _recounted(budget, kept, tree, f"at most {most:,} were asked for")


def _recounted(budget: Budget, kept: Sequence[Passage], tree: StoryTree, cut: str) -> Budget:
    story = sum(tree[each.part].tokens for each in kept if each.part is not None)
    return replace(budget, story=story, sent_parts=len(kept), cut=cut)


def _ends_behind(part: PartId, border: int, charged: Mapping[PartId, int], tree: StoryTree) -> bool:
    """Whether a part reaches beyond *border*, so that it belongs to what begins there."""
    return charged.get(part, border) + tree[part].tokens + MESSAGE_TOKENS > border


@lru_cache(maxsize=8)
def _charged(tree: StoryTree, leaf: PartId, stop: PartId | None) -> Mapping[PartId, int]:
    """What all parts between *stop* and each part of a branch are charged; a tree never changes."""
    branch = tree.branch(leaf)
    charged: dict[PartId, int] = {}
    total = 0
    for part in branch[branch.index(stop) + 1 if stop is not None else 0 :]:
        node = tree[part]
        if not node.blank:
            charged[part] = total
            total += node.tokens + MESSAGE_TOKENS
    return charged


def _block_size(budget: Budget) -> int:
    """Two fifths to a half of the room for the story, on a coarse scale: 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ...

    A request that is a little longer must not move the borders.
    """
    room = budget.limit - SAFETY_MARGIN - budget.base - budget.reserved
    half = max(_STEPS, room // 2)
    step = 1 << (half.bit_length() - _STEPS.bit_length())
    return half // step * step


def _block(text: str, pieces: Sequence[Placed]) -> tuple[str, tuple[Placed, ...]]:
    """The *pieces* of a block of lore as a block of their own."""
    placed, at = list[Placed](), 0
    texts = [text[each.start : each.end] for each in pieces]
    for each, piece in zip(pieces, texts, strict=True):
        placed.append(replace(each, start=at, end=at + len(piece)))
        at += len(piece) + len(SEPARATOR)
    return SEPARATOR.join(texts), tuple(placed)
