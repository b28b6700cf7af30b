"""Lorebooks and their entries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marginalia.errors import InvalidInput, NotFound
from marginalia.lore.book import (
    Entry,
    EntryBudget,
    Insertion,
    LoreSettings,
    Match,
    Pattern,
    RegexFilter,
    Scope,
    TextFilter,
    When,
    Where,
)
from marginalia.store import Change, Store
from marginalia.values import EntryId
from tests.store.helpers import START, forget


def test_entries_come_back_with_every_field(store: Store) -> None:
    world = store.lorebooks.create(
        name="World", tags=["winter"], settings=LoreSettings(scan_parts=3, recursive=True), raw={"x": [1]}
    )
    full = store.lorebooks.add_entry(
        world,
        name="Varro",
        payload="Varro is a ferryman.",
        enabled=False,
        ordinal=7,
        filter=RegexFilter(r"\bvarro\b"),
        insertion=Insertion.DEPTH,
        tags=[" a ", "a", ""],
        negative_tags=["b"],
        note="why",
        match=Match(any=(Pattern(text="v*", kind="wildcard", case=True),)),
        scope=Scope(parts=4, recursive=True),
        when=When(chance=40.0, groups=("g",)),
        where=Where(depth=2, role="user", slot="s"),
        budget=EntryBudget(priority=3, reserve=20),
        syntax="jinja",
        raw={"uid": 0},
    )
    plain = store.lorebooks.add_entry(world, name="Ash", filter=TextFilter("ash"))
    forget(store)
    assert store.lorebooks.get(world) == world
    assert store.lorebooks.entries(world) == (full, plain)
    assert full.tags == ("a",)
    assert full.created is not None


def test_a_filled_lorebook_is_the_same_object_until_something_in_it_changes(store: Store) -> None:
    world, other = store.lorebooks.create(name="World"), store.lorebooks.create(name="Other")
    entry = store.lorebooks.add_entry(world, name="Varro")
    filled = store.library.filled_lorebook(world.id)
    store.lorebooks.add_entry(other, name="x")
    store.books.create(name="B", lorebook=world)
    assert store.library.filled_lorebook(world.id) is filled
    saved = store.lorebooks.save_entry(replace(entry, payload="new"))
    changed = store.library.filled_lorebook(world.id)
    assert changed is not None
    assert changed.entries == (saved,)
    store.lorebooks.save(replace(world, enabled=False))
    again = store.lorebooks.filled(world)
    assert again is not changed
    assert not again.lorebook.enabled


def test_a_deleted_lorebook_is_no_longer_filled(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    store.lorebooks.add_entry(world, name="Varro")
    assert store.library.filled_lorebook(world.id) is not None
    store.lorebooks.delete(world)
    assert store.library.filled_lorebook(world.id) is None
    with pytest.raises(NotFound):
        store.lorebooks.filled(world)
    store.lorebooks.restore(world)
    assert [each.name for each in store.lorebooks.entries(world)] == ["Varro"]


def test_a_deleted_entry_waits_in_the_trash(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    first, second = (store.lorebooks.add_entry(world, name=name) for name in ("a", "b"))
    store.lorebooks.delete_entry(first)
    assert store.lorebooks.entries(world) == (second,)
    assert store.lorebooks.deleted_entries(world) == (first,)
    with pytest.raises(NotFound):
        store.lorebooks.save_entry(first)
    assert store.lorebooks.restore_entry(first.id) == first
    assert store.lorebooks.entries(world) == (first, second)


def test_entries_are_ordered_by_creation_then_id(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    names = [store.lorebooks.add_entry(world, name=name, created=START).name for name in "ba"]
    store.lorebooks.add_entry(world, name="first", created=START.replace(year=2020))
    assert [each.name for each in store.lorebooks.entries(world)] == ["first", *names]


def test_an_entry_moves_to_another_lorebook(store: Store) -> None:
    world, other = store.lorebooks.create(name="World"), store.lorebooks.create(name="Other")
    entry = store.lorebooks.add_entry(world, name="Varro")
    store.library.filled_lorebook(world.id)
    moved = store.lorebooks.save_entry(replace(entry, lorebook_id=other.id))
    assert store.lorebooks.entries(world) == ()
    assert store.lorebooks.entries(other) == (moved,)


def test_subbooks_are_kept_and_may_form_a_circle(store: Store) -> None:
    sea = store.lorebooks.create(name="Sea")
    island = store.lorebooks.create(name="Island", subbooks=[sea])
    sea = store.lorebooks.save(replace(sea, subbooks=(island.id,)))
    assert (sea.subbooks, island.subbooks) == ((island.id,), (sea.id,))
    with pytest.raises(NotFound):
        store.lorebooks.save(replace(sea, subbooks=(island.id, 99)))  # type: ignore[arg-type]


def test_a_lorebook_that_refers_to_a_deleted_one_can_still_be_saved(store: Store) -> None:
    sea = store.lorebooks.create(name="Sea")
    island = store.lorebooks.create(name="Island", subbooks=[sea])
    store.lorebooks.delete(sea)
    assert store.lorebooks.save(replace(island, name="Isle")).subbooks == (sea.id,)


def test_blank_names_are_refused(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    with pytest.raises(InvalidInput, match="needs a name"):
        store.lorebooks.add_entry(world, name=" ")


def test_another_users_lore_is_not_there(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    entry = store.lorebooks.add_entry(world, name="Varro")
    other = store.for_user("odo")
    store.library.filled_lorebook(world.id)
    assert other.library.filled_lorebook(world.id) is None
    for attempt in (
        lambda: other.lorebooks.entries(world),
        lambda: other.lorebooks.add_entry(world, name="x"),
        lambda: other.lorebooks.save_entry(entry),
        lambda: other.lorebooks.delete_entry(entry),
        lambda: other.lorebooks.save_entry(Entry(id=EntryId(99), name="x")),
    ):
        with pytest.raises(NotFound):
            attempt()


def test_a_change_names_its_lorebook(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    told: list[Change] = []
    store.on_change(told.append)
    store.lorebooks.add_entry(world, name="Varro")
    assert told == [Change(kind="lorebook", lorebook_id=world.id)]


def test_many_entries_are_changed_in_one_transaction_or_none(store: Store) -> None:
    world, other = store.lorebooks.create(name="World"), store.lorebooks.create(name="Other")
    made = [store.lorebooks.add_entry(world, name=f"e{at}", tags=("old",)) for at in range(5)]
    changed = [replace(each, enabled=False, lorebook_id=other.id) for each in made[:3]]
    before = store.lorebooks.entries(world)
    with pytest.raises(NotFound):
        store.lorebooks.save_entries([*changed, replace(made[3], id=EntryId(99))])
    with pytest.raises(NotFound):
        store.lorebooks.save_entries([replace(made[0], lorebook_id=99)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        store.lorebooks.save_entries([replace(made[0], name=" ")])
    assert store.lorebooks.entries(world) == before
    assert store.lorebooks.save_entries(changed) == tuple(changed)
    forget(store)
    assert store.lorebooks.entries(other) == tuple(changed)
    assert store.lorebooks.entries(world) == tuple(made[3:])


def test_many_entries_go_to_the_trash_and_come_back_together(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    made = tuple(store.lorebooks.add_entry(world, name=f"e{at}") for at in range(4))
    heard: list[Change] = []
    store.on_change(heard.append)
    store.lorebooks.delete_entries(made[:3])
    assert heard == [Change(kind="lorebook", lorebook_id=world.id)]
    assert store.lorebooks.entries(world) == made[3:]
    with pytest.raises(NotFound):
        store.lorebooks.delete_entries([made[3].id, made[0].id])
    with pytest.raises(NotFound):
        store.lorebooks.restore_entries([made[0], made[3]])
    store.lorebooks.restore_entries(made[:3])
    assert store.lorebooks.entries(world) == made


def test_another_users_entries_cannot_be_changed_together(store: Store) -> None:
    world = store.lorebooks.create(name="World")
    mine = store.lorebooks.add_entry(world, name="mine")
    guest = store.for_user("guest")
    theirs = guest.lorebooks.create(name="Theirs")
    for act in (
        lambda: guest.lorebooks.save_entries([replace(mine, name="stolen")]),
        lambda: guest.lorebooks.save_entries([replace(mine, lorebook_id=theirs.id)]),
        lambda: guest.lorebooks.delete_entries([mine]),
    ):
        with pytest.raises(NotFound):
            act()
    assert store.lorebooks.entries(world) == (mine,)
