"""The tree of all branches: a picture to look around in, and below it what the part under the pointer says."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import panel as pn

from marginalia.story.drawing import Drawing
from marginalia.ui.components.telling import TreeCard
from marginalia.ui.treecards import card_of, moving_of
from marginalia.ui.treepicture import neighbour
from marginalia.ui.treeplot import TreePlot
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.ui.workbench import TREE

if TYPE_CHECKING:
    from marginalia.story.drawing import Mark
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape
    from marginalia.ui.workbench import Workbench
    from marginalia.values import PartId

_CARD = 214


class TreeView(View):
    """Draws while its tab is open; what it costs follows the marks that are drawn, long runs are one."""

    def __init__(self, desk: Desk, bench: Workbench) -> None:
        super().__init__(desk)
        self._bench = bench
        self._shape: object = None
        self._book = desk.book.id if desk.book is not None else None
        self._opened: set[PartId] = set()
        self._root: PartId | None = None
        self._chosen: PartId | None = None
        self._moved: PartId | None = None
        self._card = TreeCard(height=_CARD, sizing_mode="stretch_width")
        self._card.hear(
            walk=self._walk, read=self._read, continue_=self._continue, bookmark=self._bookmark, label=self._label,
            hoist=self._hoist, fold=self._fold, move=self._move, attach=self._attach, cancel=self._cancel,
        )  # fmt: skip
        self._layout = pn.Column(self._card, sizing_mode="stretch_both", margin=0)
        self.follow("shape", then=self._draw)
        self.follow("book", then=self._leave)
        self.follow("side", then=self._draw, of=bench)
        self.follow("found", then=self._redraw, of=bench)

    def __panel__(self) -> pn.Column:
        return self._layout

    # The picture.

    @cached_property
    def _plot(self) -> TreePlot:
        """Made when it is first looked at: figures are most of what building a page takes."""
        plot = TreePlot(pointed=self._pointed, tapped=self._tapped, double_tapped=self._double_tapped)
        self._layout.insert(0, plot.layout)
        return plot

    def _leave(self, *_: object) -> None:
        """Another book, or the same one changed; what was opened in another book is not asked for again."""
        book = self.desk.book.id if self.desk.book is not None else None
        if book != self._book:
            self._book = book
            self._opened, self._root, self._chosen, self._moved, self._shape = set(), None, None, None, None
            self._card.card = {}

    async def _draw(self, *_: object) -> None:
        shape: Shape | None = self.desk.shape
        if self._bench.side != TREE or shape is None or self.desk.book is None or shape is self._shape:
            return
        self._root, self._moved = (part if part in shape.tree else None for part in (self._root, self._moved))
        book, drawn = self.desk.book.id, list[Drawing]()
        story, opened = self.desk.studio.story, frozenset(self._opened)

        async def look() -> None:
            drawn.append(await aside(story.drawing, book, root=self._root, opened=opened))

        if await self.desk.attempt(look()) and shape is self.desk.shape:
            self._shape = shape
            self._plot.draw(drawn[0], self._bench.found.parts)
            self._follow_leaf(shape.leaf)
            await self._show_card(self._chosen, chosen=True)

    def _redraw(self, *_: object) -> None:
        if self._bench.side == TREE:
            self._plot.draw(self._plot.drawing, self._bench.found.parts)

    def _follow_leaf(self, leaf: PartId | None) -> None:
        """Have the end of the branch in sight; where it is already, the picture stays."""
        mark = self._plot.drawing.find(leaf) if leaf is not None else None
        if mark is not None:
            self._plot.look_at(mark)

    # What the pointer does.

    def _pointed(self, mark: Mark) -> None:
        self.desk.errands.start(self._show_card(mark.parts[0]))

    def _tapped(self, mark: Mark) -> None:
        self._chosen = mark.parts[0]
        self.desk.errands.start(self._choose(mark))

    def _double_tapped(self, mark: Mark) -> None:
        if mark.parts[0] != self._chosen or (self._moved is not None and mark.kind == "part"):
            self._tapped(mark)  # two quick clicks on two parts count as a double click too
        elif mark.kind == "part":
            self.desk.errands.start(self._bench.continue_from(mark.parts[0]))
        else:
            self.desk.errands.start(self._unfold(mark.parts[0]))

    async def _choose(self, mark: Mark) -> None:
        """Show what a part says; the text goes there too if it stands in it."""
        self._chosen = mark.parts[0]
        shape: Shape | None = self.desk.shape
        if shape is not None and self._moved is None and (number := shape.number(self._chosen)):
            self.desk.show = number
        await self._show_card(self._chosen, chosen=True)

    async def _show_card(self, part: PartId | None, *, chosen: bool = False) -> None:
        mark = self._plot.drawing.find(part) if part is not None else None
        shape: Shape | None = self.desk.shape
        if mark is None or shape is None or part is None:
            self._card.card = {}
            self._plot.ring(None)
            return
        chosen = chosen or part == self._chosen
        if chosen:
            self._plot.ring(mark)
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
            moving = moving_of(shape, self._moved, mark) if chosen and self._moved is not None else None
            self._card.card = card | {"chosen": chosen, "moving": moving}

    # What the card and its keys do.

    async def _walk(self, said: Said) -> None:
        drawing = self._plot.drawing
        if not drawing.marks:  # a key can be faster than the first picture
            await self._draw()
            drawing = self._plot.drawing
        marks = drawing.marks
        if not marks:
            return
        now = drawing.find(self._chosen) if self._chosen is not None else None
        if now is None:
            now = next((mark for mark in marks if mark.here), marks[0])
        elif said.get("way") == "enter":
            await self._bench.read(now.parts[0])
            return
        else:
            now = marks[neighbour(drawing, marks.index(now), str(said.get("way")))]
        self._plot.look_at(now)
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

    async def _move(self, _: Said) -> None:
        """Look for the part that the chosen one shall stand below."""
        self._moved = self._chosen
        await self._show_card(self._chosen, chosen=True)

    async def _cancel(self, _: Said) -> None:
        self._moved = None
        await self._show_card(self._chosen, chosen=True)

    async def _attach(self, said: Said) -> None:
        moved = self._moved
        place = self._plot.drawing.find(self._chosen) if self._chosen is not None else None
        if moved is None or (place is None and not said.get("first")):
            return
        below = None if said.get("first") or place is None else place.parts[-1]
        self._moved, self._chosen = None, moved
        if await self._bench.attach(moved, below):
            await self._draw()
        mark = self._plot.drawing.find(moved)
        if mark is not None:
            self._plot.look_at(mark)
        await self._show_card(moved, chosen=True)

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
