"""The tree of a story as a picture that stands still: the app's drawing, as SVG for a notebook cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from marginalia.ui.treepicture import ACTIVE, OTHER, SUMMARY, words_of
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.story.drawing import Drawing, Mark

_LANE, _ROW, _EDGE, _WORDS = 46, 26, 22, 190
_BEND = 0.42
_RADIUS = {"part": 5, "run": 9, "stack": 9}


def tree_svg(drawing: Drawing) -> str:
    """The picture; every mark says on hover which parts it is and what they count."""
    width, height = drawing.lanes * _LANE + _WORDS, max(1, drawing.rows) * _ROW + _EDGE
    lines = "".join(_line(mark, drawing.marks) for mark in drawing.marks)
    marks = "".join(_mark(mark) for mark in drawing.marks)
    parts = sum(len(mark.parts) for mark in drawing.marks)
    return (
        f'<div style="max-height:480px;overflow:auto"><svg role="img" aria-label="A story of {count(parts, "part")}" '
        f'width="{width}" height="{height}" font-family="system-ui,sans-serif" font-size="11">'
        f"{lines}{marks}</svg></div>"
    )


def _line(mark: Mark, marks: Sequence[Mark]) -> str:
    """From a mark to the one it hangs on, bent where it leaves for another lane."""
    if mark.parent is None:
        return ""
    above = marks[mark.parent]
    bend = above.row + _BEND
    places = [(above.lane, above.row), (above.lane, bend), (mark.lane, bend), (mark.lane, mark.row)]
    points = " ".join(f"{_at(lane):.0f},{_down(row):.0f}" for lane, row in places)
    return f'<polyline points="{points}" fill="none" stroke="{_tone(mark)}" stroke-width="1.6"/>'


def _mark(mark: Mark) -> str:
    at, down, words = _at(mark.lane), _down(mark.row), words_of(mark)
    fill = "none" if mark.partial else _tone(mark)
    rim = SUMMARY if mark.summary else _tone(mark)
    beside = (
        f'<text x="{at + 14:.0f}" y="{down + 4:.0f}" fill="currentColor">{escape(words)}</text>'
        if words
        else ""
    )
    inside = (
        f'<text x="{at:.0f}" y="{down + 4:.0f}" fill="#fff" text-anchor="middle">{len(mark.parts)}</text>'
        if mark.kind != "part"
        else ""
    )
    return (
        f'<g><title>{escape(_told(mark))}</title><circle cx="{at:.0f}" cy="{down:.0f}" r="{_RADIUS[mark.kind]}" '
        f'fill="{fill}" stroke="{rim}" stroke-width="2"/>{inside}{beside}</g>'
    )


def _told(mark: Mark) -> str:
    what = {"run": f"{count(len(mark.parts), 'part')} in a row", "stack": f"{len(mark.parts):,} versions"}
    facts = (what.get(mark.kind, f"part {mark.parts[0]}"), count(mark.tokens, "token"), mark.label)
    return " · ".join(filter(None, facts))


def _tone(mark: Mark) -> str:
    return ACTIVE if mark.active else OTHER


def _at(lane: float) -> float:
    return _EDGE + lane * _LANE


def _down(row: float) -> float:
    return _EDGE + row * _ROW
