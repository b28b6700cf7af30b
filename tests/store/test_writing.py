"""Words per day: what counts for the writer, what for the model, and what for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from marginalia.errors import InvalidInput
from marginalia.store import Store, plant_sample
from marginalia.store.writing import Day, WritingDays
from marginalia.testing import WordTokenizer

NIGHT = timezone(timedelta(hours=2))


class Clock:
    """Stands still until it is set; every look is a millisecond later, as on a real one."""

    def __init__(self) -> None:
        self.now = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[Store]:
    ids = iter(range(10_000))
    opened = Store.open(
        ":memory:", user="mara", clock=clock, tokenizer=WordTokenizer(), new_uid=lambda: f"u{next(ids)}"
    )
    yield opened
    opened.close()


def today(store: Store) -> tuple[int, int]:
    day = WritingDays(store.desk).days(1)[-1]
    return day.by_hand, day.by_model


def test_words_by_hand_and_by_a_model_stand_on_their_day(store: Store, clock: Clock) -> None:
    book = store.books.create(name="Ferry")
    store.story.append(book, "one two three")
    clock.now += timedelta(days=2)
    store.story.append(book, "four five", model="stub")
    assert WritingDays(store.desk).days(3) == (
        Day(day=date(2027, 3, 1), by_hand=3),
        Day(day=date(2027, 3, 2)),
        Day(day=date(2027, 3, 3), by_model=2),
    )


def test_an_edit_counts_what_it_adds_and_never_less_than_nothing(store: Store) -> None:
    book = store.books.create(name="Ferry")
    part = store.story.append(book, "one two three", model="stub")
    store.story.edit(part, "one two three four five")
    store.story.edit(part, "one")
    assert today(store) == (2, 3)


def test_copies_merges_and_splits_are_no_writing(store: Store) -> None:
    book = store.books.create(name="Ferry")
    first = store.story.append(book, "one two three")
    second = store.story.append(book, "four five six")
    store.story.fork(first)
    store.story.merge(second)
    store.story.split(first, 8)
    assert today(store) == (6, 0)


def test_the_sample_and_the_books_of_others_count_nothing(store: Store) -> None:
    plant_sample(store)
    other = store.for_user("elias")
    book = other.books.create(name="Else")
    other.story.append(book, "one two")
    assert today(store) == (0, 0)
    assert today(other) == (2, 0)


def test_a_day_begins_at_midnight_where_the_writer_is(store: Store, clock: Clock) -> None:
    book = store.books.create(name="Ferry")
    clock.now = datetime(2027, 3, 1, 22, 30, tzinfo=UTC).astimezone(NIGHT)
    store.story.append(book, "one two")
    assert WritingDays(store.desk).days(2)[-1] == Day(day=date(2027, 3, 2), by_hand=2)


def test_what_is_deleted_was_written_all_the_same(store: Store) -> None:
    book = store.books.create(name="Ferry")
    store.story.append(book, "one two")
    store.books.delete(book)
    assert today(store) == (2, 0)


def test_no_days_is_no_number_of_days(store: Store) -> None:
    with pytest.raises(InvalidInput):
        WritingDays(store.desk).days(0)
