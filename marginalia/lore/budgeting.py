"""Who stays when lore may have only so many tokens.

Entries that ignore the budget come first, then the ones that need no call (constants), then those that stick, then by
priority, then in order. What does not fit is cut and does not stop smaller ones that come after it; what fits exactly
is in. A reserve is room, never more than the entry needs, that nobody else can take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.lore.cases import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from marginalia.lore.cases import Case


@dataclass(slots=True, kw_only=True)
class _Purse:
    """A budget while it is given out.

    ``asked`` is what everybody so far needed, in or not; ``reserved`` what those who still come may keep for
    themselves.
    """

    whose: str
    limit: int
    left: int
    asked: int = 0
    reserved: int = 0
    most: int = 0
    taker: str = ""

    def pay(self, tokens: int, name: str) -> None:
        """Give *tokens* to the entry called *name*."""
        self.left = max(0, self.left - tokens)
        if tokens > self.most:
            self.most, self.taker = tokens, name


@dataclass(slots=True, kw_only=True)
class _Claim:
    case: Case
    tokens: int
    purses: Sequence[_Purse]
    hold: int = 0


def give_room(cases: Iterable[Case], budget: int, count: Callable[[str], int]) -> None:
    """Cut from the active *cases* what has no room in *budget* (0: no limit), its lorebook's, or its own maximum."""
    lore = _Purse(whose="all lore", limit=budget, left=budget) if budget > 0 else None
    books: dict[int, _Purse] = {}
    claims: list[_Claim] = []
    for case in sorted(cases, key=_rank):
        tokens = case.row.tokens(count)
        maximum = case.row.entry.budget.maximum
        if 0 < maximum < tokens:
            _cut(case, Cut(whose="this entry", tokens=tokens, left=maximum, limit=maximum, enough=tokens))
        elif tokens:
            purses = [purse for purse in (lore, _book_purse(case, books)) if purse]
            claims.append(_Claim(case=case, tokens=tokens, purses=purses))
    for claim in claims:
        _hold(claim)
    for claim in claims:
        _settle(claim)


def _rank(case: Case) -> tuple[int, int, int]:
    entry = case.row.entry
    if entry.budget.ignore:
        kind = 0
    elif case.row.rests_called:
        kind = 1
    else:
        kind = 2 if case.sticky else 3
    return kind, -entry.budget.priority, case.index


def _book_purse(case: Case, books: dict[int, _Purse]) -> _Purse | None:
    book = case.row.candidate.lorebook
    limit = book.settings.token_budget
    if limit <= 0:
        return None
    return books.setdefault(id(book), _Purse(whose=f"the lorebook *{book.name}*", limit=limit, left=limit))


def _hold(claim: _Claim) -> None:
    reserve = min(claim.case.row.entry.budget.reserve, claim.tokens)
    claim.hold = max(0, min((reserve, *(purse.left for purse in claim.purses))))
    for purse in claim.purses:
        purse.left -= claim.hold
        purse.reserved += reserve


def _settle(claim: _Claim) -> None:
    reserve = min(claim.case.row.entry.budget.reserve, claim.tokens)
    for purse in claim.purses:
        purse.left += claim.hold
        purse.reserved -= reserve
    cuts = [] if claim.case.row.entry.budget.ignore else _shortages(claim)
    for purse in claim.purses:
        purse.asked += claim.tokens
        if not cuts:
            purse.pay(claim.tokens, claim.case.name)
    _cut(claim.case, *cuts)


def _shortages(claim: _Claim) -> list[Cut]:
    return [
        Cut(
            whose=purse.whose,
            tokens=claim.tokens,
            left=purse.left,
            limit=purse.limit,
            enough=purse.asked + claim.tokens + purse.reserved,
            taker=purse.taker,
        )
        for purse in claim.purses
        if claim.tokens > purse.left
    ]


def _cut(case: Case, *cuts: Cut) -> None:
    if cuts:
        case.cuts = cuts
        case.active = False
