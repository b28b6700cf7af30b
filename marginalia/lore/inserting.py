"""Where the payloads of the active entries go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.lore.book import Insertion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.lore.verdicts import Verdict
    from marginalia.values import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthInsert:
    """Entries that stand in one message of their own, ``depth`` messages before the end (0: at the end)."""

    depth: int
    role: Role
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserts:
    """The active entries by place, each in the verdicts' order.

    ``at_depth`` is deepest first, roles in the order system, user, assistant. ``slots`` are by name, in order of
    appearance; a template fills them. An entry for a slot without a name goes into the lore block.
    """

    lore_block: tuple[Verdict, ...] = ()
    before_user_prompt: tuple[Verdict, ...] = ()
    at_depth: tuple[DepthInsert, ...] = ()
    slots: tuple[tuple[str, tuple[Verdict, ...]], ...] = ()


_ROLES: tuple[Role, ...] = ("system", "user", "assistant")


def inserts(verdicts: Iterable[Verdict]) -> Inserts:
    """Which active entries go where.

    Rendering their payloads, and leaving out those that render to nothing, is the caller's.
    """
    block: list[Verdict] = []
    before: list[Verdict] = []
    deep: dict[tuple[int, Role], list[Verdict]] = {}
    slots: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if not verdict.active:
            continue
        where, insertion = verdict.entry.where, verdict.entry.insertion
        if insertion is Insertion.BEFORE_USER_PROMPT:
            before.append(verdict)
        elif insertion is Insertion.DEPTH:
            deep.setdefault((max(0, where.depth), where.role), []).append(verdict)
        elif insertion is Insertion.SLOT and where.slot:
            slots.setdefault(where.slot, []).append(verdict)
        else:
            block.append(verdict)
    places = sorted(deep, key=lambda place: (-place[0], _ROLES.index(place[1])))
    return Inserts(
        lore_block=tuple(block),
        before_user_prompt=tuple(before),
        at_depth=tuple(DepthInsert(depth=at[0], role=at[1], verdicts=tuple(deep[at])) for at in places),
        slots=tuple((name, tuple(each)) for name, each in slots.items()),
    )
