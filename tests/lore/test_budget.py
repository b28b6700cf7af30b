"""Who stays when lore may have only so many tokens; a word is a token here."""

from __future__ import annotations

from typing import Any

import pytest

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, EntryBudget, LoreSettings, Scope, When
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from tests.lore.helpers import active, any_of, candidates, entry, verdicts, words


def sized(name: str, tokens: int, **fields: Any) -> Entry:
    fields.setdefault("match", any_of("tower"))
    return entry(name, payload="w " * tokens, **fields)


def decided(*entries: Entry, budget: int, **scan: Any) -> list[str]:
    return active(verdicts(*entries, budget=budget, count=words, request="the tower", **scan))


def test_without_a_budget_everything_is_in() -> None:
    assert decided(sized("a", 900), sized("b", 900), budget=0) == ["a", "b"]


def test_an_exact_fit_is_in_and_one_token_more_is_not() -> None:
    assert decided(sized("a", 60), sized("b", 40), budget=100) == ["a", "b"]
    assert decided(sized("a", 60), sized("b", 41), budget=100) == ["a"]


def test_what_does_not_fit_does_not_stop_smaller_ones() -> None:
    assert decided(sized("small", 10), sized("big", 200), sized("tiny", 5), budget=50) == ["small", "tiny"]


def test_constants_come_first_whatever_their_order() -> None:
    tower = sized("A", 120, ordinal=1)
    constant = sized("B", 20, ordinal=300, match=any_of(), when=When(always=True))
    found = verdicts(tower, constant, budget=100, count=words, request="tower")
    assert active(found) == ["B"]
    assert found[0].reason == (
        "40 tokens too many: it has 120, 80 of 100 tokens for all lore are left (most went to *B*); "
        "with 140 in all it would fit."
    )
    assert found[0].nearly
    assert active(verdicts(tower, constant, budget=140, count=words, request="tower")) == ["A", "B"]


def test_an_entry_that_sticks_stays_before_called_ones() -> None:
    sticky = sized("S", 50, match=any_of("nothing"), when=When(sticky=3))
    keyed = [sized(f"k{number}", 40, ordinal=9) for number in range(3)]
    kept = decided(sticky, *keyed, budget=120, parts=2, timing=Timing(called={"S": 1}))
    assert kept == ["k0", "S"]


def test_priority_decides_who_stays_then_the_order() -> None:
    low, high = sized("low", 60, ordinal=1), sized("high", 60, ordinal=2, budget=EntryBudget(priority=5))
    assert decided(low, high, budget=100) == ["high"]
    assert decided(sized("first", 60, ordinal=1), sized("second", 60, ordinal=2), budget=100) == ["first"]


def test_an_entry_that_ignores_the_budget_is_in_and_still_counts() -> None:
    free = sized("free", 90, ordinal=300, budget=EntryBudget(ignore=True))
    assert decided(free, sized("a", 10, ordinal=1), sized("b", 11, ordinal=0), budget=100) == ["a", "free"]
    assert decided(sized("huge", 500, budget=EntryBudget(ignore=True)), budget=100) == ["huge"]


def test_a_reserve_is_room_that_nobody_else_takes() -> None:
    big, kept = sized("big", 80, ordinal=1), sized("kept", 40, ordinal=2, budget=EntryBudget(reserve=40))
    assert decided(big, kept, budget=100) == ["kept"]
    assert decided(big, sized("plain", 40, ordinal=2), budget=100) == ["big"]


def test_a_reserve_is_never_more_than_the_entry_needs() -> None:
    modest = sized("modest", 10, ordinal=2, budget=EntryBudget(reserve=1_000))
    assert decided(sized("big", 90, ordinal=1), modest, budget=100) == ["big", "modest"]


def test_an_entry_over_its_own_maximum_is_cut_and_says_so() -> None:
    found = verdicts(sized("long", 240, budget=EntryBudget(maximum=200)), count=words, request="tower")
    assert found[0].reason == "40 tokens too many: it has 240, and its own maximum is 200."


def test_a_lorebook_can_have_a_budget_of_its_own() -> None:
    given = candidates(sized("a", 60), sized("b", 60), settings=LoreSettings(token_budget=100))
    found = activate(given, Scan(request="tower", count=words))
    assert active(found) == ["a"]
    assert "40 of 100 tokens for the lorebook *World* are left" in found[1].reason


def test_an_entry_without_text_costs_nothing() -> None:
    assert decided(sized("full", 100), entry("blank", payload="  "), budget=100) == ["full", "blank"]


def test_lore_called_by_lore_that_did_not_fit_says_so() -> None:
    caller = entry("Ash", payload="warden " + "w " * 100, match=any_of("tower"))
    called = entry("Warden", payload="w", match=any_of("warden"), scope=Scope(recursive=True))
    found = verdicts(caller, called, request="tower", budget=50, count=words)
    assert active(found) == ["Warden"]
    assert found[1].reason == "*warden* is in the lore of *Ash*, although *Ash* itself did not fit."


@pytest.mark.parametrize("budget", [1, 50, 2_048])
def test_every_cut_is_told_with_its_tokens(budget: int) -> None:
    found = verdicts(
        *(sized(f"e{at}", 7 * at + 1) for at in range(9)), budget=budget, count=words, request="tower"
    )
    assert sum(each.tokens for each in found if each.active) <= budget
    for each in found:
        assert each.active or each.gates[-1].name == "budget"


def test_tokens_are_counted_for_every_entry_when_read() -> None:
    found = verdicts(sized("out", 5, enabled=False), sized("in", 7), request="tower", count=words)
    assert [each.tokens for each in found] == [5, 7]
