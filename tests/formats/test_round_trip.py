"""What came in goes out as it was; what was edited changes what it must."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from marginalia.errors import FormatError, InvalidInput
from marginalia.formats import read_lore, write_lore
from marginalia.formats.intake import open_document
from marginalia.formats.losses import always_there
from marginalia.lore.book import (
    Entry,
    FilledLorebook,
    Insertion,
    Lorebook,
    Match,
    Pattern,
    RegexFilter,
    Scope,
    TextFilter,
    When,
    Where,
)
from marginalia.values import EntryId, LorebookId
from tests.formats.helpers import FILES, as_bytes, entries, lore, shelved, world, written_back

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STORIES = {
    "loom.exoloom.json",
    "loom.loomsidian-note.json",
    "loom.pyloom-tree.json",
    "openwebui.chats.json",
    "tavernai.chat.jsonl",
}
LORE = [path for path in FILES if path.name not in STORIES]


@pytest.mark.parametrize("path", LORE, ids=lambda path: path.name)
def test_every_value_of_a_file_comes_back(path: Path) -> None:
    file = read_lore(path.read_bytes(), path.name)
    assert json.loads(written_back(file)) == open_document(path.read_bytes()).document
    assert written_back(file).losses == ()


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_story_is_refused_as_lore_and_said_to_be_one(name: str) -> None:
    path = next(each for each in FILES if each.name == name)
    with pytest.raises(FormatError, match="opened as a story"):
        read_lore(path.read_bytes(), name)


def edited(document: Any, change: Callable[[Entry], Entry], at: int = 0) -> Any:
    """The document written back after one of its entries was edited."""
    file = lore(document)
    books = shelved(file)
    number = 0
    for place, filled in enumerate(books):
        found = list(filled.entries)
        for one, entry in enumerate(found):
            if number == at:
                found[one] = change(entry)
            number += 1
        books[place] = replace(filled, entries=tuple(found))
    return json.loads(write_lore(books, file.codec.id))


@pytest.mark.parametrize("path", LORE, ids=lambda path: path.name)
def test_an_edited_text_changes_nothing_but_itself(path: Path) -> None:
    document = open_document(path.read_bytes()).document
    if not entries(document):
        return
    after = edited(document, lambda entry: replace(entry, payload="A new text."))
    (fresh,) = [entry for entry in entries(after) if entry.payload == "A new text."]
    others = [entry for entry in entries(document) if entry.name != fresh.name]
    assert [entry for entry in entries(after) if entry.name != fresh.name] == others
    assert fresh == replace(next(e for e in entries(document) if e.name == fresh.name), payload="A new text.")


def test_what_nobody_here_knows_survives_an_edit() -> None:
    document = world(
        {"key": ["mill"], "content": "old", "futureField": {"deep": [1, None]}, "extensions": {"x": 1}}
    )
    after = edited(document, lambda entry: replace(entry, payload="new", ordinal=7))
    row = after["entries"]["0"]
    assert (row["content"], row["order"]) == ("new", 7)
    assert row["futureField"] == {"deep": [1, None]}
    assert row["extensions"] == {"x": 1}
    assert set(row) == {*document["entries"]["0"], "order"}


def test_a_deleted_entry_is_gone_and_a_new_one_gets_a_free_place() -> None:
    file = lore(world({"key": ["a"], "content": "A"}, {"key": ["b"], "content": "B"}))
    (filled,) = shelved(file)
    fresh = Entry(id=EntryId(99), uid="fresh", name="Third", payload="C", filter=TextFilter("c"))
    changed = replace(filled, entries=(filled.entries[1], fresh))
    after = json.loads(write_lore([changed], "sillytavern"))["entries"]
    assert list(after) == ["1", "2"]
    assert (after["2"]["uid"], after["2"]["key"], after["2"]["content"]) == (2, ["c"], "C")


def test_a_renamed_lorebook_is_renamed_in_its_file() -> None:
    file = lore(world(name="Old", other=1))
    (filled,) = shelved(file)
    renamed = replace(filled, lorebook=replace(filled.lorebook, name="New"))
    assert json.loads(write_lore([renamed], "sillytavern")) == {"entries": {}, "name": "New", "other": 1}


def test_an_entry_moved_to_another_folder_says_so() -> None:
    document = {
        "lorebookVersion": 6,
        "entries": [{"displayName": "Ilse", "text": "t", "keys": ["ilse"], "category": ""}],
        "categories": [{"id": "people", "name": "People", "enabled": True}],
    }
    root, people = shelved(lore(document))
    moved = [replace(root, entries=()), replace(people, entries=root.entries)]
    after = json.loads(write_lore(moved, "novelai"))
    assert after["entries"][0]["category"] == "people"


ALL_OF_IT = (
    Entry(name="Plain", payload="p", filter=TextFilter("mill")),
    Entry(name="Always", payload="a"),
    Entry(name="Off", payload="o", enabled=False, filter=TextFilter("x")),
    Entry(name="Regex", payload="r", filter=RegexFilter(r"\bbells?\b")),
    Entry(
        name="Logic",
        payload="l",
        match=Match(any=(Pattern(text="duke"),), none=(Pattern(text="ring"),)),
        when=When(chance=35, after=3, sticky=2, cooldown=1, groups=("moods",), group_weight=50),
    ),
    Entry(
        name="Deep",
        payload="d",
        match=Match(
            any=(Pattern(text="Seal", case=True, whole_word=True),),
            also=(Pattern(text="wax", case=True, whole_word=True),),
        ),
        insertion=Insertion.DEPTH,
        where=Where(depth=3, role="assistant"),
        scope=Scope(parts=8, calls_others=False),
        ordinal=-5,
    ),
)


def written(format_: str, *found: Entry) -> Any:
    numbered = tuple(replace(each, id=EntryId(at), uid=f"e{at}") for at, each in enumerate(found, 1))
    filled = FilledLorebook(lorebook=Lorebook(id=LorebookId(1), uid="w", name="World"), entries=numbered)
    return write_lore([filled], format_)


@pytest.mark.parametrize("format_", ["sillytavern", "card", "lorebook_v3", "marginalia"])
def test_lore_written_here_means_the_same_when_it_comes_back(format_: str) -> None:
    back = {entry.name: entry for entry in entries(json.loads(written(format_, *ALL_OF_IT)))}
    assert list(back) == [entry.name for entry in ALL_OF_IT]
    for entry in ALL_OF_IT:
        found = back[entry.name]
        assert (found.payload, found.enabled, found.ordinal) == (entry.payload, entry.enabled, entry.ordinal)
        assert (found.insertion, found.where, found.scope) == (entry.insertion, entry.where, entry.scope)
        assert replace(found.when, always=False) == entry.when
    assert back["Plain"].filter == TextFilter("mill")
    assert back["Logic"].match == ALL_OF_IT[4].match
    assert back["Deep"].match == ALL_OF_IT[5].match


def test_what_a_format_cannot_say_is_listed() -> None:
    entry = Entry(
        name="Much",
        payload="m",
        tags=("winter",),
        when=When(every=2),
        scope=Scope(memory=True, characters=500),
    )
    (note,) = written("sillytavern", entry).losses
    said = " ".join(note.remarks)
    assert note.entry == "Much"
    assert all(word in said for word in ("winter", "every 2 parts", "memory", "500"))
    assert not written("marginalia", replace(entry, tags=())).losses[0].remarks[0].startswith("cannot")


def test_an_expression_goes_out_between_slashes_and_comes_back_as_the_same_expression() -> None:
    row = json.loads(written("sillytavern", Entry(name="R", payload="r", filter=RegexFilter(r"a/b\d+"))))
    assert row["entries"]["0"]["key"] == [r"/a\/b\d+/is"]
    (back,) = entries(row)
    assert back.match.any == (Pattern(text=r"a\/b\d+", kind="regex"),)


def test_decorators_of_a_card_stay_until_what_they_say_is_edited() -> None:
    document = {
        "spec": "lorebook_v3",
        "data": {
            "entries": [
                {
                    "keys": ["k"],
                    "content": "@@activate_only_after 3\n@@strange 1\nText.",
                    "extensions": {},
                    "enabled": True,
                }
            ]
        },
    }
    same = edited(document, lambda entry: replace(entry, payload="Other."))
    assert same["data"]["entries"][0]["content"] == "@@activate_only_after 3\n@@strange 1\nOther."
    changed = edited(document, lambda entry: replace(entry, when=replace(entry.when, after=5)))
    assert changed["data"]["entries"][0]["content"] == "@@activate_only_after 5\n@@strange 1\nText."


def test_a_format_that_is_not_there_is_refused_with_the_names_of_those_that_are() -> None:
    with pytest.raises(InvalidInput, match="sillytavern"):
        written("word perfect", ALL_OF_IT[0])
    with pytest.raises(InvalidInput, match="only be written for lore that came from one"):
        written("koboldai", ALL_OF_IT[0])


def test_a_file_with_repairs_says_them_and_comes_in() -> None:
    raw = b'{"entries": {"0": {"uid": 0, "key": ["a"], "key": ["b"], "order": NaN, "content": "\\ud800"}}}'
    file = read_lore(raw, "odd.json")
    assert file.shelf.rows[0].entry == replace(
        entries(world({"key": ["b"], "content": "\ufffd"}))[0], name="b"
    )
    assert len(file.notes[0].remarks) == 3


def test_numbers_beyond_sixty_four_bits_come_back() -> None:
    document = world({"key": ["a"], "content": "c", "big": 12345678901234567890123})
    assert json.loads(written_back(lore(as_bytes(document)))) == document


def test_lore_of_a_lorebook_that_is_off_does_not_wake_up_in_one_file() -> None:
    entry = Entry(id=EntryId(1), uid="a", name="Asleep", payload="p", filter=TextFilter("k"))
    outer = Lorebook(id=LorebookId(1), uid="o", name="Outer", subbooks=(LorebookId(2),))
    inner = Lorebook(id=LorebookId(2), uid="i", name="Inner", enabled=False)
    books = [FilledLorebook(lorebook=outer), FilledLorebook(lorebook=inner, entries=(entry,))]
    file = write_lore(books, "sillytavern")
    assert json.loads(file)["entries"]["0"]["disable"]
    assert [note.lorebook for note in file.losses if "switched off" in note.remarks[0]] == ["Inner"]


def test_a_folder_that_was_switched_off_here_switches_off_its_entries_there() -> None:
    document = {
        "type": "risu",
        "data": [{"mode": "folder", "key": "f", "comment": "F"}, {"key": "a", "content": "c", "folder": "f"}],
    }
    root, folder = shelved(lore(document))
    off = replace(folder, lorebook=replace(folder.lorebook, enabled=False))
    (_, row) = json.loads(write_lore([root, off], "risuai"))["data"]
    assert row["content"] == "@@dont_activate\nc"


def meant(entry: Entry) -> object:
    """What an entry does, however it is said. NovelAI always has a range, so how far back is not compared."""
    keys = {key.text for key in entry.match.any}
    if entry.filter is not None:
        keys.add(entry.filter.text if isinstance(entry.filter, TextFilter) else entry.filter.pattern)
    when = replace(entry.when, always=False, never=False)
    off = not entry.enabled or entry.when.never
    place = entry.insertion, entry.where, entry.scope.parts, entry.scope.calls_others
    return entry.payload, entry.ordinal, off, always_there(entry) or keys, when, place


@pytest.mark.parametrize("format_", ["sillytavern", "card", "novelai", "agnai", "risuai", "aidungeon"])
def test_nothing_gets_lost_without_a_word(format_: str) -> None:
    """Whatever is different when it comes back was listed when it went out."""
    for entry in ALL_OF_IT:
        file = written(format_, entry)
        found = entries(json.loads(file))
        same = [meant(each) for each in found] == [meant(entry)]
        assert same or file.losses, entry.name


def test_several_keys_with_an_expression_among_them_are_one_expression_where_there_is_only_one() -> None:
    match = Match(any=(Pattern(text="a.b"), Pattern(text="bells?", kind="regex")))
    row = json.loads(written("risuai", Entry(name="e", payload="p", match=match)))["data"][0]
    assert (row["key"], row["useRegex"]) == (r"/(?:a\.b)|(?:bells?)/is", True)


def test_plain_words_between_slashes_stay_plain_words() -> None:
    (back,) = entries(
        json.loads(written("sillytavern", Entry(name="e", payload="p", filter=TextFilter("/x/"))))
    )
    assert back.match.any == (Pattern(text=r"\/x\/", kind="regex"),)


def test_a_comma_inside_of_a_key_is_said_where_commas_part_keys() -> None:
    entry = Entry(name="e", payload="p", filter=TextFilter("duke, the old"))
    assert "a comma inside of a key" in written("risuai", entry).losses[0].remarks[0]
    assert not written("sillytavern", entry).losses


def test_a_card_says_whether_its_keys_are_expressions() -> None:
    plain, expression = (
        json.loads(written("lorebook_v3", Entry(name="e", payload="p", filter=each)))["data"]["entries"][0]
        for each in (TextFilter("mill"), RegexFilter("mills?"))
    )
    assert (plain["use_regex"], plain["keys"]) == (False, ["mill"])
    assert (expression["use_regex"], expression["keys"]) == (True, ["/mills?/is"])
