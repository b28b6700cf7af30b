"""The tree of all branches: a picture to look around in, and below it what the part under the pointer says."""

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
    ResetTool,
    WheelPanTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from marginalia.story.drawing import Drawing
from marginalia.ui.components.telling import TreeCard
from marginalia.ui.treecards import card_of
from marginalia.ui.treepicture import HIT, OTHER, lines_of, mark_at, marks_of, neighbour
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.ui.workbench import TREE

if TYPE_CHECKING:
    from bokeh.events import Event

    from marginalia.story.drawing import Mark
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape
    from marginalia.ui.workbench import Workbench
    from marginalia.values import PartId

_ROWS, _LANES = 22.0, 7.0
_TOP, _LEFT = -0.8, -0.7
_CARD = 214
_SANS = value("Inter, system-ui, sans-serif")
_POINTED = "const at = cb_data.index.indices[0] ?? -1; if (at >= 0 && asked.data.at[0] !== at) asked.data = {at: [at]}"
_NONE = Drawing()


class TreeView(View):
    """Draws while its tab is open; what it costs follows the marks that are drawn, long runs are one."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._doc = pn.state.curdoc
        self._drawing = _NONE
        self._shape: object = None
        self._book: int | None = None
        self._opened: set[PartId] = set()
        self._root: PartId | None = None
        self._chosen: PartId | None = None
        self._marks = ColumnDataSource(data=marks_of(_NONE, ()))
        self._lines = ColumnDataSource(data=lines_of(_NONE))
        self._spot = ColumnDataSource(data={"x": [], "y": []})
        self._asked = ColumnDataSource(data={"at": [-1]})
        self._asked.on_change("data", self._pointed)
        self._across, self._down = Range1d(start=_LEFT, end=_LANES), Range1d(start=_ROWS, end=_TOP)
        self._card = TreeCard(height=_CARD, sizing_mode="stretch_width")
        self._card.hear(
            walk=self._walk, read=self._read, continue_=self._continue, bookmark=self._bookmark, label=self._label,
            hoist=self._hoist, fold=self._fold,
        )  # fmt: skip
        self._layout = pn.Column(
            pn.pane.Bokeh(self._figure(), sizing_mode="stretch_both"),  # type: ignore[no-untyped-call]
            self._card,
            sizing_mode="stretch_both",
            margin=0,
        )
        self.follow("shape", then=self._draw)
        self.follow("book", then=self._leave)
        bench.param.watch(self._draw, ["side"])  # pyright: ignore[reportUnknownMemberType]
        bench.param.watch(self._redraw, ["found"])  # pyright: ignore[reportUnknownMemberType]

    def __panel__(self) -> pn.Column:
        return self._layout

    def _figure(self) -> figure:
        wheel = WheelPanTool(dimension="height")
        zoom, pan = WheelZoomTool(modifiers={"ctrl": True}), PanTool()
        plot = figure(
            sizing_mode="stretch_both", tools=[pan, wheel, zoom, ResetTool()], active_scroll=wheel, active_drag=pan,
            toolbar_location=None, x_range=self._across, y_range=self._down, x_axis_type=None, y_axis_type=None,
            min_border=0, outline_line_color=None, background_fill_alpha=0, border_fill_alpha=0,
        )  # fmt: skip
        plot.grid.visible = False
        plot.multi_line("xs", "ys", line_color="colour", line_width="width", source=self._lines)
        plot.scatter(
            "x",
            "y",
            size=20,
            fill_color=None,
            line_color="halo",
            line_width=3,
            source=self._marks,
            level="glyph",
        )
        plot.scatter("x", "y", size=22, fill_color=None, line_color=OTHER, line_width=1.5, source=self._spot)
        marks = plot.scatter(
            "x", "y", size="size", marker="form", fill_color="fill", line_color="line", line_width="width",
            hover_fill_color=HIT, source=self._marks,
        )  # fmt: skip
        small: dict[str, Any] = {"source": self._marks, "text_baseline": "middle", "text_font": _SANS}
        plot.text("x", "y", text="words", x_offset=11, text_font_size="11px", text_color="#8f857a", **small)
        plot.text(
            "x", "y", text="inside", text_align="center", text_font_size="9px", text_color="#fffaf4", **small
        )
        told = CustomJS(args={"asked": self._asked}, code=_POINTED)
        plot.add_tools(HoverTool(renderers=[marks], tooltips=None, callback=told))
        plot.on_event(Tap, self._tapped)
        plot.on_event(DoubleTap, self._double_tapped)
        return plot

    # The picture.

    def _leave(self, *_: object) -> None:
        """Another book, or the same one changed; what was opened in another book is not asked for again."""
        book = self.desk.book.id if self.desk.book is not None else None
        if book != self._book:
            self._book = book
            self._opened, self._root, self._chosen, self._shape = set(), None, None, None
            self._card.card = {}

    async def _draw(self, *_: object) -> None:
        shape: Shape | None = self.desk.shape
        if self._bench.side != TREE or shape is None or self.desk.book is None or shape is self._shape:
            return
        if self._root not in shape.tree:
            self._root = None
        book, drawn = self.desk.book.id, list[Drawing]()
        story, opened = self.desk.studio.story, frozenset(self._opened)

        async def look() -> None:
            drawn.append(await aside(story.drawing, book, root=self._root, opened=opened))

        if await self.desk.attempt(look()) and shape is self.desk.shape:
            self._shape, self._drawing = shape, drawn[0]
            self._redraw()
            self._follow_leaf(shape.leaf)
            await self._show_card(self._chosen, chosen=True)

    def _redraw(self, *_: object) -> None:
        if self._bench.side != TREE:
            return
        with pn.io.hold(self._doc):
            self._lines.data = lines_of(self._drawing)
            self._marks.data = marks_of(self._drawing, self._bench.found.parts)

    def _follow_leaf(self, leaf: PartId | None) -> None:
        """Have the end of the branch in sight; where it is already, the picture stays."""
        mark = self._drawing.find(leaf) if leaf is not None else None
        if mark is not None:
            self._look_at(mark)

    def _look_at(self, mark: Mark) -> None:
        (bottom, top), (left, right) = _ends(self._down), _ends(self._across)
        with pn.io.hold(self._doc):
            if not top < mark.row < bottom - 1:
                start = max(_TOP, mark.row - (bottom - top) * 0.75)
                self._down.update(start=start + bottom - top, end=start)
            if not left < mark.lane < right:
                start = max(_LEFT, mark.lane - (right - left) * 0.5)
                self._across.update(start=start, end=start + right - left)

    # What the pointer does.

    def _pointed(self, _name: str, _old: object, new: dict[str, list[int]]) -> None:
        at = new["at"][0]
        if 0 <= at < len(self._drawing.marks):
            self.desk.errands.start(self._show_card(self._drawing.marks[at].parts[0]))

    def _tapped(self, event: Event) -> None:
        mark = self._mark_at(event)
        if mark is not None:
            self._chosen = mark.parts[0]
            self.desk.errands.start(self._choose(mark))

    def _double_tapped(self, event: Event) -> None:
        mark = self._mark_at(event)
        if mark is None:
            return
        if mark.parts[0] != self._chosen:  # two quick clicks on two parts count as a double click too
            self._tapped(event)
        elif mark.kind == "part":
            self.desk.errands.start(self._bench.continue_from(mark.parts[0]))
        else:
            self.desk.errands.start(self._unfold(mark.parts[0]))

    def _mark_at(self, event: Event) -> Mark | None:
        x, y = getattr(event, "x", None), getattr(event, "y", None)
        at = None if x is None or y is None else mark_at(self._drawing, x, y)
        return None if at is None else self._drawing.marks[at]

    async def _choose(self, mark: Mark) -> None:
        """Show what a part says; the text goes there too if it stands in it."""
        self._chosen = mark.parts[0]
        shape: Shape | None = self.desk.shape
        if shape is not None and (number := shape.number(self._chosen)):
            self.desk.show = number
        await self._show_card(self._chosen, chosen=True)

    async def _show_card(self, part: PartId | None, *, chosen: bool = False) -> None:
        mark = self._drawing.find(part) if part is not None else None
        shape: Shape | None = self.desk.shape
        if mark is None or shape is None or part is None:
            self._card.card = {}
            self._ring(None)
            return
        chosen = chosen or part == self._chosen
        if chosen:
            self._ring(mark)
        story, card = self.desk.studio.story, dict[str, Any]()

        async def look() -> None:
            card.update(
                await aside(
                    card_of,
                    story,
                    shape,
                    mark,
                    part,
                    hoisted=part == self._root,
                    unfolded=part in self._opened,
                )
            )

        if await self.desk.attempt(look()):
            self._card.card = card | {"chosen": chosen}

    def _ring(self, mark: Mark | None) -> None:
        """Draw a ring around the chosen mark."""
        with pn.io.hold(self._doc):
            self._spot.data = {"x": [mark.lane], "y": [mark.row]} if mark is not None else {"x": [], "y": []}

    # What the card and its keys do.

    async def _walk(self, said: Said) -> None:
        if not self._drawing.marks:  # a key can be faster than the first picture
            await self._draw()
        marks = self._drawing.marks
        if not marks:
            return
        now = self._drawing.find(self._chosen) if self._chosen is not None else None
        if now is None:
            now = next((mark for mark in marks if mark.here), marks[0])
        elif said.get("way") == "enter":
            await self._bench.read(now.parts[0])
            return
        else:
            now = marks[neighbour(self._drawing, marks.index(now), str(said.get("way")))]
        self._look_at(now)
        await self._choose(now)

    async def _read(self, _: Said) -> None:
        if self._chosen is not None:
            await self._bench.read(self._chosen)

    async def _continue(self, _: Said) -> None:
        if self._chosen is not None:
            await self._bench.continue_from(self._chosen)

    async def _bookmark(self, _: Said) -> None:
        if self._chosen is not None:
            await self._bench.bookmark(self._chosen)

    async def _label(self, said: Said) -> None:
        if self._chosen is not None:
            await self._bench.label(self._chosen, str(said.get("text", "")))

    async def _hoist(self, _: Said) -> None:
        self._root = None if self._root == self._chosen else self._chosen
        await self._again()

    async def _fold(self, _: Said) -> None:
        if self._chosen is not None:
            await self._unfold(self._chosen)

    async def _unfold(self, part: PartId) -> None:
        self._opened ^= {part}
        await self._again()

    async def _again(self) -> None:
        self._shape = None
        await self._draw()


def _ends(span: Range1d) -> tuple[float, float]:
    """Where a range starts and ends; Bokeh types them as anything that an axis can show."""
    return float(cast("float", span.start)), float(cast("float", span.end))
