"""The tree of a story as a picture that stands still: the marks and lines of the app's, as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from marginalia.ui.treepicture import lines_of, marks_of
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.story.drawing import Drawing, Mark

_LANE, _ROW, _EDGE, _WORDS = 46, 26, 22, 190
_NONE = "none"


def tree_svg(drawing: Drawing) -> str:
    """The picture; every mark says on hover which parts it is and what they count."""
    columns, lines = marks_of(drawing, ()), lines_of(drawing)
    width, height = drawing.lanes * _LANE + _WORDS, max(1, drawing.rows) * _ROW + _EDGE
    paths = "".join(
        f'<polyline points="{_points(xs, ys)}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        for xs, ys, colour, thick in zip(
            *(lines[name] for name in ("xs", "ys", "colour", "width")), strict=True
        )
    )
    names = ("x", "y", "size", "fill", "line", "width", "words", "inside")
    rows = zip(drawing.marks, *(columns[name] for name in names), strict=True)
    marks = "".join(_mark(mark, *values) for mark, *values in rows)
    parts = sum(len(mark.parts) for mark in drawing.marks)
    return (
        f'<div style="max-height:480px;overflow:auto"><svg role="img" aria-label="A story of {count(parts, "part")}" '
        f'width="{width}" height="{height}" font-family="system-ui,sans-serif" font-size="11">'
        f"{paths}{marks}</svg></div>"
    )


def _mark(mark: Mark, *values: object) -> str:
    x, y, size, fill, line, thick, words, inside = values
    at, down = _place(x, y)
    beside = (
        f'<text x="{at + 14:.0f}" y="{down + 4:.0f}" fill="currentColor">{escape(str(words))}</text>'
        if words
        else ""
    )
    number = (
        f'<text x="{at:.0f}" y="{down + 4:.0f}" fill="#fff" text-anchor="middle">{inside}</text>'
        if inside
        else ""
    )
    return (
        f'<g><title>{escape(_told(mark))}</title><circle cx="{at:.0f}" cy="{down:.0f}" r="{_half(size)}" '
        f'fill="{fill or _NONE}" stroke="{line}" stroke-width="{thick}"/>{number}{beside}</g>'
    )


def _told(mark: Mark) -> str:
    first = mark.parts[0]
    what = {"run": f"{count(len(mark.parts), 'part')} in a row", "stack": f"{len(mark.parts):,} versions"}
    facts = (what.get(mark.kind, f"part {first}"), count(mark.tokens, "token"), mark.label)
    return " · ".join(filter(None, facts))


def _points(xs: list[float], ys: list[float]) -> str:
    places = (_place(x, y) for x, y in zip(xs, ys, strict=True))
    return " ".join(f"{at:.0f},{down:.0f}" for at, down in places)


def _place(x: object, y: object) -> tuple[float, float]:
    return _EDGE + float(str(x)) * _LANE, _EDGE + float(str(y)) * _ROW


def _half(size: object) -> float:
    return float(str(size)) / 2
