"""The token budget: what is in the prompt, what it costs, and which parts of the story still fit.

The rule is the specification's (*Token budget*), to the letter: the base is the system prompt with lore and
summaries, the jailbreak, the user prompt and 100; base and reservations must be below ``limit``; parts are
taken from the newest back, each at its tokens and 100, as long as the total stays within ``limit - 256``; the
first that does not fit ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.errors import ValidationProblem
from marginalia.prompt.showing import budget_html
from marginalia.prompt.stages import MESSAGE_TOKENS
from marginalia.story.frames import frame
from marginalia.story.tree import StoryTree
from marginalia.values import Limits, PartId

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame

BASE_MARGIN = 100
SAFETY_MARGIN = 256
CONTEXT_TOO_SMALL = "Contextual limit not sufficient."


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One stretch of the context: what it is, how many tokens it takes, and where they come from."""

    kind: str
    label: str
    tokens: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What the prompt needs before any story: tokens of each piece.

    ``system`` is the whole rendered master template.
    """

    system: int = 0
    lore: int = 0
    summaries: int = 0
    jailbreak: int = 0
    user_lore: int = 0
    request: int = 0
    reserved: int = 0
    inserts: int = 0

    @property
    def base(self) -> int:
        """The specification's ``baseTokens``."""
        return self.system + self.jailbreak + self.user_lore + self.request + BASE_MARGIN

    @property
    def all_reserved(self) -> int:
        """What extensions and inserts take from the room for the story; a negative wish counts as none."""
        return max(0, self.reserved) + self.inserts


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Which parts were taken, oldest first, and why it ended.

    The total the first one left out would have made, and the room.
    """

    sent: tuple[PartId, ...] = ()
    story: int = 0
    needed: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The numbers of a prompt. All are tokens; ``story`` is the parts' own text, without the 100 each is charged.

    ``needed`` is what the newest part that did not fit would have made of the total, and the room there was;
    ``cut`` says why fewer parts are sent than would fit, where that is so. ``foreign`` is what listeners put into the
    messages; what they took out or changed is in no figure as it was, see :func:`marginalia.prompt.changed.as_sent`.
    ``counted`` names how tokens were counted, such as ``o200k_base x1.08`` or ``exact (llama.cpp /tokenize)``.
    """

    limits: Limits
    costs: Costs = Costs()
    story: int = 0
    sent_parts: int = 0
    branch_parts: int = 0
    needed: tuple[int, int] | None = None
    cut: str = ""
    counted: str = ""
    foreign: int = 0

    @property
    def limit(self) -> int:
        """What the prompt may have: context minus response."""
        return self.limits.prompt

    @property
    def base(self) -> int:
        """What is in use before reservations and story."""
        return self.costs.base

    @property
    def reserved(self) -> int:
        """What extensions and inserts reserved."""
        return self.costs.all_reserved

    @property
    def placeholders(self) -> int:
        """The 100 tokens that each part is charged beside its text."""
        return self.sent_parts * MESSAGE_TOKENS

    @property
    def used(self) -> int:
        """Everything that counts against the limit."""
        return self.base + self.reserved + self.story + self.placeholders + self.foreign

    @property
    def room(self) -> int:
        """How far parts may fill the prompt."""
        return max(0, self.limit - SAFETY_MARGIN)

    @property
    def free(self) -> int:
        """What another part could still use."""
        return max(0, self.room - self.used)

    @property
    def overflow(self) -> int:
        """How many tokens the base and the reservations are over the limit; 0 when they fit."""
        return max(0, self.base + self.reserved - self.limit + 1) if not self.fits else 0

    @property
    def fits(self) -> bool:
        """Whether the prompt can be sent at all."""
        return self.base + self.reserved < self.limit

    @property
    def shares(self) -> tuple[Share, ...]:
        """The context from its beginning to its end; together they are the whole context unless it overflows."""
        costs = self.costs
        own = max(0, costs.system - costs.lore - costs.summaries)
        safety = min(SAFETY_MARGIN, max(0, self.limit - self.used))
        rows = (
            ("jailbreak", "jailbreak", costs.jailbreak, "the provider's own instructions"),
            ("system", "system", own, "the master template"),
            ("lore", "lore", costs.lore, "entries in the master template"),
            ("summaries", "summaries", costs.summaries, "what stands for older parts"),
            ("story", "story", self.story, f"{self.sent_parts:,} of {self.branch_parts:,} parts"),
            ("placeholders", "per part", self.placeholders, "100 for each part that is sent"),
            ("inserts", "inserts", costs.inserts, "notes, and lore at a depth"),
            ("reserve", "reserve", max(0, costs.reserved), "kept free for extensions"),
            ("foreign", "by extensions", self.foreign, "messages that a listener put in or changed"),
            ("user_lore", "lore before the request", costs.user_lore, "entries before the user prompt"),
            ("request", "request", costs.request, "the turn, rendered"),
            ("margin", "margin", BASE_MARGIN, "kept for the frame of the messages"),
            ("safety", "safety", safety, "kept free, counts are never exact"),
            ("response", "answer", self.limits.response, "kept for what the model writes"),
            ("free", "free", self.free, "another part could use it"),
        )
        return tuple(
            Share(kind=kind, label=label, tokens=tokens, detail=detail)
            for kind, label, tokens, detail in rows
        )

    @property
    def frame(self) -> DataFrame:
        """The context by share, from its beginning to its end, as a table."""
        rows = ((each.kind, each.label, each.tokens, each.detail) for each in self.shares)
        return frame(rows, "kind", "label", "tokens", "detail")

    def _repr_html_(self) -> str:
        return budget_html(self)


