"""The pieces a prompt is collected from, as the steps hand them on: templates, inserts, lore, passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from marginalia.lore.verdicts import Verdict
from marginalia.values import NOTHING, PartId, Role, Syntax

MESSAGE_TOKENS = 100
"""What every message beside its text is charged in the budget (specification, *Token budget*)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The static template data of a book: templates not yet rendered, and the plain values they print.

    ``syntax`` is that of the master template, ``user_syntax`` that of the user prompt (``None``: the same).
    """

    jailbreak: str = ""
    master_template: str = ""
    user_prompt: str = ""
    pov: str = ""
    tense: str = ""
    style: str = ""
    syntax: Syntax = "macros"
    user_syntax: Syntax | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """A message that an extension or a lore entry wants in the payload: the budget counts it, the payload places it.

    ``depth`` counts messages from the end: 0 is after the request, 1 before it, 2 before the newest story
    part.
    """

    text: str
    owner: str
    role: Role = "system"
    depth: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of story or a summary on its way into the prompt, and the part it belongs to (``None``: made up)."""

    text: str
    part: PartId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A rendered lore payload and where it stands in its block: ``block[start:end]``."""

    entry_id: int
    name: str
    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lore:
    """The lore of a turn: the block for the master template, the block before the user prompt.

    A verdict on every entry.

    ``background`` is ``None`` for a book without lorebook, and empty when no entry is active. ``slots`` are
    the blocks that the master template prints by name.
    """

    background: str | None = None
    before_user: str = ""
    verdicts: tuple[Verdict, ...] = ()
    placed: tuple[Placed, ...] = ()
    placed_before_user: tuple[Placed, ...] = ()
    slots: Mapping[str, str] = NOTHING
