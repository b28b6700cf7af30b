"""The replay as a picture: entries down, parts across; hovering explains a cell, a click goes to its part."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.models import BasicTicker, ColumnDataSource, FixedTicker, HoverTool, Range1d, TapTool
from bokeh.plotting import figure

from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.studio.lore_map import Cell, StoryMap
    from marginalia.values import EntryId

_COLUMNS = ("part", "row", "colour", "alpha", "entry", "state", "reason")
_QUIET = "#8a8178"
_LOOKS = {"in": ("#b98a2f", 0.95), "nearly": ("#b98a2f", 0.4), "out": (_QUIET, 0.14)}
_ROW, _FRAME, _NAME = 17, 40, 20


class LoreMap:
    """The figure, changed in place. ``picked`` is called with an entry and a part."""

    def __init__(self, picked: Callable[[EntryId, int], None]) -> None:
        self._doc = pn.state.curdoc
        self._picked = picked
        self._shown: StoryMap | None = None
        # Lists, because an array would not survive a reconnect (Bokeh issue 15347).
        self._cells = ColumnDataSource(data={name: list[Any]() for name in _COLUMNS})
        self._cells.selected.on_change("indices", self._tapped)
        self._across, self._down = Range1d(start=0.5, end=1.5), Range1d(start=0.5, end=-0.5)
        self.pane = pn.Column(sizing_mode="stretch_width", margin=0)

    @cached_property
    def _plot(self) -> figure:
        """Made when there is something to show: figures are most of what building a page takes."""
        return self._figure()

    @cached_property
    def _frame(self) -> pn.pane.Bokeh:
        frame = pn.pane.Bokeh(  # type: ignore[no-untyped-call]
            self._plot, height=_FRAME, sizing_mode="stretch_width", margin=0
        )
        self.pane.append(frame)
        return frame

    def show(self, made: StoryMap) -> None:
        """Draw another replay."""
        self._shown = made
        height, frame = _FRAME + _ROW * max(1, len(made.rows)), self._frame
        with pn.io.hold(self._doc):
            self._cells.selected.indices = []
            self._cells.data = _columns(made)
            self._across.update(start=made.first - 0.5, end=max(made.first, made.parts) + 0.5)
            self._down.start = max(1, len(made.rows)) - 0.5
            axis = self._plot.yaxis[0]
            axis.ticker = FixedTicker(ticks=list(range(len(made.rows))))
            axis.major_label_overrides = {at: _short(name) for at, (_, name) in enumerate(made.rows)}
            self._plot.height = height
            frame.height = height  # while messages are held: the pane hands it on to the figure

    def _figure(self) -> figure:
        plot = figure(
            height=_FRAME, sizing_mode="stretch_width", tools="", toolbar_location=None,
            x_range=self._across, y_range=self._down, min_border=0, outline_line_color=None,
            background_fill_alpha=0, border_fill_alpha=0,
        )  # fmt: skip
        plot.grid.visible = False
        for axis in (*plot.xaxis, *plot.yaxis):
            axis.update(
                axis_line_color=None, major_tick_line_color=None, minor_tick_line_color=None,
                major_label_text_color=_QUIET, major_label_text_font_size="11px",
            )  # fmt: skip
        plot.xaxis[0].ticker = BasicTicker(min_interval=1, num_minor_ticks=0)
        cells = plot.rect(
            x="part", y="row", width=0.88, height=0.8, color="colour", fill_alpha="alpha", line_alpha=0,
            nonselection_fill_alpha="alpha", hover_line_alpha=1, source=self._cells,
        )  # fmt: skip
        tips = [("", "@entry, part @part: @state"), ("", "@reason")]
        plot.add_tools(HoverTool(renderers=[cells], tooltips=tips), TapTool(renderers=[cells]))
        return plot

    def _tapped(self, _name: str, _old: object, new: list[int]) -> None:
        if new and self._shown is not None and new[0] < len(self._shown.cells):
            cell = self._shown.cells[new[0]]
            self._picked(self._shown.rows[cell.row][0], cell.part)


def told(made: StoryMap) -> str:
    """A replay in a sentence: which entries are never in, and which always."""
    never = sum(not number for number in made.fired.values())
    always = sum(number == made.parts > 0 for number in made.fired.values())
    shown = f"Parts {made.first:,} to {made.parts:,}" if made.first > 1 else count(made.parts, "part")
    rows = f"{len(made.rows):,} of " if len(made.rows) < len(made.fired) else ""
    entries = f"{len(made.fired):,} entr{'y' if len(made.fired) == 1 else 'ies'}"
    return f"{shown}, {rows}{entries}; {never:,} never in, {always:,} always."


def _columns(made: StoryMap) -> dict[str, Any]:
    columns: dict[str, Any] = {name: list[Any]() for name in _COLUMNS}
    for cell in made.cells:
        state = _state(cell)
        values = (cell.part, cell.row, *_LOOKS[state], made.rows[cell.row][1], state, cell.reason)
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name].append(value)
    return columns


def _state(cell: Cell) -> str:
    return "in" if cell.active else "nearly" if cell.nearly else "out"


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
