"""Inclusion groups: one of each group, by priority, score or weight."""

from __future__ import annotations

from collections import Counter

from marginalia.lore.activation import activate
from marginalia.lore.book import Match, Scope, When
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from tests.lore.helpers import active, any_of, candidates, entry, key, verdicts


def test_one_of_a_group_is_in_and_the_others_say_what_they_lost_to() -> None:
    found = verdicts(*(entry(f"e{number}", when=When(groups=("g",))) for number in range(4)), seed=5)
    (winner,) = active(found)
    for each in found:
        if not each.active:
            assert each.reason.startswith(
                f"It lost its group *g* to *{winner}*: the draw went that way, weight 100"
            )
            assert each.nearly


def test_weights_decide_how_often_each_is_the_one() -> None:
    light = entry("light", when=When(groups=("g",), group_weight=100))
    heavy = entry("heavy", when=When(groups=("g",), group_weight=300))
    never = entry("never", when=When(groups=("g",), group_weight=0))
    given = candidates(light, heavy, never)
    times = Counter(active(activate(given, Scan(seed=seed)))[0] for seed in range(2_000))
    assert 1_400 < times["heavy"] < 1_600
    assert times["never"] == 0


def test_priority_goes_first_and_the_higher_ordinal_among_equals() -> None:
    some = [entry(f"e{at}", ordinal=at, when=When(groups=("g",), group_priority=at > 1)) for at in range(4)]
    for seed in range(20):
        assert active(verdicts(*some, seed=seed)) == ["e3"]


def test_scoring_keeps_the_entry_with_most_keys() -> None:
    when = When(groups=("g",), group_scoring=True)
    one = entry("one", match=any_of("ash", "bell"), when=when)
    two = entry("two", match=any_of("ash", "crow"), when=when)
    found = verdicts(one, two, request="ash crow")
    assert active(found) == ["two"]
    assert found[0].reason == "It lost its group *g* to *two*: 2 of its keys are there, of this one's 1."


def test_an_entry_that_loses_in_two_groups_leaves_everybody_else_alone() -> None:
    first = entry("W1", when=When(groups=("g1",), group_priority=True))
    second = entry("W2", when=When(groups=("g2",), group_priority=True))
    loser = entry("L", when=When(groups=("g1", "g2")))
    assert active(verdicts(first, second, loser, entry("C", when=When(always=True)))) == ["W1", "W2", "C"]


def test_losing_in_one_group_does_not_leave_the_other_empty() -> None:
    both = entry("both", ordinal=1, when=When(groups=("g1", "g2"), group_priority=True))
    higher = entry("higher", ordinal=9, when=When(groups=("g2",), group_priority=True))
    only = entry("only", ordinal=0, when=When(groups=("g1",)))
    assert active(verdicts(both, higher, only)) == ["only", "higher"]


def test_a_group_that_has_somebody_keeps_it_through_recursion() -> None:
    first = entry("fire", match=any_of("fire"), payload="water", when=When(groups=("a", "b")))
    scope = Scope(recursive=True)
    second = entry("water", match=any_of("water"), scope=scope, when=When(groups=("a",), group_priority=True))
    found = verdicts(first, second, request="fire")
    assert active(found) == ["fire"]
    assert found[1].reason == "It lost its group *a* to *fire*: that one was called earlier."


def test_an_entry_that_sticks_keeps_its_group() -> None:
    only = Scope(only_recursive=True)
    sticky = entry("S", match=any_of("ash"), scope=only, when=When(groups=("g",), sticky=3))
    rival = entry("R", match=any_of("bell"), when=When(groups=("g",), group_priority=True))
    found = verdicts(sticky, rival, request="bell", parts=2, timing=Timing(called={"S": 1}))
    assert active(found) == ["S"]
    assert "still in from before" in found[1].reason


def test_a_group_does_not_fall_silent_because_its_winner_is_unlucky() -> None:
    unlucky = entry("unlucky", when=When(groups=("g",), group_priority=True, chance=0))
    assert active(verdicts(unlucky, entry("other", when=When(groups=("g",))))) == ["other"]


def test_the_draw_of_a_group_does_not_depend_on_unrelated_entries() -> None:
    group = [entry(f"e{number}", when=When(groups=("g",))) for number in range(5)]
    alone = active(verdicts(*group, seed=9))
    others = [entry(f"o{number}", match=Match(any=(key("ash"),))) for number in range(5)]
    assert active(verdicts(*others, *reversed(group), seed=9)) == alone
