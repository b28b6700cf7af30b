"""The plot of the tree: what Bokeh draws and how one moves about in it, with a small map beside it when it is large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import panel as pn
from bokeh.core.properties import value
from bokeh.events import DoubleTap, Tap
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    HoverTool,
    PanTool,
    Range1d,
    RangeTool,
    ResetTool,
    WheelPanTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from marginalia.story.drawing import Drawing
from marginalia.ui.treepicture import (
    HIT,
    OTHER,
    folded_of,
    lines_of,
    map_of,
    mark_at,
    marks_of,
    words_beside,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bokeh.events import Event

    from marginalia.story.drawing import Mark
    from marginalia.values import PartId

_ROWS, _LANES = 22.0, 7.0
_TOP, _LEFT = -0.8, -0.7
_MAP = 46
_SANS = value("Inter, system-ui, sans-serif")
_POINTED = """
const row = cb_data.index.indices[0] ?? -1, at = cb_data.renderer.data_source.data.at?.[row] ?? row
if (at >= 0 && asked.data.at[0] !== at) asked.data = {at: [at]}
"""
_BARE: dict[str, Any] = {
    "toolbar_location": None,
    "x_axis_type": None,
    "y_axis_type": None,
    "min_border": 0,
    "outline_line_color": None,
    "background_fill_alpha": 0,
    "border_fill_alpha": 0,
}


class TreePlot:
    """Shows a drawing, and says which mark is *pointed* at, *tapped* or *double_tapped*."""

    def __init__(
        self,
        *,
        pointed: Callable[[Mark], None],
        tapped: Callable[[Mark], None],
        double_tapped: Callable[[Mark], None],
    ) -> None:
        self._doc = pn.state.curdoc
        self._told = pointed
        self.drawing = Drawing()
        self._marks = ColumnDataSource(data=marks_of(self.drawing, ()))
        self._lines = ColumnDataSource(data=lines_of(self.drawing))
        self._folded = ColumnDataSource(data=folded_of(self.drawing))
        self._words = ColumnDataSource(data=words_beside(self.drawing))
        self._strokes = ColumnDataSource(data=map_of(self.drawing))
        self._spot = ColumnDataSource(data={"x": [], "y": []})
        self._asked = ColumnDataSource(data={"at": [-1]})
        self._asked.on_change("data", self._pointed)
        self._across, self._down = Range1d(start=_LEFT, end=_LANES), Range1d(start=_ROWS, end=_TOP)
        self._all_across, self._all_down = Range1d(start=0, end=1), Range1d(start=1, end=0)
        self.map = pn.pane.Bokeh(self._map_figure(), width=_MAP, sizing_mode="stretch_height")  # type: ignore[no-untyped-call]
        plot = self._figure()
        for kind, tell in ((Tap, tapped), (DoubleTap, double_tapped)):
            plot.on_event(kind, lambda event, tell=tell: self._at(event, tell))
        self._mapped = False
        self.layout = pn.Row(
            pn.pane.Bokeh(plot, sizing_mode="stretch_both"),  # type: ignore[no-untyped-call]
            sizing_mode="stretch_both",
            margin=0,
        )

    def draw(self, drawing: Drawing, found: Collection[PartId]) -> None:
        """Show a drawing; the parts that were *found* have a halo."""
        rows, lanes = drawing.rows, drawing.lanes
        fresh, self.drawing = drawing is not self.drawing, drawing
        with pn.io.hold(self._doc):
            self._marks.data = marks_of(drawing, found)
            if fresh:
                self._lines.data, self._folded.data = lines_of(drawing), folded_of(drawing)
                self._words.data = words_beside(drawing)
                self._strokes.data = map_of(drawing)
                self._all_down.update(start=max(rows, _ROWS) + 0.5, end=_TOP)
                self._all_across.update(start=_LEFT, end=max(lanes, _LANES))
        if fresh:
            self._lay_out(mapped=rows > 1.5 * _ROWS or lanes > 1.5 * _LANES)

    def _lay_out(self, *, mapped: bool) -> None:
        """Have the map beside the picture or not; a figure that is only made invisible still stands there."""
        if mapped and not self._mapped:
            self.layout.append(self.map)
        elif self._mapped and not mapped:
            self.layout.remove(self.map)
        self._mapped = mapped

    def look_at(self, mark: Mark) -> None:
        """Have a mark in sight; where it is already, the picture stays."""
        (bottom, top), (left, right) = _ends(self._down), _ends(self._across)
        with pn.io.hold(self._doc):
            if not top < mark.row < bottom - 1:
                start = max(_TOP, mark.row - (bottom - top) * 0.75)
                self._down.update(start=start + bottom - top, end=start)
            if not left < mark.lane < right:
                start = max(_LEFT, mark.lane - (right - left) * 0.5)
                self._across.update(start=start, end=start + right - left)

    def ring(self, mark: Mark | None) -> None:
        """Draw a ring around a mark, the chosen one."""
        with pn.io.hold(self._doc):
            self._spot.data = {"x": [mark.lane], "y": [mark.row]} if mark is not None else {"x": [], "y": []}

    def _figure(self) -> figure:
        wheel = WheelPanTool(dimension="height")
        zoom, pan = WheelZoomTool(modifiers={"ctrl": True}), PanTool()
        plot = figure(
            sizing_mode="stretch_both", tools=[pan, wheel, zoom, ResetTool()], active_scroll=wheel, active_drag=pan,
            x_range=self._across, y_range=self._down, **_BARE,
        )  # fmt: skip
        plot.grid.visible = False
        plot.segment("x0", "y0", "x1", "y1", line_color="colour", line_width="width", source=self._lines)
        ring: dict[str, Any] = {"fill_color": None, "level": "glyph"}
        plot.scatter("x", "y", size=20, line_color="halo", line_width=3, source=self._marks, **ring)
        plot.scatter("x", "y", size=22, line_color=OTHER, line_width=1.5, source=self._spot, **ring)
        look: dict[str, Any] = {"fill_color": "fill", "line_color": "line", "hover_fill_color": HIT}
        marks = plot.scatter("x", "y", size="size", line_width="width", source=self._marks, **look)
        folded = plot.scatter("x", "y", size=18, marker="form", source=self._folded, **look)
        small: dict[str, Any] = {"text_baseline": "middle", "text_font": _SANS}
        plot.text(
            "x", "y", text="words", x_offset=11, text_font_size="11px", text_color="#8f857a",
            source=self._words, **small,
        )  # fmt: skip
        plot.text(
            "x", "y", text="inside", text_align="center", text_font_size="9px", text_color="#fffaf4",
            source=self._folded, **small,
        )  # fmt: skip
        told = CustomJS(args={"asked": self._asked}, code=_POINTED)
        plot.add_tools(HoverTool(renderers=[marks, folded], tooltips=None, callback=told))
        return plot

    def _map_figure(self) -> figure:
        """All of the tree as strokes, and over it what the picture shows of it, to be dragged."""
        plot = figure(
            width=_MAP, sizing_mode="stretch_height", tools=[], x_range=self._all_across, y_range=self._all_down,
            **_BARE,
        )  # fmt: skip
        plot.grid.visible = False
        plot.segment("x0", "y0", "x1", "y1", line_color="colour", line_width="width", source=self._strokes)
        window = RangeTool(x_range=self._across, y_range=self._down)
        window.overlay.update(
            fill_color=OTHER, fill_alpha=0.22, line_color=OTHER, line_alpha=0.9, line_dash="solid"
        )
        plot.add_tools(window)
        plot.on_event(Tap, self._jump)
        return plot

    def _jump(self, event: Event) -> None:
        """Show what was tapped on the map."""
        y = getattr(event, "y", None)
        if y is not None:
            bottom, top = _ends(self._down)
            start = max(_TOP, float(y) - (bottom - top) / 2)
            with pn.io.hold(self._doc):
                self._down.update(start=start + bottom - top, end=start)

    def _pointed(self, _name: str, _old: object, new: dict[str, list[int]]) -> None:
        at = new["at"][0]
        if 0 <= at < len(self.drawing.marks):
            self._told(self.drawing.marks[at])

    def _at(self, event: Event, tell: Callable[[Mark], None]) -> None:
        x, y = getattr(event, "x", None), getattr(event, "y", None)
        at = None if x is None or y is None else mark_at(self.drawing, x, y)
        if at is not None:
            tell(self.drawing.marks[at])


def _ends(span: Range1d) -> tuple[float, float]:
    """Where a range starts and ends; Bokeh types them as anything that an axis can show."""
    return float(cast("float", span.start)), float(cast("float", span.end))
