"""What is searched: the request, the story's end, memory, other lore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, LoreSettings, Match, Scope, When
from marginalia.lore.scan import Scan
from tests.lore.helpers import active, any_of, candidates, entry, expression, key, text, verdict, verdicts

STORY = ("Part three: the bell.", "Part two: the crow.", "Part one: Varro.")


class Shelf(Sequence[str]):
    """Texts that remember which of them were read."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self.read: list[int] = []

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        text_ = self._texts[index]
        self.read.append(index)
        return text_


def test_by_default_only_the_request_is_searched() -> None:
    found = verdict(entry(match=any_of("crow")), request="go", story=STORY, memory=("the crow",), parts=3)
    assert not found.active
    assert found.reason == "*crow* is in part 2, this entry looks at the request."
    assert found.nearly


@pytest.mark.parametrize(("parts", "is_in"), [(1, False), (2, True), (9, True)])
def test_the_last_parts_are_searched_as_far_as_the_entry_says(parts: int, *, is_in: bool) -> None:
    found = verdict(entry(match=any_of("crow"), scope=Scope(parts=parts)), story=STORY, parts=3)
    assert found.active is is_in
    if is_in:
        assert found.reason == "*crow* is in part 2."
        assert [(hit.source, STORY[1][hit.start : hit.end]) for hit in found.hits] == [("part 2", "crow")]
    else:
        assert found.reason == "*crow* is in part 2, this entry looks at the request and the last part."


def test_a_key_too_far_back_says_how_far() -> None:
    story = ("x" * 2_000, "y" * 134 + "Varro " + "z" * 134)
    far = entry(match=any_of("Varro"), scope=Scope(characters=1_000))
    assert (
        verdict(far, story=story, parts=2).reason
        == "*Varro* is 2,140 characters back, this entry looks at 1,000."
    )
    assert verdict(entry(match=any_of("Varro"), scope=Scope(characters=2_140)), story=story).active
    assert not verdict(entry(match=any_of("Varro"), scope=Scope(characters=2_139)), story=story).active


def test_characters_and_parts_both_limit() -> None:
    story = ("short", "the crow")
    assert verdict(entry(match=any_of("crow"), scope=Scope(parts=2, characters=100)), story=story).active
    assert not verdict(entry(match=any_of("crow"), scope=Scope(parts=1, characters=100)), story=story).active


def test_the_newest_place_within_reach_counts_for_expressions_too() -> None:
    story = ("a crow, " + "x" * 50 + " a crow",)
    near = entry(filter=expression("cr.w"), scope=Scope(request=False, characters=10))
    assert verdict(near, story=story).active
    assert verdict(near, story=story).hits[0].start == story[0].rindex("crow")


def test_a_lorebook_can_say_how_far_its_entries_look() -> None:
    given = candidates(entry("a", match=any_of("crow")), settings=LoreSettings(scan_parts=2))
    assert active(activate(given, Scan(story=STORY))) == ["a"]
    plain = candidates(entry("a", match=any_of("crow")))
    assert active(activate(plain, Scan(story=STORY, settings=LoreSettings(scan_parts=2)))) == ["a"]


def test_memory_is_searched_when_asked_for() -> None:
    found = verdict(entry(match=any_of("oath"), scope=Scope(memory=True)), memory=("an oath",))
    assert found.reason == "*oath* is in memory 1."


def test_a_filter_looks_where_the_scope_says_too() -> None:
    assert verdict(entry(filter=text("CROW"), scope=Scope(parts=2)), story=STORY).active


def test_an_entry_can_leave_the_request_out() -> None:
    only_story = entry(match=any_of("go"), scope=Scope(request=False, parts=1))
    assert verdict(only_story, request="go", story=STORY).reason == (
        "*go* is in the request, this entry looks at the last part."
    )