def budget_of(shares: Sequence[Share], limits: Limits, tokens: int) -> Budget:
    """The budget that had these *shares*; without any, one whose request has all *tokens*."""
    size = {share.kind: share.tokens for share in shares}
    if not size:
        return Budget(limits=limits, costs=Costs(request=max(0, tokens - BASE_MARGIN)))
    costs = Costs(
        system=size.get("system", 0) + size.get("lore", 0) + size.get("summaries", 0),
        lore=size.get("lore", 0),
        summaries=size.get("summaries", 0),
        jailbreak=size.get("jailbreak", 0),
        user_lore=size.get("user_lore", 0),
        request=size.get("request", 0),
        inserts=size.get("inserts", 0),
        reserved=size.get("reserve", 0),
    )
    parts = size.get("placeholders", 0) // MESSAGE_TOKENS
    return Budget(
        limits=limits, costs=costs, story=size.get("story", 0), sent_parts=parts, branch_parts=parts,
        foreign=size.get("foreign", 0),
    )  # fmt: skip


class ContextTooSmall(ValidationProblem):
    """The context cannot hold even the base of the prompt. ``budget`` has the numbers."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(CONTEXT_TOO_SMALL)
        self.budget = budget


def choose_parts(
    tree: StoryTree, branch: Sequence[PartId], stop: PartId | None, start: int, limits: Limits
) -> Cut:
    """Take parts of *branch* from its end back to *stop* (not included) while they fit, beginning at *start* tokens.

    Blank parts are passed over and cost nothing (spec/semantics.md, B1 52). The stored counts are used (B1
    53).
    """
    room = limits.prompt - SAFETY_MARGIN
    total, story, sent = start, 0, list[PartId]()
    for part in reversed(branch):
        if part == stop:
            break
        node = tree[part]
        if node.blank:
            continue
        with_it = total + node.tokens + MESSAGE_TOKENS
        if with_it > room:
            return Cut(sent=tuple(reversed(sent)), story=story, needed=(with_it, max(0, room)))
        total, story = with_it, story + node.tokens
        sent.append(part)
    return Cut(sent=tuple(reversed(sent)), story=story)
