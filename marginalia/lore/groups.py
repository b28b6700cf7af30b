"""Inclusion groups: of the entries of a group that are called together, one is in.

All groups are solved at once: the called entries are ranked, and one after the other is in when none of its groups has
somebody yet. So an entry that loses in one group does not keep another group empty, and a group that has somebody from
an earlier round keeps it. Chance has been drawn before: a group never falls silent because its winner was unlucky.
"""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING

from marginalia.lore.cases import Loss
from marginalia.lore.dice import draw
from marginalia.lore.timing import identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from marginalia.lore.cases import Case


class Groups:
    """Who is in, of every group, during one turn."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._taken: dict[str, Case] = {}

    def admit(self, called: Sequence[Case]) -> list[Case]:
        """Those of *called* that are in; the others are told what they lost to."""
        members = [case for case in called if case.row.entry.when.groups]
        if members:
            self._score(members)
            for case in sorted((case for case in members if case.lost is None), key=self._rank):
                self._take(case)
        return [case for case in called if case.lost is None]

    @staticmethod
    def _score(members: Iterable[Case]) -> None:
        best: dict[str, Case] = {}
        for case in members:
            for group in case.row.entry.when.groups:
                if group not in best or case.score > best[group].score:
                    best[group] = case
        for case in members:
            when = case.row.entry.when
            if not when.group_scoring or case.sticky:
                continue
            better = next((group for group in when.groups if best[group].score > case.score), None)
            if better is not None:
                winner = best[better]
                why = f"{winner.score} of its keys are there, of this one's {case.score}"
                case.lost = Loss(group=better, winner=winner.name, why=why)

    def _rank(self, case: Case) -> tuple[bool, bool, int, float, int]:
        when = case.row.entry.when
        first = -case.row.entry.ordinal if when.group_priority else 0
        return not case.sticky, not when.group_priority, first, self._arrival(case), case.index

    def _arrival(self, case: Case) -> float:
        """When the entry would arrive in a race in which each wins as often as its weight says."""
        weight = case.row.entry.when.group_weight
        return -log(1 - draw(self._seed, identity(case.row.entry), "group")) / weight if weight > 0 else inf

    def _take(self, case: Case) -> None:
        groups = case.row.entry.when.groups
        group = next((group for group in groups if group in self._taken), None)
        if group is None:
            self._taken.update(dict.fromkeys(groups, case))
            return
        winner = self._taken[group]
        case.lost = Loss(group=group, winner=winner.name, why=_why(winner, case))


def _why(winner: Case, loser: Case) -> str:
    if winner.sticky and not loser.sticky:
        return "that one is still in from before"
    if winner.depth < loser.depth:
        return "that one was called earlier"
    if winner.row.entry.when.group_priority:
        return "that one goes first"
    return f"the draw went that way, weight {winner.row.entry.when.group_weight} to {loser.row.entry.when.group_weight}"