def test_the_story_is_read_only_as_far_as_anybody_looks() -> None:
    shelf = Shelf(*(f"part {number} " + "x" * 100 for number in range(100)))
    verdict(entry(match=any_of("crow"), scope=Scope(parts=3)), story=shelf, horizon=0)
    assert shelf.read == [0, 1, 2]
    lazily = Shelf("x" * 20_000, "never")
    verdict(entry(match=any_of("crow")), story=lazily, horizon=10_000)
    assert lazily.read == [0]


def recursive(name: str, word: str, payload: str, **fields: object) -> Entry:
    scope = fields.pop("scope", Scope(recursive=True))
    return entry(name, match=any_of(word), payload=payload, scope=scope, **fields)


def test_an_entry_is_called_by_other_lore_and_the_chain_is_named() -> None:
    ash = recursive("Ash", "ash", "Ash fears the Warden.")
    warden = recursive("Warden", "warden", "The Warden keeps the bell.")
    bell = recursive("Bell", "bell", "It rings.")
    found = verdicts(bell, warden, ash, request="ash")
    assert active(found) == ["Bell", "Warden", "Ash"]
    assert [each.chain for each in found] == [("Ash", "Warden"), ("Ash",), ()]
    assert found[0].reason == "*bell* is in the lore of *Warden*."
    assert found[0].hits[0].source == "lore: Warden"


def test_an_entry_that_is_not_recursive_is_not_called_by_lore() -> None:
    found = verdicts(
        recursive("Ash", "ash", "the warden"), entry("Warden", match=any_of("warden")), request="ash"
    )
    assert active(found) == ["Ash"]
    assert found[1].reason == "*warden* is in the lore of *Ash*, this entry looks at the request."


def test_an_entry_whose_text_calls_nobody() -> None:
    silent = recursive("Ash", "ash", "the warden", scope=Scope(calls_others=False))
    assert active(verdicts(silent, recursive("Warden", "warden", ""), request="ash")) == ["Ash"]


def test_an_entry_that_only_lore_may_call() -> None:
    only = recursive("Warden", "warden", "", scope=Scope(only_recursive=True))
    assert active(verdicts(only, request="warden")) == []
    assert active(verdicts(only, entry("Ash", payload="the warden"), request="")) == ["Warden", "Ash"]
    bare = entry("bare", scope=Scope(only_recursive=True), payload="")
    assert verdict(bare).reason == "Only other lore may call it, and none does."
    assert active(verdicts(bare, entry("Ash", payload="anything"))) == ["bare", "Ash"]


def test_an_entry_that_no_lore_may_call_is_out_where_all_others_are_called() -> None:
    barred = entry("Warden", match=any_of("warden"), scope=Scope(no_recursion=True))
    given = candidates(entry("Ash", payload="the warden"), barred, settings=LoreSettings(recursive=True))
    found = activate(given, Scan())
    assert active(found) == ["Ash"]
    assert found[1].reason == "*warden* is in the lore of *Ash*, and no other lore may call this entry."
    assert found[1].nearly
    assert active(activate(given, Scan(request="Warden!"))) == ["Ash", "Warden"]


@pytest.mark.parametrize("scope", [Scope(only_recursive=True), Scope(recursion_level=1)])
def test_an_entry_that_only_lore_calls_and_no_lore_may_call_is_never_in(scope: Scope) -> None:
    both = replace(scope, no_recursion=True)
    for match in (any_of("warden"), Match()):
        found = verdicts(entry("Ash", payload="the warden"), entry("never", match=match, scope=both))
        assert active(found) == ["Ash"]
        assert all(gate.passed for gate in found[1].gates) is False


def test_an_entry_with_a_level_waits_for_other_lore_and_then_looks_at_the_request_too() -> None:
    late = entry("Late", match=any_of("gate"), scope=Scope(recursion_level=1), payload="")
    alone = verdict(late, request="gate")
    assert not alone.active
    assert alone.reason == "It waits until other active lore has been read, and there is none to read."
    assert alone.nearly
    silent = entry("Ash", payload="anything", scope=Scope(calls_others=False))
    assert active(verdicts(late, silent, request="gate")) == ["Ash"]
    speaking = verdicts(late, entry("Ash", payload="anything"), request="gate")
    assert active(speaking) == ["Late", "Ash"]
    assert (speaking[0].reason, speaking[0].chain) == ("*gate* is in the request.", ())
    called = verdicts(late, entry("Ash", payload="the gate"), request="go")
    assert (called[0].reason, called[0].chain) == ("*gate* is in the lore of *Ash*.", ("Ash",))
    always = entry("Always", when=When(always=True), scope=Scope(recursion_level=1), payload="")
    assert active(verdicts(always)) == []
    assert active(verdicts(always, entry("Ash"))) == ["Always", "Ash"]


