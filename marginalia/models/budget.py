"""The token budget as a page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import param

from marginalia.models.base import Model
from marginalia.prompt.segments import PartFate

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget, Share
    from marginalia.prompt.segments import Prompt


class TokenBudget(Model):
    """What a prompt costs, by kind, in tokens. ``shares`` stand in the order of the prompt."""

    context = param.Integer(
        default=0, bounds=(0, None), label="Context", doc="What the model takes in all; 0: unknown."
    )
    response = param.Integer(default=0, bounds=(0, None), label="Answer", doc="What is kept for the answer.")
    limit = param.Integer(default=0, label="Limit", doc="What the prompt may use.")
    used = param.Integer(default=0, bounds=(0, None), label="Used", doc="What the prompt uses.")
    free = param.Integer(default=0, bounds=(0, None), label="Free", doc="What is left over.")
    overflow = param.Integer(
        default=0, bounds=(0, None), label="Too many", doc="By how much it does not fit."
    )
    fits = param.Boolean(default=True, label="Fits", doc="Whether the prompt can be sent.")
    base = param.Integer(default=0, bounds=(0, None), label="Fixed", doc="What is sent whatever the story.")
    reserved = param.Integer(default=0, bounds=(0, None), label="Reserved", doc="What extensions keep.")
    story = param.Integer(
        default=0, bounds=(0, None), label="Story", doc="Tokens of the parts that are sent."
    )
    sent_parts = param.Integer(
        default=0, bounds=(0, None), label="Sent parts", doc="How many parts are sent."
    )
    branch_parts = param.Integer(default=0, bounds=(0, None), label="Parts", doc="How many the branch has.")
    left_out = param.Integer(default=0, bounds=(0, None), label="Left out", doc="How many parts did not fit.")
    shares: param.List[list[Share]] = param.List(
        default=[], label="Shares", doc="What takes how much: kind, label, tokens."
    )

    def take(self, prompt: Prompt) -> None:
        """Show the budget of *prompt*."""
        budget: Budget = prompt.budget
        self.param.update(
            context=budget.limits.context,
            response=budget.limits.response,
            limit=budget.limit,
            used=budget.used,
            free=max(0, budget.free),
            overflow=max(0, budget.overflow),
            fits=budget.fits,
            base=budget.base,
            reserved=budget.reserved,
            story=budget.story,
            sent_parts=budget.sent_parts,
            branch_parts=budget.branch_parts,
            left_out=_left_out(prompt),
            shares=list(budget.shares),
        )


def _left_out(prompt: Prompt) -> int:
    """How many parts did not fit: those between the summarised beginning and the first one sent."""
    if prompt.history.needed is None:
        return 0
    return sum(1 for each in prompt.history if each.fate is PartFate.LEFT_OUT)
