"""Dice and choices. What is random comes from the run's own source; a pick is the same every time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from random import Random

_DICE = re.compile(r"([0-9]{0,5})d([0-9]{1,7})(?:([+-])([0-9]{1,9}))?|([0-9]{1,7})", re.IGNORECASE)
_LONGEST = 64
_MOST_DICE = 1000
_MOST_SIDES = 1_000_000


def rolled(notation: str, random: Random) -> str:
    """The sum of ``2d6+3``, ``d20`` or ``6`` (one die); nothing when these are no dice.

    1 to 1,000 dice with 1 to 1,000,000 sides (specification: semantics B1 28).
    """
    match = _DICE.fullmatch("".join(notation.split())) if len(notation) <= _LONGEST else None
    if not match:
        return ""
    count = int(match[1]) if match[1] else 1
    sides = int(match[2] or match[5])
    if not (1 <= count <= _MOST_DICE and 1 <= sides <= _MOST_SIDES):
        return ""
    total = sum(random.randint(1, sides) for _ in range(count))
    extra = int(match[4] or 0)
    return str(total - extra if match[3] == "-" else total + extra)


def drawn(options: Sequence[str], random: Random) -> str:
    """One of *options*, any of them."""
    return options[random.randrange(len(options))] if options else ""


def picked(options: Sequence[str], *place: str | int) -> str:
    """One of *options*, always the same for the same *place* and options."""
    if not options:
        return ""
    key = "\x1f".join([*map(str, place), *options]).encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.sha256(key).digest()[:8], "big")
    return options[number % len(options)]
