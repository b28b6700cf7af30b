"""Chance, part counts, sticky entries and cooldowns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from marginalia.lore.activation import activate
from marginalia.lore.book import When
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from tests.lore.helpers import active, any_of, candidates, entry, text, verdict

if TYPE_CHECKING:
    from marginalia.lore.book import Entry


def story(only: Entry, requests: list[str], **scan: Any) -> list[bool]:
    """Whether the entry is in, turn after turn, with the state kept as JSON in between."""
    given = candidates(only)
    state: dict[str, int] = {}
    fired: list[bool] = []
    for parts, request in enumerate(requests):
        timing = Timing.of(json.loads(json.dumps(state)))
        found = activate(given, Scan(request=request, parts=parts, timing=timing, **scan))
        fired.append(found[0].active)
        state = timing.next_state(found, parts)
    return fired


@pytest.mark.parametrize(("chance", "expected"), [(0, 0), (100, 1_000), (1, 10), (99, 990), (30, 300)])
def test_chance_is_as_often_as_it_says(chance: float, expected: int) -> None:
    given = candidates(entry("maybe", when=When(chance=chance)))
    times = sum(activate(given, Scan(seed=seed))[0].active for seed in range(1_000))
    assert abs(times - expected) <= (0 if chance in {0, 100} else 45)


def test_chance_is_drawn_once_for_entry_and_turn_and_told() -> None:
    one = entry("one", when=When(chance=50))
    draws = {verdict(one, seed=7, request=said).active for said in ("a", "b", "c")}
    assert len(draws) == 1
    missed = verdict(entry("two", when=When(chance=0.5)), seed=1)
    assert missed.reason.startswith("Chance 0.5 %, drew ")
    both = candidates(*(entry(f"e{number}", when=When(chance=50)) for number in range(64)))
    assert 0 < len(active(activate(both, Scan(seed=3)))) < 64


def test_what_was_drawn_agrees_with_what_is_told() -> None:
    given = candidates(*(entry(f"e{number}", when=When(chance=30)) for number in range(200)))
    for found in activate(given, Scan(seed=11)):
        drew = int(found.gates[-1].text.rsplit(" ", 1)[1])
        assert (drew < 30) is found.active


def test_an_entry_waits_until_there_are_enough_parts() -> None:
    late = entry(when=When(after=2))
    assert story(late, ["", "", "", ""]) == [False, False, True, True]
    assert verdict(late, parts=1).reason == "It waits for part 3, the next one is 2."


def test_an_entry_that_comes_every_few_parts() -> None:
    assert story(entry(when=When(every=3)), [""] * 7) == [True, False, False, True, False, False, True]


def test_a_sticky_entry_stays_for_so_many_further_parts() -> None:
    sticky = entry(filter=text("ash"), when=When(sticky=2))
    assert story(sticky, ["", "ash", "", "", "", "ash", ""]) == [False, True, True, True, False, True, True]


def test_a_sticky_entry_is_not_started_again_while_it_sticks() -> None:
    sticky = entry(filter=text("ash"), when=When(sticky=2))
    assert story(sticky, ["ash", "ash", "ash", "", ""]) == [True, True, True, False, False]


def test_after_its_call_an_entry_rests() -> None:
    rests = entry(filter=text("ash"), when=When(cooldown=2))
    assert story(rests, ["ash"] * 6) == [True, False, False, True, False, False]


def test_the_rest_begins_when_the_entry_no_longer_sticks() -> None:
    both = entry(filter=text("ash"), when=When(sticky=1, cooldown=2))
    assert story(both, ["ash", "", "ash", "ash", "ash"]) == [True, True, False, False, True]


def test_a_sticky_entry_does_not_draw_again() -> None:
    for seed in range(40):
        lucky = entry(match=any_of("ash"), when=When(sticky=3, chance=20))
        first, *others = story(lucky, ["ash", "", "", ""], seed=seed)
        assert all(others) if first else not any(others)


def test_the_verdict_says_that_an_entry_sticks_or_rests() -> None:
    timed = entry("Ash", filter=text("ash"), when=When(sticky=2, cooldown=3))
    called = Timing(called={"Ash": 4})
    assert verdict(timed, parts=5, timing=called).reason == "It sticks for 2 parts and was called 1 part ago."
    rests = verdict(timed, parts=7, timing=called, request="ash")
    assert rests.reason == "It rests for 3 more parts."
    assert rests.nearly
    assert verdict(timed, parts=9, timing=called, request="ash").reason == "It rests for 1 more part."
    assert verdict(timed, parts=10, timing=called, request="ash").active


def test_a_swipe_or_a_regeneration_starts_from_the_parents_state() -> None:
    timed = candidates(entry("Ash", filter=text("ash"), when=When(cooldown=5)))
    scan = Scan(request="ash", parts=3, timing=Timing())
    first = activate(timed, scan)
    assert activate(timed, scan) == first
    assert first[0].active


def test_an_edit_of_the_entry_does_not_orphan_its_state() -> None:
    before = Timing.of({"Ash": 4})
    edited = entry("Ash", payload="new words", ordinal=3, filter=text("ash"), when=When(sticky=9))
    assert verdict(edited, parts=10, timing=before).active


def test_state_from_the_future_or_of_another_shape_is_no_state() -> None:
    timed = entry("Ash", filter=text("ash"), when=When(cooldown=5, sticky=5))
    assert verdict(timed, parts=3, timing=Timing.of({"Ash": 7}), request="ash").active
    assert Timing.of({"Ash": "soon", "b": True, "c": 2}).called == {"c": 2}
    assert Timing.of(None).called == {}


def test_state_that_is_over_is_forgotten() -> None:
    timed = candidates(entry("Ash", filter=text("ash"), when=When(sticky=1, cooldown=1)), entry("plain"))
    timing = Timing(called={"Ash": 4, "gone": 1})
    assert timing.next_state(activate(timed, Scan(parts=5, timing=timing)), 5) == {"Ash": 4}
    assert timing.next_state(activate(timed, Scan(parts=6, timing=timing)), 6) == {}


def test_a_disabled_entry_does_not_stick() -> None:
    off = entry("Ash", enabled=False, when=When(sticky=5))
    assert not verdict(off, parts=5, timing=Timing(called={"Ash": 4})).active
