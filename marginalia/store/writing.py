"""How many words were written on each day, by hand and by models, from the texts that are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from marginalia.errors import InvalidInput
from marginalia.store.codec import bare, utc
from marginalia.story.parts import count_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from marginalia.store.desk import Desk
    from marginalia.store.session import Row

_BY_MODEL = {"generated", "recovered"}
_BY_HAND = {"written", "edited"}
# Merging and splitting store texts that were there already; the step is told just after its versions.
_TEXTS = """
WITH touched AS (SELECT DISTINCT part_id FROM part_text WHERE created_at >= ?),
versions AS (
  SELECT book_id, origin, created_at, text, CAST(detail->>'$.words' AS INTEGER) AS words,
    coalesce(detail->>'$.model', '') AS model, detail->'$.attributes.sample' AS sample,
    lag(text) OVER (PARTITION BY part_id ORDER BY id) AS former
  FROM part_text WHERE part_id IN (SELECT part_id FROM touched)
)
SELECT origin, created_at, coalesce(words, 0), model,
  former IS NOT NULL AND starts_with(text, former), former
FROM versions
WHERE created_at >= ? AND sample IS NULL AND book_id IN (SELECT id FROM book WHERE owner = ?)
  AND NOT (origin = 'edited' AND EXISTS (
    SELECT 1 FROM step WHERE kind IN ('merge', 'split') AND step.book_id = versions.book_id
      AND step.created_at BETWEEN versions.created_at AND versions.created_at + INTERVAL 2 SECOND))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The words of one day, in the time zone of the clock."""

    day: date
    by_hand: int = 0
    by_model: int = 0


class WritingDays:
    """``studio.writing``: what was written, day by day, in all books of one user, also in those in the trash.

    Words count on the day they were written, whatever became of them. A text that was written anew counts whole, one
    that was edited or continued counts what it grew by; copies, imports and the sample book count nothing.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def days(self, number: int = 30) -> tuple[Day, ...]:
        """The last *number* days, the oldest first, today last; raises ``InvalidInput`` below 1."""
        if number < 1:
            raise InvalidInput("At least one day can be counted.")
        now = self._desk.clock()
        first = now.date() - timedelta(days=number - 1)
        start = bare(datetime.combine(first, time(), now.tzinfo))
        rows = self._desk.database.read(lambda session: session.rows(_TEXTS, start, start, self._desk.user))
        counted = _counted(rows, now.tzinfo)
        days = [first + timedelta(days=at) for at in range(number)]
        return tuple(
            Day(day=day, by_hand=counted.get((day, False), 0), by_model=counted.get((day, True), 0))
            for day in days
        )


def _counted(rows: Sequence[Row], zone: tzinfo | None) -> dict[tuple[date, bool], int]:
    """The words by day and by whether a model wrote them."""
    counted: dict[tuple[date, bool], int] = {}
    for origin, created, words, model, grown, former in rows:
        by_model = origin in _BY_MODEL or (origin == "written" and bool(model))
        if not by_model and origin not in _BY_HAND:
            continue
        before = count_words(former) if former and (grown or origin == "edited") else 0
        key = (utc(created).astimezone(zone).date(), by_model)
        counted[key] = counted.get(key, 0) + max(0, words - before)
    return counted
