"""The tree of all branches as columns that Bokeh draws: marks, the lines between them, and what stands beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

    from marginalia.story.drawing import Drawing, Mark
    from marginalia.values import PartId

Columns: TypeAlias = dict[str, Any]

#: Tones that read on light and on dark paper.
ACTIVE, OTHER, SUMMARY, HIT = "#b5573f", "#a0968a", "#8d78b0", "#d9a92c"
_BEND = 0.42
_LABEL = 26


def marks_of(drawing: Drawing, found: Collection[PartId]) -> Columns:
    """One row per mark: place, size, form, colours, and the words beside it."""
    marks = drawing.marks
    halos = [HIT if any(part in found for part in mark.parts) else None for mark in marks] if found else None
    return {
        "x": [mark.lane for mark in marks],
        "y": [mark.row for mark in marks],
        "size": [_size(mark) for mark in marks],
        "form": [_FORMS[mark.kind] for mark in marks],
        "fill": [_fill(mark) for mark in marks],
        "line": [SUMMARY if mark.summary else ACTIVE if mark.active else OTHER for mark in marks],
        "width": [2.5 if mark.summary else 1.5 for mark in marks],
        "halo": halos or [None] * len(marks),
        "words": [words_of(mark) for mark in marks],
        "inside": [str(len(mark.parts)) if mark.kind != "part" else "" for mark in marks],
    }


def lines_of(drawing: Drawing) -> Columns:
    """One row per line from a mark to the one it hangs on, bent where it leaves for another lane."""
    lines: Columns = {"xs": [], "ys": [], "colour": [], "width": []}
    for mark in drawing.marks:
        if mark.parent is None:
            continue
        above = drawing.marks[mark.parent]
        straight = above.lane == mark.lane
        bend = above.row + _BEND
        lines["xs"].append(
            [above.lane, mark.lane] if straight else [above.lane, above.lane, mark.lane, mark.lane]
        )
        lines["ys"].append([above.row, mark.row] if straight else [above.row, bend, bend, mark.row])
        lines["colour"].append(ACTIVE if mark.active else OTHER)
        lines["width"].append(2.2 if mark.active else 1.2)
    return lines


def map_of(drawing: Drawing) -> Columns:
    """One row per stroke of the map: lines of marks on one lane, and how they leave others."""
    ends: dict[int, list[int]] = {}  # the first row and the last of the line that ends with a mark
    strokes: list[tuple[int, int, int, int, bool]] = []
    for at, mark in enumerate(drawing.marks):
        above = None if mark.parent is None else drawing.marks[mark.parent]
        line = ends.pop(mark.parent, None) if mark.parent is not None else None
        if above is not None and above.lane == mark.lane and line is not None:
            ends[at] = [line[0], mark.row]
            continue
        if line is not None and mark.parent is not None:
            ends[mark.parent] = line
        ends[at] = [mark.row, mark.row]
        if above is not None:
            strokes.append((above.lane, above.row, mark.lane, mark.row, mark.active))
    for at, (first, last) in ends.items():
        mark = drawing.marks[at]
        strokes.append((mark.lane, first, mark.lane, last, mark.active))
    columns = list(zip(*strokes, strict=True)) or [()] * 5
    x0, y0, x1, y1, active = (list(column) for column in columns)
    return {
        "x0": x0,
        "y0": y0,
        "x1": x1,
        "y1": y1,
        "colour": [ACTIVE if each else OTHER for each in active],
        "width": [2.0 if each else 1.0 for each in active],
    }


def mark_at(drawing: Drawing, x: float, y: float) -> int | None:
    """Which mark stands at a place of the picture, with some room for a hand that is not quite still."""
    lane, row = round(x), round(y)
    if max(abs(x - lane), abs(y - row)) > _BEND:
        return None
    return next((at for at, mark in enumerate(drawing.marks) if mark.lane == lane and mark.row == row), None)


def neighbour(drawing: Drawing, at: int, way: str) -> int:
    """The mark that an arrow key leads to.

    ``up`` is what it hangs on, ``down`` what goes on from it, ``left`` and ``right`` are beside it.
    """
    marks = drawing.marks
    here = marks[at]
    if way == "up":
        return at if here.parent is None else here.parent
    if way == "down":
        below = [index for index, mark in enumerate(marks) if mark.parent == at]
        return min(below, key=lambda index: (not marks[index].active, marks[index].lane), default=at)
    step = 1 if way == "right" else -1
    row = sorted((mark.lane, index) for index, mark in enumerate(marks) if mark.row == here.row)
    place = row.index((here.lane, at)) + step
    return row[place][1] if 0 <= place < len(row) else at


def words_of(mark: Mark) -> str:
    """What stands beside a mark; most have nothing."""
    label = mark.label if len(mark.label) <= _LABEL else mark.label[: _LABEL - 1] + "…"
    return " ".join(filter(None, ("★" if mark.bookmarked else "", label)))


_FORMS = {"part": "circle", "run": "hex", "stack": "square"}


def _size(mark: Mark) -> int:
    if mark.here:
        return 15
    return 18 if mark.kind != "part" else 10


def _fill(mark: Mark) -> str | None:
    if mark.partial and not mark.here:
        return None
    return ACTIVE if mark.active else OTHER