def test_levels_open_one_after_the_other_when_nothing_more_is_called_for() -> None:
    first = entry("first", match=any_of("one"), scope=Scope(recursion_level=1), payload="two")
    unless = Match(any=(key("go"),), none=(key("two"),))
    second = entry("second", match=unless, scope=Scope(recursion_level=2), payload="three")
    third = entry("third", match=any_of("three"), scope=Scope(recursion_level=7), payload="")
    start = entry("start", payload="one")
    assert active(verdicts(third, second, first, start, request="go")) == ["first", "start"]
    mild = replace(start, payload="nothing")
    found = verdicts(third, second, first, mild, request="go")
    assert active(found) == ["third", "second", "start"]
    assert found[0].chain == ("second",)
    assert found[2].reason == "*one* is not in the request and other active lore."


def test_recursion_ends_at_its_limit() -> None:
    chain = [recursive(f"e{at}", f"key{at}.", f"to key{at + 1}.") for at in range(10)]
    for limit, expected in ((1, 2), (3, 4), (0, 10)):
        given = candidates(*chain, settings=LoreSettings(recursion_limit=limit))
        found = activate(given, Scan(request="key0.", settings=LoreSettings(recursion_limit=0)))
        assert len(active(found)) == expected
    own = candidates(*chain, settings=LoreSettings(recursion_limit=0))
    assert len(active(activate(own, Scan(request="key0.", settings=LoreSettings(recursion_limit=2))))) == 3


def test_cycles_between_entries_end() -> None:
    ring = [recursive(f"e{at}", f"key{at}", f"to key{(at + 1) % 3}") for at in range(3)]
    assert active(verdicts(*ring, request="key1")) == ["e0", "e1", "e2"]
    assert active(verdicts(recursive("self", "me", "me again"), request="nobody")) == []


def test_a_lorebook_or_the_scan_can_switch_recursion_on_for_all() -> None:
    two = (entry("Ash", payload="the warden"), entry("Warden", match=any_of("warden")))
    assert active(activate(candidates(*two), Scan())) == ["Ash"]
    assert len(active(activate(candidates(*two, settings=LoreSettings(recursive=True)), Scan()))) == 2
    assert len(active(activate(candidates(*two), Scan(settings=LoreSettings(recursive=True))))) == 2


def test_a_missing_second_key_may_come_from_lore() -> None:
    both = entry("both", match=Match(all=(key("ash"), key("bell"))), scope=Scope(recursive=True))
    found = verdicts(both, entry("Bell", payload="the bell"), request="ash")
    assert found[0].active
    assert found[0].chain == ("Bell",)


def test_always_and_never() -> None:
    assert verdict(entry(match=any_of("crow"), filter=text("x"), when=When(always=True))).active
    assert not verdict(entry(when=When(always=True, never=True))).active
    assert verdict(entry(when=When(always=True))).reason == "It is always called."
    assert not verdict(entry(when=When(always=True), tags=("river",))).active


def test_the_lorebook_that_looks_furthest_decides_how_much_is_read() -> None:
    near = candidates(entry("near", match=any_of("crow"), scope=Scope(parts=1)))
    far = candidates(entry("far", match=any_of("crow")), settings=LoreSettings(scan_parts=2))
    plain = candidates(entry("plain", match=any_of("Varro")))
    settings = LoreSettings(scan_parts=3)
    found = activate((*near, *far, *plain), Scan(story=STORY, horizon=0, settings=settings))
    assert active(found) == ["far", "plain"]
