from __future__ import annotations

from itertools import islice

from marginalia.lore.book import When
from marginalia.lore.replay import firings, replay
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from tests.lore.helpers import active, candidates, entry, text


def turns(*requests: str) -> list[Scan]:
    return [Scan(request=request, parts=parts) for parts, request in enumerate(requests)]


def test_a_replay_gives_the_verdicts_of_every_turn() -> None:
    given = candidates(entry("ash", filter=text("ash")), entry("always"))
    matrix = list(replay(given, turns("ash", "bell")))
    assert [active(each) for each in matrix] == [["ash", "always"], ["always"]]


def test_timed_effects_run_through_a_replay() -> None:
    given = candidates(entry("ash", filter=text("ash"), when=When(sticky=1, cooldown=1)))
    fired = [bool(active(each)) for each in replay(given, turns("ash", "", "ash", "ash", ""))]
    assert fired == [True, True, False, True, True]


def test_a_replay_begins_with_the_timing_of_its_first_turn() -> None:
    given = candidates(entry("ash", filter=text("ash"), when=When(sticky=2)))
    scans = [Scan(parts=5, timing=Timing(called={"ash": 4})), Scan(parts=6), Scan(parts=7)]
    assert [bool(active(each)) for each in replay(given, scans)] == [True, True, False]


def test_a_replay_can_be_left_at_any_turn() -> None:
    asked: list[int] = []

    def scans() -> list[Scan]:
        return [Scan(parts=number) for number in range(10)]

    stream = (asked.append(scan.parts) or scan for scan in scans())
    assert len(list(islice(replay(candidates(entry("a")), stream), 3))) == 3
    assert asked == [0, 1, 2]


def test_firings_tell_what_never_and_what_always_was_in() -> None:
    given = candidates(entry("ash", filter=text("ash")), entry("always"), entry("off", enabled=False))
    ash, always, off = firings(replay(given, turns("x", "ash", "ash")))
    assert (ash.at, ash.turns, ash.never, ash.always) == ((1, 2), 3, False, False)
    assert always.always
    assert off.never
    assert firings([]) == ()
