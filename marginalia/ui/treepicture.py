"""The tree of all branches as columns that Bokeh draws: marks, the lines between them, and what stands beside them.

Numbers and colours are arrays, which go to the browser as they are: a picture of thousands of marks must not hold up
the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from marginalia.story.drawing import Drawing, Mark
    from marginalia.values import PartId

Columns: TypeAlias = dict[str, Any]

#: Tones that read on light and on dark paper.
ACTIVE, OTHER, SUMMARY, HIT = "#b5573f", "#a0968a", "#8d78b0", "#d9a92c"
_NOTHING = 0
_BEND = 0.42
_LABEL = 26
_FORMS = {"run": "hex", "stack": "square"}


def tone(colour: str) -> int:
    """A colour as a number in a column: red, green, blue and opacity, one byte each."""
    return int(f"{colour[1:]}ff", 16)


_ACTIVE, _OTHER, _SUMMARY, _HIT = (tone(each) for each in (ACTIVE, OTHER, SUMMARY, HIT))


def marks_of(drawing: Drawing, found: Collection[PartId]) -> Columns:
    """One row per mark, in their order: place, size, colours; what is folded has none, see :func:`folded_of`."""
    marks = drawing.marks
    halos = (_HIT if any(part in found for part in mark.parts) else _NOTHING for mark in marks)
    return {
        "x": _numbers(mark.lane for mark in marks),
        "y": _numbers(mark.row for mark in marks),
        "size": _numbers(0 if mark.kind != "part" else 15 if mark.here else 10 for mark in marks),
        "fill": _tones(_NOTHING if mark.partial and not mark.here else _tone(mark) for mark in marks),
        "line": _tones(_SUMMARY if mark.summary else _tone(mark) for mark in marks),
        "width": _numbers(2.5 if mark.summary else 1.5 for mark in marks),
        "halo": _tones(halos if found else (_NOTHING for _ in marks)),
    }


def folded_of(drawing: Drawing) -> Columns:
    """One row per run or stack: place, form, colours, how many parts it has, and ``at``, which mark it is."""
    folded = [(at, mark) for at, mark in enumerate(drawing.marks) if mark.kind != "part"]
    return {
        "at": _numbers(at for at, _ in folded),
        "x": _numbers(mark.lane for _, mark in folded),
        "y": _numbers(mark.row for _, mark in folded),
        "form": [_FORMS[mark.kind] for _, mark in folded],
        "fill": _tones(_NOTHING if mark.partial else _tone(mark) for _, mark in folded),
        "line": _tones(_SUMMARY if mark.summary else _tone(mark) for _, mark in folded),
        "inside": [str(len(mark.parts)) for _, mark in folded],
    }


def words_beside(drawing: Drawing) -> Columns:
    """One row per mark that has something written beside it; most have nothing."""
    said = [(mark, words) for mark in drawing.marks if (words := words_of(mark))]
    return {
        "x": _numbers(mark.lane for mark, _ in said),
        "y": _numbers(mark.row for mark, _ in said),
        "words": [words for _, words in said],
    }


def lines_of(drawing: Drawing) -> Columns:
    """What leads from a mark to the one it hangs on, stroke by stroke, bent where it leaves for another lane."""
    strokes: list[tuple[float, float, float, float, bool]] = []
    for mark in drawing.marks:
        if mark.parent is None:
            continue
        above = drawing.marks[mark.parent]
        if above.lane == mark.lane:
            strokes.append((mark.lane, above.row, mark.lane, mark.row, mark.active))
            continue
        bend = above.row + _BEND
        strokes.append((above.lane, above.row, above.lane, bend, mark.active))
        strokes.append((above.lane, bend, mark.lane, bend, mark.active))
        strokes.append((mark.lane, bend, mark.lane, mark.row, mark.active))
    return _strokes(strokes, 2.2, 1.2)


def map_of(drawing: Drawing) -> Columns:
    """One row per stroke of the map: lines of marks on one lane, and how they leave others."""
    ends: dict[int, list[int]] = {}  # the first row and the last of the line that ends with a mark
    strokes: list[tuple[float, float, float, float, bool]] = []
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
    return _strokes(strokes, 2.0, 1.0)


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


def _tone(mark: Mark) -> int:
    return _ACTIVE if mark.active else _OTHER


def _strokes(strokes: list[tuple[float, float, float, float, bool]], strong: float, weak: float) -> Columns:
    places = np.array([stroke[:4] for stroke in strokes], dtype=np.float32).reshape(-1, 4)
    columns: Columns = dict(zip(("x0", "y0", "x1", "y1"), places.T.copy(), strict=True))
    active = np.array([stroke[4] for stroke in strokes], dtype=bool)
    columns["colour"] = np.where(active, np.uint32(_ACTIVE), np.uint32(_OTHER))
    columns["width"] = np.where(active, np.float32(strong), np.float32(weak))
    return columns


def _numbers(values: Iterable[float]) -> NDArray[np.float32]:
    return np.fromiter(values, dtype=np.float32)


def _tones(values: Iterable[int]) -> NDArray[np.uint32]:
    return np.fromiter(values, dtype=np.uint32)
