"""The writer's tools on the story of one session: searching, steps back and forth, parts, revisions and trash.

Views follow it as they follow the desk. What it does to a story is one step each, which ``undo`` takes back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import param

from marginalia.errors import MarginaliaError
from marginalia.ui.finding import NOTHING_FOUND, Found, find
from marginalia.ui.reading import Shape
from marginalia.ui.summarising import SummaryBench
from marginalia.ui.telling import step_words
from marginalia.ui.troubles import Notice
from marginalia.ui.work import aside
from marginalia.values import BookId, NewPart, PartId

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from marginalia.ui.desk import Desk

_GO_ON = "Go on exactly where the text breaks off, within the sentence if it is not finished."


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What lies open beside the story: the ``revisions`` of a part, or the ``trash``."""

    name: str
    part: PartId | None = None


#: What the left side shows.
OUTLINE, TREE, SUMMARIES = range(3)


class Workbench(param.Parameterized):
    """Belongs to one session, as its desk does."""

    searching = param.Boolean(default=False, doc="Whether the search is open.")
    found = param.ClassSelector(class_=Found, default=NOTHING_FOUND, doc="What was found.")
    paper = param.ClassSelector(class_=Paper, default=None, allow_None=True, doc="What lies open.")
    side = param.Integer(default=0, bounds=(0, 2), doc="What the left side shows: outline, tree, summaries.")

    def __init__(self, desk: Desk) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.desk = desk
        self._story = desk.studio.story
        self.summaries = SummaryBench(desk)
        self._asked = 0
        desk.param.watch(self._leave, ["book"])  # pyright: ignore[reportUnknownMemberType]
        self._opened = desk.book.id if desk.book is not None else None

    def _leave(self, *_: object) -> None:
        """Another book is open: what was found in the last one says nothing there."""
        now = self.desk.book.id if self.desk.book is not None else None
        if now != self._opened:
            self._opened = now
            self.param.update(found=NOTHING_FOUND, searching=False, paper=None)
            self._prepare_search()

    # Finding, and going there.

    def _prepare_search(self) -> None:
        if self._opened is not None:
            self.desk.errands.start(self._prepare(self._opened))

    async def _prepare(self, book: BookId) -> None:
        with suppress(MarginaliaError):  # searching works without, only slower the first time
            await aside(self._story.prepare_search, book)

    async def search(self, query: str) -> None:
        """Look for *query* on all branches; of several searches the one asked for last counts."""
        self._asked += 1
        asked, book = self._asked, self.desk.book
        if book is None:
            return
        found: list[Found] = []

        async def look() -> None:
            found.append(await aside(find, self._story, book.id, self.desk.shape, query))

        if await self.desk.attempt(look()) and asked == self._asked:
            self.found = found[0]

    def open_search(self) -> None:
        """Open the search, or have it ready again."""
        self._prepare_search()
        self.searching = True
        self.param.trigger("searching")

    def close_search(self) -> None:
        """Close the search; its marks go."""
        self._asked += 1
        self.param.update(searching=False, found=NOTHING_FOUND)

    async def read(self, part: PartId) -> None:
        """Show a part in the text, on its own branch if it is not on the one that is read."""
        desk = self.desk
        if desk.shape is not None and not desk.shape.number(part):

            async def go() -> None:
                leaf = await aside(self._story.leaf_for, part)
                await aside(self._story.activate, leaf.book_id, leaf)

            if not await self._change(go()):
                return
        await self._show(part)

    async def continue_from(self, part: PartId) -> None:
        """Make a part the end of what is read, so that the next one follows it."""
        if self.desk.book is not None and await self._change(
            aside(self._story.activate, self.desk.book.id, part)
        ):
            await self._show(part)

    async def _show(self, part: PartId) -> None:
        shape: Shape | None = self.desk.shape
        if shape is not None:
            self.desk.show = shape.number(part)

    # Steps back and forth.

    async def undo(self) -> None:
        """Take the newest step back."""
        await self._turn(self._story.undo, "Undone", "There is nothing to undo.")

    async def redo(self) -> None:
        """Do what was undone last again."""
        await self._turn(self._story.redo, "Done again", "There is nothing to redo.")

    async def _turn(self, turn: Callable[[BookId], Any], done: str, nothing: str) -> None:
        book = self.desk.book
        if book is None:
            return
        told: list[str] = []

        async def work() -> None:
            step = await aside(turn, book.id)
            told.append(f"{done}: {step_words(step.kind)}." if step is not None else nothing)

        if await self._change(work()):
            self.desk.trouble = Notice(text=told[0], calm=True)

    # One part.

    async def split(self, part: PartId, text: str, at: int) -> None:
        """Store *text* as the part's, and let what stands from character *at* on be a part of its own."""

        def work() -> None:
            if self._story.part(part).text != text:
                self._story.edit(part, text)
            self._story.split(part, at)

        await self._change(aside(work))

    async def merge(self, part: PartId) -> None:
        """Put a part behind the one before it."""
        await self._change(aside(self._story.merge, part))

    async def write_on(self, after: PartId) -> PartId | None:
        """Begin a part by hand that follows another one, without text so far; its id."""
        book, begun = self.desk.book, list[PartId]()
        if book is None or self.desk.running:
            return None

        async def append() -> None:
            begun.append((await aside(self._story.append, book.id, "", parent=after)).id)

        return begun[0] if await self._change(append()) else None

    async def attach(self, part: PartId, below: PartId | None) -> bool:
        """Let a part, with all that follows it, stand below another one (``None``: be a first part)."""
        shape: Shape | None = self.desk.shape
        if shape is None or not await self._change(aside(self._story.move, part, below)):
            return False
        what, where = (len(shape.tree.branch(each)) if each in shape.tree else 0 for each in (part, below))
        place = f"follows #{where}" if below is not None else "begins the story"
        self.desk.trouble = Notice(text=f"What was #{what} now {place}.", calm=True)
        return True

    async def bookmark(self, part: PartId) -> None:
        """Mark a part, or take its mark away."""
        await self._change(
            aside(lambda: self._story.mark(part, bookmarked=not self._story.part(part).bookmarked))
        )

    async def label(self, part: PartId, label: str) -> None:
        """Write a label on a part; an empty one takes it away."""
        await self._change(aside(self._story.mark, part, label=label))

    async def keep(self, part: PartId) -> bool:
        """Let a part that was cut off be whole as it is."""

        def work() -> None:
            now = self._story.part(part)
            self._story.rewrite(replace(now, partial=False, finish_reason="kept"))

        return await self._change(aside(work))

    async def go_on(self, part: PartId) -> None:
        """Have what was cut off continued; what is typed for the next part stays where it is."""
        book = self.desk.book
        if book is None or self.desk.running or not await self.keep(part):
            return

        async def start() -> None:
            turn = (await aside(self._story.part, part)).turn
            asked = replace(turn, instructions=_GO_ON)
            self.desk.studio.generate(book.id, asked, request=NewPart(), attended=True)

        await self.desk.attempt(start())

    async def restore(self, part: PartId) -> None:
        """Bring a part back from the trash and show it."""
        if await self._change(aside(self._story.undelete, part)):
            self.paper = None
            await self.read(part)

    async def bring_back(self, part: PartId, revision: int) -> None:
        """Make an older text of a part its text again."""

        def work() -> None:
            found = next((each for each in self._story.revisions(part) if each.id == revision), None)
            if found is not None:
                self._story.restore(found)

        if await self._change(aside(work)):
            self.paper = None

    async def _change(self, action: Coroutine[Any, Any, Any]) -> bool:
        done = await self.desk.attempt(action)
        if done:
            await self.desk.refresh()
        return done
