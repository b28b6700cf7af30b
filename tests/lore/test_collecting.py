from __future__ import annotations

from datetime import UTC, datetime

from marginalia.lore.book import Entry, FilledLorebook, Lorebook
from marginalia.lore.collecting import Shelf, collect, in_order, would_cycle
from marginalia.values import LorebookId

WORLD, NORTH, SOUTH, PEAK = map(LorebookId, (1, 2, 3, 4))


def filled(number: int, *below: int, entries: tuple[Entry, ...] = (), **changes: object) -> FilledLorebook:
    subbooks = tuple(map(LorebookId, below))
    lorebook = Lorebook(id=LorebookId(number), name=f"book {number}", subbooks=subbooks, **changes)  # type: ignore[arg-type]
    return FilledLorebook(lorebook=lorebook, entries=entries)


def shelf(*lorebooks: FilledLorebook) -> Shelf:
    return {each.lorebook.id: each for each in lorebooks}.get


def ids(lorebooks: tuple[FilledLorebook, ...]) -> list[int]:
    return [each.lorebook.id for each in lorebooks]


def named(name: str, *, ordinal: int = 100, created: int | None = 1, tags: tuple[str, ...] = ()) -> Entry:
    time = None if created is None else datetime(2026, 1, created, tzinfo=UTC)
    return Entry(name=name, ordinal=ordinal, created=time, tags=tags)


def test_lorebooks_are_collected_breadth_first() -> None:
    books = shelf(filled(1, 2, 3), filled(2, 4), filled(3), filled(4))
    assert ids(collect(WORLD, books)) == [1, 2, 3, 4]


def test_what_only_a_disabled_lorebook_leads_to_is_dropped_with_it() -> None:
    assert ids(collect(WORLD, shelf(filled(1, 2), filled(2, 4, enabled=False), filled(4)))) == [1]


def test_a_lorebook_below_a_disabled_one_is_used_when_another_leads_to_it() -> None:
    books = shelf(filled(1, 2, 3), filled(2, 4, enabled=False), filled(3, 4), filled(4))
    assert ids(collect(WORLD, books)) == [1, 3, 4]


def test_a_disabled_root_gives_nothing() -> None:
    assert collect(WORLD, shelf(filled(1, 2, enabled=False), filled(2))) == ()


def test_a_deleted_lorebook_is_skipped() -> None:
    assert ids(collect(WORLD, shelf(filled(1, 2)))) == [1]
    assert collect(WORLD, shelf()) == ()


def test_cycles_end_and_each_lorebook_is_used_once() -> None:
    assert ids(collect(WORLD, shelf(filled(1, 1, 2, 2), filled(2, 1)))) == [1, 2]


def test_entries_are_ordered_by_ordinal_then_creation_then_as_collected() -> None:
    world = filled(1, entries=(named("zeta"), named("alpha", created=3), named("unknown", created=None)))
    sub = filled(2, entries=(named("mid", created=2), named("first", ordinal=-5), named("tie")))
    order = [each.entry.name for each in in_order((world, sub))]
    assert order == ["first", "zeta", "tie", "mid", "alpha", "unknown"]


def test_tags_of_a_lorebook_are_added_to_its_own_entries_only() -> None:
    world = filled(1, tags=("occult",), entries=(named("rite", tags=("ritual", "occult")),))
    plain = filled(2, entries=(named("plain", ordinal=200),))
    rite, other = in_order((world, plain))
    assert rite.entry.tags == ("ritual", "occult")
    assert other.entry is plain.entries[0]


def test_the_same_lorebooks_give_the_same_tuple_again() -> None:
    world = filled(1, entries=(named("a"),))
    assert in_order((world,)) is in_order((world,))
    assert in_order((world,)) is not in_order((filled(1, entries=(named("a"),)),))


def test_the_editor_is_told_about_a_cycle_before_it_is_made() -> None:
    books = shelf(filled(1, 2), filled(2, 3, enabled=False), filled(3))
    assert would_cycle(SOUTH, WORLD, books)
    assert would_cycle(WORLD, WORLD, books)
    assert not would_cycle(WORLD, SOUTH, books)
    assert not would_cycle(PEAK, WORLD, books)


def test_looking_for_a_cycle_ends_where_there_is_one_already() -> None:
    assert not would_cycle(PEAK, WORLD, shelf(filled(1, 2), filled(2, 1)))
