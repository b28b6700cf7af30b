"""One thing done to many entries at once, and taken back at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from marginalia import Studio
from marginalia.errors import InvalidInput
from marginalia.lore.book import Entry, Lorebook


@pytest.fixture
def studio() -> Iterator[Studio]:
    with Studio(":memory:", extensions=()) as studio:
        yield studio


@pytest.fixture
def world(studio: Studio) -> Lorebook:
    world = studio.lorebooks.create(name="World")
    for at in range(6):
        studio.lorebooks.add_entry(world, name=f"e{at}", tags=("sea",), enabled=at != 5)
    return world


def test_entries_are_switched_tagged_and_moved_and_all_is_taken_back(studio: Studio, world: Lorebook) -> None:
    lorebooks, before = studio.lorebooks, studio.lorebooks.entries(world)
    harbour = lorebooks.create(name="Harbour")
    off = lorebooks.edit_entries(before, enabled=False)
    assert off.text == "6 entries switched off."
    assert not any(each.enabled for each in lorebooks.entries(world))
    assert off.undo() == "5 entries as before."
    assert lorebooks.entries(world) == before

    both = lorebooks.edit_entries(before[:2], tag=" winter ", lorebook=harbour)
    assert both.text == "2 entries tagged 'winter' and moved to 'Harbour'."
    assert [each.tags for each in lorebooks.entries(harbour)] == [("sea", "winter")] * 2
    both.undo()
    assert lorebooks.entries(world) == before
    assert lorebooks.edit_entries(before, untag="sea").text == "6 entries without the tag 'sea'."
    assert {each.tags for each in lorebooks.entries(world)} == {()}
    with pytest.raises(InvalidInput):
        lorebooks.edit_entries(before)


def test_what_was_deleted_together_comes_back_together(studio: Studio, world: Lorebook) -> None:
    before = studio.lorebooks.entries(world)
    gone = studio.lorebooks.remove_entries(before[:5])
    assert gone.text == "5 entries in the trash."
    assert studio.lorebooks.entries(world) == before[5:]
    assert gone.undo() == "5 entries back again."
    assert studio.lorebooks.entries(world) == before


def test_an_entry_that_was_changed_again_is_not_taken_back(studio: Studio, world: Lorebook) -> None:
    before = studio.lorebooks.entries(world)
    edit = studio.lorebooks.edit_entries(before, tag="winter")
    now: Entry = studio.lorebooks.entries(world)[0]
    mine = studio.lorebooks.save_entry(replace(now, payload="mine"))
    assert edit.undo() == "5 entries as before. 1 changed since stay as they are."
    assert studio.lorebooks.entries(world) == (mine, *before[1:])


def test_thousands_are_one_change_of_the_store(studio: Studio) -> None:
    world = studio.lorebooks.create(name="Large")
    rows = {
        str(at): {"uid": at, "key": [f"w{at}"], "content": "c", "comment": f"e{at}"} for at in range(3_000)
    }
    imported = studio.lorebooks.import_file(_world_info(rows)).lorebooks[0]
    entries = studio.lorebooks.entries(imported)
    book = studio.books.create(name="B", lorebook=world)
    version = studio.version(book)
    edit = studio.lorebooks.edit_entries(entries, enabled=False, tag="x", lorebook=world)
    assert studio.version(book) <= version + 2
    assert len(studio.lorebooks.entries(world)) == 3_000
    edit.undo()
    assert studio.lorebooks.entries(imported) == entries


def _world_info(rows: dict[str, dict[str, object]]) -> bytes:
    return json.dumps({"entries": rows}).encode()
