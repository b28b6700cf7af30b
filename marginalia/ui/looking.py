"""What the inspector can look at: a part that was written already, a comparison, a part that is written once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.prompt.receipt import Receipt

if TYPE_CHECKING:
    from marginalia.prompt.diff import Diff
    from marginalia.prompt.segment import Sent
    from marginalia.values import PartId


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The prompt of a part that was written already: its number on the branch, and its receipt.

    ``None`` for a part written by hand.
    """

    part: PartId
    number: int
    receipt: Receipt | None

    @property
    def name(self) -> str:
        """What is shown, for people."""
        return f"What was sent for part {self.number}" if self.number else "What was sent for a part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is shown against something else; ``text`` says why there is nothing to compare."""

    title: str
    diff: Diff | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What writing a part once more would send, or why it cannot be; ``ready``: it can."""

    as_it_was: bool
    shown: Comparison
    ready: bool = False


def came_later(other: Sent, shown: Sent) -> bool:
    """Whether *other* was, or would be, sent after *shown*: what would be sent now is later than all that was."""
    if not isinstance(shown, Receipt):
        return False
    return not isinstance(other, Receipt) or other.created > shown.created
