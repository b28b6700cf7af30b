"""SillyTavern's world info fires as its author meant, whatever state its file is in."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from marginalia.formats import write_lore
from marginalia.formats.base import Fidelity
from marginalia.formats.tavern_out import tavern_fields
from marginalia.lore.book import Insertion, Match, Pattern, Scope, TextFilter, When, Where
from tests.formats.helpers import called, entries, lore, only, shelved, world, written_back


def note(row: dict[str, object]) -> tuple[Fidelity, str]:
    found = lore(world(row)).shelf.rows[0].note
    assert found is not None
    return found.fidelity, " ".join(found.remarks)


def test_numbers_and_flags_that_are_texts_are_read_as_what_they_mean() -> None:
    row = {
        "key": "a, b",
        "order": "100",
        "position": "4",
        "depth": "2",
        "disable": "false",
        "probability": "50",
    }
    entry = only(row)
    assert (entry.enabled, entry.ordinal, entry.when.chance) == (True, 100, 50.0)
    assert (entry.insertion, entry.where) == (Insertion.DEPTH, Where(depth=2))
    assert entry.match == Match(any=(Pattern(text="a"), Pattern(text="b")))


def test_an_entry_without_keys_that_is_not_always_on_never_fires_and_says_so() -> None:
    row = {"key": [], "constant": False, "content": "c", "comment": "quiet"}
    assert called(world(row), "anything") == []
    assert note(row) == (Fidelity.INACTIVE, "it has no keys and is not always on, so it is never called")


def test_an_entry_that_does_not_even_say_whether_it_is_constant_is_always_there() -> None:
    assert called(world({"key": [], "content": "c", "comment": "old"}), "") == ["old"]


def test_an_always_on_entry_keeps_its_keys_and_needs_none() -> None:
    entry = only({"key": ["mill"], "constant": True})
    assert (entry.when.always, entry.filter, entry.match.any) == (True, None, (Pattern(text="mill"),))


def test_a_disabled_entry_stays_disabled() -> None:
    assert called(world({"key": [], "constant": True, "disable": True, "comment": "off"}), "") == []
    assert not only({"disable": 1}).enabled


def test_a_comma_inside_of_an_expression_does_not_tear_it() -> None:
    entry = only({"key": "duke, /a{1,3}x/i, /,/, /a\\/b/"})
    assert [pattern.text for pattern in entry.match.any] == ["duke", "a{1,3}x", ",", "a\\/b"]
    assert [pattern.kind for pattern in entry.match.any] == ["plain", "regex", "regex", "regex"]


@pytest.mark.parametrize("key", ["/unclosed(/i", "/a/b/c/", "/a++/", "/(?>a)/", "/(?i)a/", "/x/z"])
def test_a_key_that_is_no_expression_there_is_plain_text_here(key: str) -> None:
    entry = only({"key": [key]})
    assert entry.filter == TextFilter(key)


def test_a_broken_expression_is_said() -> None:
    fidelity, said = note({"key": ["/(open/"]})
    assert fidelity is Fidelity.APPROXIMATED
    assert "/(open/" in said


def test_a_macro_in_a_key_is_said_to_be_none_here() -> None:
    fidelity, said = note({"key": ["{{user}}", "b"]})
    assert fidelity is Fidelity.INACTIVE
    assert "{{user}}" in said


def test_the_dot_of_an_expression_stops_at_a_line_break_unless_flagged() -> None:
    rows = world({"key": ["/a.b/"], "comment": "line"}, {"key": ["/a.b/s"], "comment": "all"})
    assert called(rows, "a\nb") == ["all"]
    assert called(rows, "a-b") == ["line", "all"]


def test_keys_compare_whatever_the_letters_are() -> None:
    rows = world(*({"key": [key, "~"], "comment": key} for key in ("Žofie", "дракон", "龙", "Ёж", "straße")))
    assert called(rows, "Z\u030cofie") == ["Žofie"]
    assert called(rows, "ДРАКОН и ёж, 龙, STRASSE") == ["дракон", "龙", "Ёж", "straße"]


def test_whole_words_are_words_of_any_script() -> None:
    rows = world(
        {"key": ["art"], "matchWholeWords": True, "comment": "art"},
        {"key": ["кот"], "matchWholeWords": True, "comment": "кот"},
    )
    assert called(rows, "the heart; который") == []
    assert called(rows, "(art), кот!") == ["art", "кот"]


def test_a_chance_in_the_switch_for_chances_is_the_chance() -> None:
    assert only({"key": ["a"], "useProbability": 30}).when.chance == 30
    assert only({"key": ["a"], "useProbability": 0, "probability": 100}).when.chance == 100
    assert only({"key": ["a"], "useProbability": False, "probability": 5}).when.chance == 100


def test_timed_effects_groups_and_recursion_come_in() -> None:
    entry = only(
        {
            "key": ["a"],
            "sticky": 2,
            "cooldown": 3,
            "delay": 4,
            "group": "x, y",
            "groupWeight": 20,
            "groupOverride": True,
            "preventRecursion": True,
            "excludeRecursion": True,
            "delayUntilRecursion": True,
        }
    )
    assert entry.when == When(
        sticky=2, cooldown=3, after=4, groups=("x", "y"), group_weight=20, group_priority=True
    )
    assert entry.scope == Scope(calls_others=False, no_recursion=True, recursion_level=1)
    assert only({"key": ["a"], "delayUntilRecursion": 3}).scope.recursion_level == 3
    assert only({"key": ["a"], "delayUntilRecursion": 0}).scope == Scope()


def test_a_scan_depth_of_0_leaves_an_entry_to_other_lore_as_the_documentation_says() -> None:
    rows = world(
        {"key": ["mill"], "scanDepth": 0, "comment": "deaf", "content": "."},
        {"key": ["ash"], "comment": "ash", "content": "the mill"},
    )
    assert called(rows, "the mill", story=("the mill",)) == []
    assert called(rows, "ash") == ["deaf", "ash"]


def test_recursion_is_written_as_it_was_read() -> None:
    for level in (False, True, 3):
        row = {"key": ["a"], "excludeRecursion": True, "delayUntilRecursion": level}
        fields, losses = tavern_fields(only(row))
        assert not losses
        assert (fields["excludeRecursion"], fields["delayUntilRecursion"]) == (True, level)
    fields, losses = tavern_fields(only({"key": ["a"], "scanDepth": 0}))
    assert fields["delayUntilRecursion"] is True
    assert "only other lore calls it" in losses[0]


@pytest.mark.parametrize(
    ("position", "insertion", "fidelity"),
    [
        (0, Insertion.LORE_BLOCK, Fidelity.TAKEN),
        (1, Insertion.LORE_BLOCK, Fidelity.TAKEN),
        (2, Insertion.BEFORE_USER_PROMPT, Fidelity.APPROXIMATED),
        (3, Insertion.BEFORE_USER_PROMPT, Fidelity.APPROXIMATED),
        (4, Insertion.BEFORE_USER_PROMPT, Fidelity.APPROXIMATED),
        (5, Insertion.LORE_BLOCK, Fidelity.APPROXIMATED),
        (99, Insertion.LORE_BLOCK, Fidelity.NOT_UNDERSTOOD),
        (None, Insertion.LORE_BLOCK, Fidelity.TAKEN),
        ("after_char", Insertion.LORE_BLOCK, Fidelity.TAKEN),
        ("before_char_defs", Insertion.LORE_BLOCK, Fidelity.TAKEN),
    ],
)
def test_positions(position: object, insertion: Insertion, fidelity: Fidelity) -> None:
    row = {"key": ["a"], "position": position}
    assert only(row).insertion is insertion
    assert note(row)[0] is fidelity


def test_an_outlet_is_a_named_slot() -> None:
    entry = only({"key": ["a"], "position": 7, "outletName": "weather"})
    assert (entry.insertion, entry.where) == (Insertion.SLOT, Where(slot="weather"))


def test_the_last_messages_are_searched_as_far_as_sillytavern_does() -> None:
    rows = world({"key": ["mill"], "comment": "near"}, {"key": ["mill"], "scanDepth": 4, "comment": "far"})
    assert called(rows, "", story=("x", "the mill")) == ["near", "far"]
    assert called(rows, "", story=("x", "x", "x", "the mill")) == ["far"]


def test_uids_decide_the_order_of_creation_and_the_file_that_of_equals() -> None:
    rows = [
        {"uid": 9, "comment": "c"},
        {"uid": "x", "comment": "last"},
        {"uid": "4", "comment": "a"},
        {"uid": 4, "comment": "b"},
    ]
    assert [entry.name for entry in entries({"entries": rows})] == ["a", "b", "c", "last"]


def test_rows_that_are_no_entries_are_kept_and_said() -> None:
    file = lore({"entries": {"0": {"uid": 0, "content": "c"}, "4": None, "5": 7}})
    assert [row.entry is None for row in file.shelf.rows].count(True) == 2
    assert [each.fidelity for each in file.notes].count(Fidelity.NOT_UNDERSTOOD) == 2


def test_other_dialects_of_the_same_shape_are_read_by_their_own_names() -> None:
    document = {
        "name": "N",
        "enabled": False,
        "entries": [{"keys": ["a"], "content": "c", "insertionOrder": 5, "secondaryKeys": ["b"]}],
    }
    file = lore(document)
    (entry,) = entries(document)
    assert not file.shelf.volumes[0].enabled
    assert entry.ordinal == 5
    hybrid = {"entries": {"0": {"uid": 0, "keys": ["a"], "content": "c", "order": 3, "disable": True}}}
    (entry,) = entries(hybrid)
    assert (entry.filter, entry.ordinal, entry.enabled) == (TextFilter("a"), 3, False)


def test_a_second_copy_in_the_file_is_not_taken_twice() -> None:
    row = {"uid": 0, "key": ["a"], "content": "c"}
    document = world(row, originalData={"entries": [row]})
    assert len(entries(document)) == 1
    assert "originalData" in " ".join(lore(document).notes[0].remarks)


def test_a_title_becomes_a_name_of_one_line() -> None:
    assert only({"comment": " Two\nlines \u0000here "}).name == "Two lines here"
    assert only({"key": ["mill"]}).name == "mill"
    assert only({"content": "A long text"}).name == "A long text"
    assert only({}).name == "Entry 0"


def test_entries_with_a_strategy_are_read() -> None:
    row = {
        "enabled": True,
        "strategy": {
            "type": "selective",
            "keys": ["mill"],
            "keys_secondary": {"logic": "not_any", "keys": ["fire"]},
        },
        "position": {"type": "at_depth", "role": "user", "depth": 2, "order": 7},
        "effect": {"sticky": 3},
        "content": "c",
    }
    document = {"entries": {"The mill": row}}
    (entry,) = entries(document)
    assert (entry.name, entry.ordinal, entry.insertion) == ("The mill", 7, Insertion.DEPTH)
    assert (entry.where, entry.when.sticky) == (Where(depth=2, role="user"), 3)
    assert entry.match == Match(any=(Pattern(text="mill"),), none=(Pattern(text="fire"),))
    assert json.loads(written_back(lore(document))) == document


def test_entries_whose_keys_are_called_triggers_are_read() -> None:
    (entry,) = entries(
        {"entries": [{"triggers": ["a"], "description": "d", "name": "n", "isPublic": True, "uid": 1}]}
    )
    assert (entry.filter, entry.payload) == (TextFilter("a"), "d")


def test_entries_of_a_card_under_names_of_a_world_are_edited_where_they_say_it() -> None:
    row = {
        "keys": ["a"],
        "content": "c",
        "enabled": True,
        "insertion_order": 1,
        "extensions": {"probability": 40, "x": 1},
    }
    document = {"name": "N", "entries": {"1": row}}
    (filled,) = shelved(lore(document))
    (entry,) = filled.entries
    assert entry.when.chance == 40
    changed = replace(filled, entries=(replace(entry, when=replace(entry.when, chance=60), enabled=False),))
    after = json.loads(write_lore([changed], "sillytavern"))["entries"]["1"]
    assert after == row | {"enabled": False, "extensions": {"probability": 60, "x": 1}}
