"""Where every piece of a prompt came from: segments, verdicts on the parts of the branch, and the prompt itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, overload

from marginalia.prompt.diff import diff
from marginalia.prompt.segment import Segment, SegmentKind, segments_frame
from marginalia.prompt.showing import lore_html, prompt_html
from marginalia.story.frames import frame

if TYPE_CHECKING:
    from marginalia.lore.verdicts import Verdict
    from marginalia.prompt.budget import Budget
    from marginalia.prompt.context import Variables
    from marginalia.prompt.diff import Diff
    from marginalia.prompt.segment import Sent
    from marginalia.story.frames import DataFrame
    from marginalia.story.tree import StoryTree
    from marginalia.values import Limits, Message, PartId


__all__ = ["History", "LoreList", "PartFate", "PartVerdict", "Prompt", "Segment", "SegmentKind", "Trouble"]


class PartFate(StrEnum):
    """What became of a part of the branch."""

    SENT = "sent"
    SUMMARISED = "summarised"
    LEFT_OUT = "left out"
    REPLACED = "replaced"
    BLANK = "blank"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVerdict:
    """Whether a part of the branch is in the prompt, and why not. ``number`` counts from 1 at the first part."""

    part: PartId
    number: int
    tokens: int
    fate: PartFate
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Sequence[PartVerdict]):
    """The verdict on every part of the branch, oldest first.

    Made when it is looked at, so that a long branch costs nothing.

    ``sent`` are the parts in the prompt; the first ``covered`` parts of the branch are represented by
    summaries; ``replaced`` is the part that is written anew; ``needed`` is what the newest part that did not
    fit would have made of the total, and the room there was; ``cut`` why fewer are sent than would fit.
    """

    tree: StoryTree = field(repr=False)
    branch: tuple[PartId, ...] = field(default=(), repr=False)
    sent: frozenset[PartId] = frozenset()
    covered: int = 0
    replaced: PartId | None = None
    needed: tuple[int, int] | None = None
    cut: str = ""

    def __len__(self) -> int:
        return len(self.branch)

    @overload
    def __getitem__(self, index: int) -> PartVerdict: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PartVerdict, ...]: ...
    def __getitem__(self, index: int | slice) -> PartVerdict | tuple[PartVerdict, ...]:
        if isinstance(index, slice):
            return tuple(self._verdict(at) for at in range(*index.indices(len(self))))
        return self._verdict(range(len(self))[index])

    def __iter__(self) -> Iterator[PartVerdict]:
        return (self._verdict(at) for at in range(len(self)))

    @property
    def frame(self) -> DataFrame:
        """A row per part of the branch, oldest first."""
        rows = ((each.number, each.part, each.tokens, each.fate.value, each.reason) for each in self)
        return frame(rows, "number", "part", "tokens", "fate", "reason")

    @property
    def left_out(self) -> int:
        """How many of the oldest parts, behind the summaries, the budget left out."""
        return max(0, self._oldest_sent() - self.covered)

    def _oldest_sent(self) -> int:
        if self.sent:
            return next(at for at, part in enumerate(self.branch) if part in self.sent)
        return len(self.branch) - (self.replaced is not None)

    def _verdict(self, index: int) -> PartVerdict:
        part = self.branch[index]
        node = self.tree[part]
        fate, reason = self._fate(index, part, blank=node.blank)
        return PartVerdict(part=part, number=index + 1, tokens=node.tokens, fate=fate, reason=reason)

    def _fate(self, index: int, part: PartId, *, blank: bool) -> tuple[PartFate, str]:
        if part in self.sent:
            return PartFate.SENT, "sent as it is"
        if part == self.replaced:
            return PartFate.REPLACED, "this is the part that is written anew"
        if index < self.covered:
            return PartFate.SUMMARISED, "a summary stands for it"
        if blank:
            return PartFate.BLANK, "it has no text"
        return PartFate.LEFT_OUT, self._left_out_reason(index)

    def _left_out_reason(self, index: int) -> str:
        if self.cut:
            return self.cut
        if self.needed is None:
            return "an extension took it out"
        need, room = self.needed
        if self._is_newest_left_out(index):
            return f"{need:,} tokens would be in use with it, {room:,} may be: {need - room:,} too many"
        return "a newer part did not fit, and the story may have no gaps"

    def _is_newest_left_out(self, index: int) -> bool:
        after = index + 1
        while after < len(self.branch) and self.tree[self.branch[after]].blank:
            after += 1
        return (
            after >= len(self.branch)
            or self.branch[after] in self.sent
            or self.branch[after] == self.replaced
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that went wrong while the prompt was built and that the writer should know.

    The prompt stands all the same.
    """

    source: str
    text: str


class LoreList(tuple["Verdict", ...]):
    """The verdicts of a prompt; in a notebook they show themselves as a table."""

    __slots__ = ()

    @property
    def frame(self) -> DataFrame:
        """A row per entry, in the order of the verdicts."""
        rows = (
            (
                each.entry.name,
                each.lorebook,
                each.active,
                each.nearly,
                each.reason,
                each.tokens,
                each.entry.ordinal,
            )
            for each in self
        )
        return frame(rows, "entry", "lorebook", "active", "nearly", "reason", "tokens", "ordinal")

    def _repr_html_(self) -> str:
        return lore_html(self)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What a model is sent, and why: the result of steps 1 to 5, the same for preview, replay and generation."""

    messages: tuple[Message, ...]
    segments: tuple[Segment, ...]
    lore: LoreList
    history: History
    budget: Budget
    variables: Variables
    problems: tuple[Trouble, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lore", LoreList(self.lore))

    @cached_property
    def text(self) -> str:
        """The whole prompt as one readable text."""
        return "\n\n".join(f"[{each.role}]\n{each.content}" for each in self.messages)

    @property
    def active_lore(self) -> tuple[Verdict, ...]:
        """The verdicts of the entries that are in."""
        return tuple(verdict for verdict in self.lore if verdict.active)

    @property
    def limits(self) -> Limits:
        """The limits it was built for."""
        return self.budget.limits

    def why_not_entry(self, entry: int) -> str:
        """Why a lore entry is not in it; empty when its lorebook is not the book's any more."""
        return next((verdict.reason for verdict in self.lore if verdict.entry.id == entry), "")

    def why_not_part(self, part: int) -> str:
        """Why a part is not in it; empty for one that is not on its branch."""
        at = next((at for at, each in enumerate(self.history.branch) if each == part), None)
        if at is None:
            return ""
        verdict = self.history[at]
        for_budget = verdict.fate is PartFate.LEFT_OUT and not self.history.cut
        return f"budget: {verdict.reason}" if for_budget else verdict.reason

    @property
    def frame(self) -> DataFrame:
        """A row per segment; ``start`` and ``end`` are places in the content of the message with that number."""
        return segments_frame(self)

    def diff(self, older: Sent) -> Diff:
        """What is different here from *older*, another prompt or the receipt of a part, with causes."""
        return diff(older, self)

    def _repr_html_(self) -> str:
        return prompt_html(self)

    def _repr_markdown_(self) -> str:
        return "\n\n".join(f"**{each.role}**\n\n{each.content}" for each in self.messages)
