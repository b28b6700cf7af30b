"""What did not fit into a prompt, and how much more room each of it would need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from marginalia.prompt.segments import PartFate, Prompt
from marginalia.prompt.stages import MESSAGE_TOKENS

if TYPE_CHECKING:
    from marginalia.prompt.receipt import Receipt

_PART = re.compile(r"part \d+")
_LOOKED_AT = 2_000
"""Entries of a larger lorebook are not all asked why they are out: most of those words would never be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that is not in the prompt for want of room.

    ``tokens`` are its own, ``needs`` is how many more tokens of room would bring it in, counted with everything that
    would have to come in before it; 0 where that is not known, or where more room would not bring it in. ``reason`` is
    a clause.
    """

    name: str
    tokens: int
    needs: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What did not fit: the first of it, and how many ``parts`` and ``entries`` there are in all."""

    first: tuple[Missing, ...] = ()
    parts: int = 0
    entries: int = 0

    @property
    def text(self) -> str:
        """How much it is, in words: ``276 parts and 1 entry of lore``; empty when nothing was left out."""
        told = (
            _counted(self.parts, "part", "parts"),
            _counted(self.entries, "entry of lore", "entries of lore"),
        )
        return " and ".join(filter(None, told))

    @property
    def more(self) -> int:
        """How many are not among the first."""
        return max(0, self.parts + self.entries - len(self.first))


NOTHING_LEFT_OUT = LeftOut()


def left_out(prompt: Prompt, most: int = 50) -> LeftOut:
    """Everything that did not fit; at most *most* parts and *most* entries are described."""
    parts, entries = tuple(islice(_parts(prompt), most)), tuple(_entries(prompt))
    many = prompt.history.left_out if len(parts) == most else len(parts)
    return LeftOut(first=(*parts, *entries[:most]), parts=many, entries=len(entries))


def left_out_then(receipt: Receipt) -> LeftOut:
    """What had not fit when a part was written, as far as its receipt keeps it."""
    first = receipt.missing
    parts = len(list(takewhile(lambda each: _PART.fullmatch(each.name), first[: receipt.left_out])))
    return LeftOut(first=first, parts=max(parts, receipt.left_out), entries=len(first) - parts)


def missing(prompt: Prompt, most: int = 50) -> tuple[Missing, ...]:
    """The parts that were left out, newest first, and the entries that lost to the lore budget; *most* of each."""
    return left_out(prompt, most).first


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}" if number else ""


def _parts(prompt: Prompt) -> Iterator[Missing]:
    history, budget = prompt.history, prompt.budget
    for_room = history.needed is not None and not history.cut
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
                needs=max(0, needs) if for_room else 0,
                reason=verdict.reason,
            )


def _entries(prompt: Prompt) -> Iterator[Missing]:
    for verdict in prompt.lore[:_LOOKED_AT]:
        if verdict.active or not verdict.nearly:
            continue
        gate = next((gate for gate in verdict.gates if gate.name == "budget" and not gate.passed), None)
        if gate is not None:
            yield Missing(name=verdict.entry.name, tokens=verdict.tokens, needs=0, reason=gate.text)
