"""The replay of one session: kept up to date on a thread, and at once for the entry that is being edited."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import param

from marginalia.studio.lore_map import StoryMap, story_map, with_row_again
from marginalia.ui.work import Newest, aside
from marginalia.values import EntryId

if TYPE_CHECKING:
    from collections.abc import Callable

    from marginalia.lore.book import Entry
    from marginalia.studio.lore_story import History, Moment

MOST_ROWS = 24
MOST_PARTS = 120
_REST = 0.05
_RANK = {"in": 1, "nearly": 2, "out": 3}


class Found(Protocol):
    """What was found: a row for every entry."""

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The rows of the list."""
        ...


class Explores(Protocol):
    """What is explored now."""

    draft: Entry | None
    opened: EntryId | None

    def again(self) -> None:
        """Look once more."""
        ...


class Replaying(param.Parameterized):
    """Makes the map of the story while it is unfolded; views follow it."""

    map = param.Parameter(default=None, doc="The story again, part by part: a StoryMap.")
    mapping = param.Boolean(default=False, doc="Whether the map is being made.")
    share = param.String(default="", doc="How far the map is.")

    def __init__(self, explorer: Explores) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]
        self.unfolded = False
        self._explorer = explorer
        self._looked: tuple[Moment, History, Found] | None = None
        self._wanted: tuple[object, ...] = ()
        self._drawn: tuple[object, ...] = ()
        self._ended = Event()
        self._maps = Newest(self._make)

    async def serve(self) -> None:
        """Make maps as they are wanted, until cancelled."""
        await self._maps.serve()

    def unfold(self, *, on: bool) -> None:
        """Keep the map up to date, or do not; folding it away ends what is being made."""
        self.unfolded = on
        if on:
            self._wanted = ()
            self._explorer.again()
        else:
            self.cancel()

    def cancel(self) -> None:
        """End the replay that runs; the map stays as it was."""
        self._ended.set()

    def keep(self, moment: Moment, history: History, found: Found) -> None:
        """Have the map made anew when something that it shows has changed."""
        explorer = self._explorer
        self._looked = moment, history, found
        wanted = (*map(id, moment.lorebooks), id(history), explorer.draft, explorer.opened)
        if self.unfolded and wanted != self._wanted:
            self._wanted = wanted
            self._ended.set()
            self._maps.ask()

    async def _make(self) -> None:
        await asyncio.sleep(_REST)
        if self._looked is None:
            return
        moment, history, found = self._looked
        self._ended = ended = Event()
        self.mapping = True
        try:
            await self._redraw(moment, history, ended)
            made: StoryMap | None = await aside(
                story_map, moment, history, self._explorer.draft, shown=self._shown(found), most=MOST_PARTS,
                ended=ended, told=self._telling(len(history.parts)),
            )  # fmt: skip
        finally:
            ended.set()
            self.param.update(mapping=False, share="")
        if made is not None:
            self.map = made

    async def _redraw(self, moment: Moment, history: History, ended: Event) -> None:
        """Show at once what the entry that is being edited would do; all entries follow."""
        before, draft = self.map, self._explorer.draft
        same = self._wanted[:-2] == self._drawn[:-2]
        self._drawn = self._wanted
        if before is not None and draft is not None and same:
            quick = await aside(with_row_again, before, moment, history, draft, ended=ended)
            if quick is not None:
                self.map = quick

    def _telling(self, parts: int) -> Callable[[int], None]:
        """Says from the replay's thread how far it is."""
        loop = asyncio.get_running_loop()

        def show(number: int) -> None:
            self.share = f"{100 * number // parts} %" if self.mapping else ""

        def tell(number: int) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(show, number)

        return tell

    def _shown(self, found: Found) -> list[EntryId]:
        """The entries of the map: the open one, then those that are in, nearly in, and the others."""
        opened = self._explorer.opened
        rows = sorted(found.rows, key=lambda row: 0 if row["id"] == opened else _RANK[row["state"]])
        return [EntryId(row["id"]) for row in rows[:MOST_ROWS]]
