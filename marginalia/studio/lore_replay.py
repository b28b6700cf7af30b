"""Lore over a whole branch: what every entry would have done at every part, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, overload

from marginalia.lore.book import Entry
from marginalia.story.frames import frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from marginalia.lore.verdicts import Verdict
    from marginalia.story.frames import DataFrame

_MOST_ROWS, _MOST_PARTS = 100, 240
_CELL, _HEIGHT, _NAMES = 5, 14, 190
_NAME = 28
_LOOKS = {"in": "#b98a2f", "nearly": "#b98a2f66"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """An entry that was in at a part, or nearly was: ``part`` counts from 1, ``reason`` is one plain sentence."""

    part: int
    active: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What became of one entry: the parts at which it was in, or nearly was; at all others it was out."""

    entry: Entry
    lorebook: str
    seen: tuple[Sighting, ...]
    parts: int

    @property
    def fired(self) -> tuple[int, ...]:
        """The numbers of the parts at which it was in."""
        return tuple(each.part for each in self.seen if each.active)

    @property
    def never(self) -> bool:
        """Whether it was in at no part."""
        return not self.fired

    @property
    def always(self) -> bool:
        """Whether it was in at every part."""
        return len(self.fired) == self.parts > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Sequence[Course]):
    """The course of every entry over the ``parts`` of a branch, in the order in which entries stand in a prompt.

    In a notebook it shows itself as a map of entries by parts.
    """

    courses: tuple[Course, ...]
    parts: int

    @classmethod
    def of(cls, turns: Iterable[Sequence[Verdict]]) -> Replay:
        """From the verdicts of one turn after the other, which all have the same entries."""
        first: Sequence[Verdict] = ()
        notes: list[list[Sighting]] = []
        parts = 0
        for number, verdicts in enumerate(turns, start=1):
            if number == 1:
                first, notes = verdicts, [[] for _ in verdicts]
            for note, verdict in zip(notes, verdicts, strict=True):
                if verdict.active or verdict.nearly:
                    note.append(Sighting(part=number, active=verdict.active, reason=verdict.reason))
            parts = number
        courses = (
            Course(entry=verdict.entry, lorebook=verdict.lorebook, seen=tuple(note), parts=parts)
            for verdict, note in zip(first, notes, strict=True)
        )
        return cls(courses=tuple(courses), parts=parts)

    def __len__(self) -> int:
        return len(self.courses)

    @overload
    def __getitem__(self, index: int) -> Course: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Course, ...]: ...
    def __getitem__(self, index: int | slice) -> Course | tuple[Course, ...]:
        return self.courses[index]

    def __iter__(self) -> Iterator[Course]:
        return iter(self.courses)

    @property
    def frame(self) -> DataFrame:
        """One row per entry: how often it was in, at which part first and last, and at which parts."""
        columns = ("entry", "lorebook", "fired", "first", "last", "never", "always", "at")
        rows = (
            (each.entry.name, each.lorebook, len(at), at[0] if at else None, at[-1] if at else None,
             each.never, each.always, at)
            for each in self.courses
            for at in [each.fired]
        )  # fmt: skip
        return frame(rows, *columns)

    @property
    def reasons(self) -> DataFrame:
        """One row for each entry that was in at a part, or nearly was, with the reason."""
        columns = ("part", "entry", "lorebook", "active", "reason")
        pairs = [(seen, each) for each in self.courses for seen in each.seen]
        pairs.sort(key=lambda pair: pair[0].part)
        rows = ((seen.part, each.entry.name, each.lorebook, seen.active, seen.reason) for seen, each in pairs)
        return frame(rows, *columns)

    def __str__(self) -> str:
        never, always = sum(each.never for each in self), sum(each.always for each in self)
        entries = f"{len(self):,} {'entry' if len(self) == 1 else 'entries'}"
        parts = f"{self.parts:,} {'part' if self.parts == 1 else 'parts'}"
        return f"{entries} over {parts}: {never:,} never in, {always:,} always."

    def _repr_html_(self) -> str:
        order = sorted(self.courses, key=lambda each: -len(each.fired))
        shown = order[:_MOST_ROWS]
        first = max(1, self.parts - _MOST_PARTS + 1)
        width, height = _NAMES + _CELL * (self.parts - first + 1), _HEIGHT * len(shown)
        rows = "".join(_row(each, at, first) for at, each in enumerate(shown))
        more = f" The first {len(shown):,} are shown." if len(shown) < len(order) else ""
        later = f" Parts {first:,} to {self.parts:,} are shown." if first > 1 else ""
        return (
            f'<div style="font:13px/1.5 system-ui,sans-serif"><b>{escape(str(self))}</b>{more}{later}'
            f'<div style="overflow-x:auto"><svg width="{width}" height="{height}" font-size="11" role="img" '
            f'aria-label="{escape(str(self))}" fill="currentColor">{rows}</svg></div></div>'
        )


def _row(course: Course, at: int, first: int) -> str:
    name = course.entry.name
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    title = escape(f"{name}: in at {len(course.fired):,} of {course.parts:,} parts")
    label = f'<text x="0" y="{at * _HEIGHT + 11}">{escape(short)}<title>{title}</title></text>'
    cells = "".join(_cell(turn, at, first) for turn in course.seen if turn.part >= first)
    return label + cells


def _cell(turn: Sighting, at: int, first: int) -> str:
    state = "in" if turn.active else "nearly"
    place = f'x="{_NAMES + (turn.part - first) * _CELL}" y="{at * _HEIGHT + 2}"'
    title = escape(f"part {turn.part}, {state}: {turn.reason.replace('*', '')}")
    size = f'width="{_CELL - 1}" height="{_HEIGHT - 3}"'
    return f'<rect {place} {size} fill="{_LOOKS[state]}"><title>{title}</title></rect>'
