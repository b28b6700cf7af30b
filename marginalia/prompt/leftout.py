"""What did not fit into a prompt, and how much more room each of it would need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from marginalia.prompt.segments import PartFate, Prompt
from marginalia.prompt.stages import MESSAGE_TOKENS

_LOOKED_AT = 2_000
"""Entries of a larger lorebook are not all asked why they are out: most of those words would never be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that is not in the prompt for want of room.

    ``tokens`` are its own, ``needs`` is how many more tokens of room would bring it in, counted with everything that
    would have to come in before it; 0 where that is not known. ``reason`` is a clause.
    """

    name: str
    tokens: int
    needs: int
    reason: str


def missing(prompt: Prompt, most: int = 50) -> tuple[Missing, ...]:
    """The parts that were left out, newest first, and the entries that lost to the lore budget; *most* of each."""
    return (*islice(_parts(prompt), most), *islice(_entries(prompt), most))


def _parts(prompt: Prompt) -> Iterator[Missing]:
    history, budget = prompt.history, prompt.budget
    needs = budget.used - budget.room
    for at in range(len(history) - 1, -1, -1):
        verdict = history[at]
        if verdict.fate is PartFate.SUMMARISED:
            return
        if verdict.fate is PartFate.LEFT_OUT:
            needs += verdict.tokens + MESSAGE_TOKENS
            yield Missing(
                name=f"part {verdict.number}",
                tokens=verdict.tokens,
                needs=max(0, needs),
                reason=verdict.reason,
            )


def _entries(prompt: Prompt) -> Iterator[Missing]:
    for verdict in prompt.lore[:_LOOKED_AT]:
        if verdict.active or not verdict.nearly:
            continue
        gate = next((gate for gate in verdict.gates if gate.name == "budget" and not gate.passed), None)
        if gate is not None:
            yield Missing(name=verdict.entry.name, tokens=verdict.tokens, needs=0, reason=gate.text)
