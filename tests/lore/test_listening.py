from __future__ import annotations

from dataclasses import replace

from marginalia.lore.book import Entry
from marginalia.lore.listening import overruled
from tests.lore.helpers import active, entry, text, verdicts


def test_the_same_list_changes_nothing() -> None:
    found = verdicts(entry("a"), entry("b", enabled=False))
    assert overruled(found, [found[0].entry]) == found


def test_an_entry_that_was_taken_out_says_so() -> None:
    found = overruled(verdicts(entry("a"), entry("b")), [])
    assert active(found) == []
    assert {each.reason for each in found} == {"A listener took it out."}
    assert found[0].gates[-1].name == "listener"


def test_an_entry_that_was_out_can_be_put_in() -> None:
    before = verdicts(entry("a"), entry("b", filter=text("x")), request="go")
    after = overruled(before, [each.entry for each in before])
    assert active(after) == ["a", "b"]
    assert after[1].reason == "A listener put it in."
    assert not after[1].gates[3].passed


def test_the_order_of_the_list_is_the_order_of_the_active_entries() -> None:
    before = verdicts(entry("a"), entry("off", enabled=False), entry("b"), entry("c"))
    after = overruled(before, [before[3].entry, before[0].entry])
    assert [each.entry.name for each in after] == ["c", "off", "b", "a"]
    assert active(after) == ["c", "a"]


def test_unknown_entries_are_added_behind_the_one_they_follow() -> None:
    before = verdicts(entry("a"), entry("b"))
    new, early = Entry(name="new", uid="new"), Entry(name="early", uid="early")
    after = overruled(before, [early, before[0].entry, new, before[1].entry, new])
    assert active(after) == ["early", "a", "new", "b", "new"]
    assert after[0].lorebook == ""


def test_a_changed_entry_stands_for_the_old_one() -> None:
    before = verdicts(entry("a"), entry("b"))
    changed = replace(before[0].entry, payload="other words")
    after = overruled(before, [changed, before[1].entry])
    assert after[0].entry is changed
    assert after[0].reason == "A listener changed it."
    assert after[1] is before[1]
