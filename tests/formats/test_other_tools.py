"""NovelAI, Agnai, RisuAI, KoboldAI, AI Dungeon, mikupad and the Java original: entries fire as their author meant."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from marginalia.errors import FormatError
from marginalia.formats import read_lore, write_lore
from marginalia.formats.base import Fidelity
from marginalia.lore.book import Entry, Insertion, Match, Pattern, RegexFilter, TextFilter
from tests.formats.helpers import DATA, FILES, called, entries, lore, shelved


def fixture(name: str) -> Any:
    return json.loads((DATA / name).read_bytes())


def of(document: Any, name: str) -> Entry:
    return next(entry for entry in entries(document) if entry.name == name)


EVERY = [
    "novelai.lorebook",
    "novelai.scenario.json",
    "koboldai.save-v1.json",
    "agnai.memory-book.json",
    "risuai.lorebook.json",
    "tavern.card-v2.json",
    "tavern.card-v3.json",
    "tavern.lorebook-v3.json",
]


@pytest.mark.parametrize("name", EVERY)
def test_the_rule_that_is_always_there_is_always_there(name: str) -> None:
    assert "Rule of the sea" in called(fixture(name), "x", story=("word",) * 9)


@pytest.mark.parametrize("name", ["novelai.lorebook", "koboldai.save-v1.json", "agnai.memory-book.json"])
def test_the_disabled_entry_stays_disabled(name: str) -> None:
    assert not of(fixture(name), "Žofie").enabled
    assert "Žofie" not in called(fixture(name), "Žofie")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_decorator_is_left_in_any_text(path: Any) -> None:
    try:
        found = read_lore(path.read_bytes()).shelf.rows
    except FormatError:
        return
    assert not [row for row in found if row.entry and row.entry.payload.startswith("@@")]


# NovelAI


def test_a_key_with_ampersands_needs_all_its_words_in_any_order() -> None:
    rows = fixture("novelai.lorebook")
    assert "Wardens of Ash" in called(rows, "the ash on the Warden")
    assert "Wardens of Ash" not in called(rows, "the Warden alone")
    assert "Wardens of Ash" in called(rows, "two grey coats")


def test_a_key_with_ampersands_alone_is_keys_that_are_all_needed() -> None:
    document = {"lorebookVersion": 6, "entries": [{"displayName": "e", "text": "t", "keys": ["a & b"]}]}
    (entry,) = entries(document)
    assert entry.match == Match(all=(Pattern(text="a"), Pattern(text="b")))


def test_keys_with_ampersands_go_out_with_them() -> None:
    document = fixture("novelai.lorebook")
    file = lore(document)
    books = shelved(file)
    changed = [
        replace(
            filled,
            entries=tuple(replace(entry, match=with_another_key(entry.match)) for entry in filled.entries),
        )
        for filled in books
    ]
    written = {
        row["displayName"]: row["keys"] for row in json.loads(write_lore(changed, "novelai"))["entries"]
    }
    assert written["Wardens of Ash"] == ["grey coats", "Warden & Ash", "more"]


def with_another_key(match: Match) -> Match:
    return replace(match, any=(*match.any, Pattern(text="more")))


def test_budgets_up_to_one_are_shares_and_larger_ones_tokens() -> None:
    def budget(tokens: float) -> Any:
        config = {"tokenBudget": tokens, "reservedTokens": 120}
        (entry,) = entries(
            {"lorebookVersion": 6, "entries": [{"text": "t", "keys": ["k"], "contextConfig": config}]}
        )
        return entry.budget.maximum, entry.budget.reserve

    assert budget(1) == (0, 120)
    assert budget(0.5) == (0, 120)
    assert budget(2048) == (2048, 120)


def test_the_search_range_counts_characters_and_cascading_looks_at_memory_and_lore() -> None:
    bell = of(fixture("novelai.lorebook"), "The Quiet Bell")
    assert (bell.scope.characters, bell.scope.memory, bell.scope.recursive) == (1000, True, True)


def test_a_category_that_is_off_takes_its_entries_with_it() -> None:
    document = {
        "lorebookVersion": 6,
        "entries": [
            {"displayName": "in", "text": "t", "keys": ["k"], "category": "c"},
            {"displayName": "out", "text": "t", "keys": ["k"]},
        ],
        "categories": [{"id": "c", "name": "Off", "enabled": False}],
    }
    assert called(document, "k") == ["out"]
    assert lore(document).names == ("upload", "Off")


def test_a_scenario_offers_its_memory_and_its_beginning() -> None:
    shelf = lore(fixture("novelai.scenario.json")).shelf
    assert shelf.book_fields.first_message.startswith("The tide")
    assert shelf.book_fields.memory.startswith("[ Author")
    assert shelf.book_fields.authors_note.startswith("Style")
    assert shelf.story_too


# Agnai


def test_wildcards_stand_for_letters_and_keywords_for_whole_words() -> None:
    rows = fixture("agnai.memory-book.json")
    assert "The Quiet Bell" in called(rows, "the BELLTOWER")
    assert "Wardens of Ash" in called(rows, "wardens")
    assert "Ilse Marrow" not in called(rows, "Ilsebill")


def test_priority_decides_who_stays_and_weight_the_order() -> None:
    entry = of(fixture("agnai.memory-book.json"), "Ilse Marrow")
    assert (entry.budget.priority, entry.ordinal) == (500, 10)


def test_keywords_of_any_script_fire() -> None:
    book = {
        "kind": "memory",
        "entries": [
            {"name": key, "entry": "e", "keywords": [key], "enabled": True}
            for key in ("дракон", "龙", "Žofie")
        ],
    }
    assert called(book, "ДРАКОН, 真龙, Žofie.") == ["дракон", "龙", "Žofie"]


# RisuAI


def test_a_folder_is_a_lorebook_and_no_entry() -> None:
    file = lore(fixture("risuai.lorebook.json"))
    assert file.names == ("upload", "People")
    assert {row.entry.name for row in file.shelf.rows if row.entry and row.volume == 1} == {
        "Ilse Marrow",
        "Žofie",
    }
    assert not [row.entry for row in file.shelf.rows if row.entry and row.entry.name == "People"]


def test_an_expression_with_a_comma_is_one_expression() -> None:
    document = {
        "type": "risu",
        "ver": 1,
        "data": [{"key": "/a{1,3}!/i", "useRegex": True, "content": "c", "comment": "e"}],
    }
    assert called(document, "AA!") == ["e"]


def test_a_chance_of_nothing_never_fires() -> None:
    document = {
        "type": "risu",
        "data": [{"key": "a", "content": "c", "comment": "e", "activationPercent": 0}],
    }
    assert not any(called(document, "a", seed=seed) for seed in range(50))


def test_secondary_and_additional_keys_are_both_needed() -> None:
    rows = fixture("risuai.lorebook.json")
    assert "Wardens of Ash" in called(rows, "the Warden of Ash takes a boat")
    assert "Wardens of Ash" not in called(rows, "the Warden and a boat")


# KoboldAI


def test_secondary_and_anti_keys_count_only_when_selective() -> None:
    rows = fixture("koboldai.save-v1.json")
    assert "The Quiet Bell" in called(rows, "the quiet bell of the church")
    assert "The Quiet Bell" not in called(rows, "the quiet bell")
    assert "Wardens of Ash" not in called(rows, "a warden at the festival")


def test_folders_of_older_saves_are_called_by_number() -> None:
    save = {
        "gamestarted": True,
        "prompt": "",
        "actions": [],
        "worldinfo": [
            {"key": "a", "content": "c", "comment": "in", "folder": 7},
            {"key": "b", "content": "c", "folder": None},
        ],
        "wifolders_d": {"7": {"name": "People", "collapsed": False}},
    }
    file = lore(save)
    assert file.names == ("upload", "People")
    assert [row.volume for row in file.shelf.rows] == [1, 0]
    root, people = shelved(file)
    books = [replace(root, entries=()), replace(people, entries=(*root.entries, *people.entries))]
    assert [row["folder"] for row in json.loads(write_lore(books, "koboldai"))["worldinfo"]] == [7, 7]


def test_pickled_values_are_never_opened_and_are_said() -> None:
    save = fixture("koboldai.save-v2.json") | {"wirmvwhtsp": "base64:gASVAAAAAAAAAA=="}
    assert any("never opened" in line for note in lore(save).notes for line in note.remarks)
    with pytest.raises(FormatError, match="never opened"):
        read_lore(b"\x80\x04\x95\x00\x00")


# AI Dungeon


def test_a_blank_at_the_edge_of_a_trigger_counts() -> None:
    rows = fixture("aidungeon.story-cards.json")
    assert of(rows, "The Quiet Bell").match.any == (Pattern(text=" bell"),)
    assert "The Quiet Bell" in called(rows, "a bell")
    assert "The Quiet Bell" not in called(rows, "a doorbell")


def test_an_expression_of_the_older_files_is_one_and_its_switches_are_said() -> None:
    document = [
        {"id": "1", "keys": "(gate|the )keep(er, old)?#[t=5l=5S=2]", "entry": "text", "hidden": False}
    ]
    (entry,) = entries(document)
    assert entry.match.any == (Pattern(text="(gate|the )keep(er, old)?", kind="regex"),)
    note = lore(document).shelf.rows[0].note
    assert note is not None
    assert note.fidelity is Fidelity.NOT_UNDERSTOOD


@pytest.mark.parametrize("name", ["worldInfo", "worldInfos"])
def test_older_files_keep_their_cards_under_a_name(name: str) -> None:
    assert called({name: [{"keys": "a, b", "entry": "text"}]}, "B") == ["a"]


# mikupad


def test_a_range_of_nothing_switches_an_entry_off() -> None:
    rows = fixture("mikupad.session.json")
    assert called(rows, "the BELLTOWER and x") == ["The Quiet Bell"]


# The Java original


def test_missing_fields_are_those_of_a_new_entry() -> None:
    document = {
        "format": "marginalia-lorebook",
        "version": 2,
        "root": "r",
        "lorebooks": [{"uuid": "r", "entries": [{}]}],
    }
    (entry,) = entries(document)
    assert (entry.enabled, entry.ordinal, entry.filter, entry.insertion) == (
        True,
        100,
        None,
        Insertion.LORE_BLOCK,
    )
    assert entry.name


def test_lorebooks_that_are_below_each_other_are_harmless() -> None:
    file = lore(fixture("marginalia-java.lorebook-v2.json"))
    assert [volume.subbooks for volume in file.shelf.volumes] == [(1,), (0,)]


def test_a_lorebook_that_is_not_in_the_file_is_left_out_and_said() -> None:
    document = {
        "format": "marginalia-lorebook",
        "version": 2,
        "root": "r",
        "lorebooks": [{"uuid": "r", "name": "R", "subbooks": ["nobody"], "entries": []}],
    }
    file = lore(document)
    assert file.shelf.volumes[0].subbooks == ()
    assert "not in the file" in file.notes[0].remarks[0]


@pytest.mark.parametrize("root", ["nobody", None, 7])
def test_a_file_whose_root_is_missing_is_refused(root: object) -> None:
    with pytest.raises(FormatError, match="is not in it"):
        lore({"format": "marginalia-lorebook", "version": 2, "root": root, "lorebooks": [{"uuid": "r"}]})


def test_a_generated_expression_becomes_keys_again_and_goes_out_as_it_was() -> None:
    generated = r"(?s)^(?=.*(?:\Qduke\E|\Qduchess\E))(?=.*(?:\Qring\E))"
    row = {"name": "e", "payload": "p", "filtering": generated, "filteringMode": "REGEX"}
    (entry,) = entries({"format": "marginalia-lorebook", "version": 1, "name": "B", "entries": [row]})
    assert entry.filter is None
    assert entry.match.any == (Pattern(text="duke"), Pattern(text="duchess"))


def test_an_expression_that_somebody_wrote_stays_one() -> None:
    row = {"name": "e", "payload": "p", "filtering": r"\bspell(s)?\b", "filteringMode": "REGEX"}
    (entry,) = entries({"format": "marginalia-lorebook", "version": 1, "name": "B", "entries": [row]})
    assert entry.filter == RegexFilter(r"\bspell(s)?\b")
    row |= {"filteringMode": "TEXT"}
    (entry,) = entries({"format": "marginalia-lorebook", "version": 1, "name": "B", "entries": [row]})
    assert entry.filter == TextFilter(r"\bspell(s)?\b")


def test_a_version_that_is_too_new_is_refused() -> None:
    with pytest.raises(FormatError, match="version 9"):
        lore({"format": "marginalia-lorebook", "version": 9, "root": "r", "lorebooks": []})
