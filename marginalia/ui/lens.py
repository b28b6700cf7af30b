"""What the inspector looks at: the prompt that would be sent now, or a part's own; compared with another; a what-if."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import param

from marginalia.prompt.diff import diff
from marginalia.prompt.leftout import NOTHING_LEFT_OUT, left_out
from marginalia.ui.comparing import choices
from marginalia.ui.comparing import other as other_prompt
from marginalia.ui.looking import Comparison, Look, Once, came_later
from marginalia.ui.reading import Shape
from marginalia.ui.troubles import notice_of
from marginalia.ui.trying import NOTHING, Kept, Trial, keep, rungs, tried, undo
from marginalia.ui.work import Newest, aside
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.prompt.segment import Sent
    from marginalia.prompt.segments import Prompt
    from marginalia.studio.inspecting import Format
    from marginalia.studio.wishes import WhatIf
    from marginalia.ui.comparing import Choice
    from marginalia.ui.desk import Desk

_REMEMBERED = 6
#: Seconds without another prompt after which contexts of other sizes are looked at again.
_QUIET_SECONDS = 0.3
AGAIN = "again"
"""The wish to write a part once more."""


class Lens(param.Parameterized):
    """Belongs to one session; views follow it as they follow the desk."""

    look = param.ClassSelector(
        class_=Look, default=None, allow_None=True, doc="A part's own prompt; None: now."
    )
    beginning = param.Parameter(default=None, doc="How much the server's cache holds of it: a Beginning.")
    left = param.Parameter(
        default=NOTHING_LEFT_OUT, doc="What would not fit now, and what it needs: LeftOut."
    )
    against = param.String(default="", doc="What it is compared with; empty: nothing.")
    comparison = param.ClassSelector(class_=Comparison, default=None, allow_None=True, doc="The comparison.")
    again = param.ClassSelector(
        class_=Once, default=None, allow_None=True, doc="What writing the part once more would send."
    )
    trial = param.ClassSelector(
        class_=Trial, default=None, allow_None=True, doc="The what-if; None: as it is."
    )
    rungs = param.Parameter(default=(), doc="What contexts of several sizes would hold: Rungs.")
    kept = param.ClassSelector(
        class_=Kept, default=None, allow_None=True, doc="The what-if that was made true last."
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.desk = desk
        self._asked = 0
        self._climbing: Newest | None = None
        self._on_ladder = False
        self._looked_at: list[PartId] = []
        self._opened = desk.book.id if desk.book is not None else None
        on = desk.errands.on
        desk.param.watch(on(self._follow), ["prompt", "unsendable"])  # pyright: ignore[reportUnknownMemberType]
        desk.param.watch(self._leave, ["book"])  # pyright: ignore[reportUnknownMemberType]
        desk.param.watch(on(self._wished), ["wished"], onlychanged=False)  # pyright: ignore[reportUnknownMemberType]

    # Now, or a part.

    async def look_at(self, part: PartId) -> None:
        """Show what a part's model read."""
        shape: Shape | None = self.desk.shape
        receipt = await aside(self.desk.studio.story.receipt, part)
        number = shape.branch.index(part) + 1 if shape is not None and part in shape.branch else 0
        before = [each for each in self._looked_at if each != part]
        self._looked_at = [part, *before][:_REMEMBERED]
        self.param.update(look=Look(part=part, number=number, receipt=receipt), trial=None, again=None)
        await self._compare()

    async def now(self) -> None:
        """Show what would be sent now."""
        against = "" if self.against == "now" else self.against
        self.param.update(look=None, again=None, against=against)
        await self._compare()

    @property
    def shown(self) -> Sent | None:
        """What is looked at; ``None`` for a part written by hand, and while nothing can be sent."""
        if self.look is not None:
            return self.look.receipt
        prompt: Prompt | None = self.desk.prompt
        return None if self.desk.unsendable else prompt

    async def export(self, form: Format) -> str:
        """What is looked at, to paste elsewhere."""
        shown, book = self.shown, self.desk.book
        if shown is None or book is None:
            return ""
        return await aside(self.desk.studio.inspector.export, book.id, shown, form)

    # Compared with something.

    def choices(self) -> list[Choice]:
        """What can be compared with."""
        return choices(
            self.desk,
            looking=self.look is not None,
            trying=self.trial is not None and self.trial.prompt is not None,
            looked_at=self._looked_at,
        )

    async def compare_with(self, key: str) -> None:
        """Compare what is looked at with another prompt; an empty key ends that."""
        self.against = key
        await self._compare()

    async def _compare(self) -> None:
        key, shown = self.against, self.shown
        name = next((each.name for each in self.choices() if each.key == key), "")
        if not name or shown is None:
            self.comparison = None
            return
        title = f"Compared with {name}"
        try:
            other = await other_prompt(self.desk, key, self.trial.prompt if self.trial is not None else None)
        except Exception as error:  # noqa: BLE001 - the border between a choice and the page
            self.comparison = Comparison(title=title, text=notice_of(error).text)
            return
        if other is None:
            text = "No prompt is known there: it was written by hand, or nothing was sent yet."
            self.comparison = Comparison(title=title, text=text)
            return
        older, newer = other, shown
        if self.look is not None and came_later(other, shown):
            older, newer = shown, other
            title = f"From part {self.look.number or ''}".rstrip() + f" to {name}"
        found = await aside(diff, older, newer)
        if key == self.against and shown is self.shown:
            self.comparison = Comparison(title=title, diff=found)

    # Once more.

    async def prepare(self, *, as_it_was: bool) -> None:
        """See what writing the part that is looked at once more would send."""
        look = self.look
        if look is None:
            return
        title = "Once more, exactly as it was" if as_it_was else "Once more, with today's lore and settings"
        try:
            found = await self.desk.studio.reruns.look(look.part, as_it_was=as_it_was)
        except Exception as error:  # noqa: BLE001 - the border between a choice and the page
            again = Once(as_it_was=as_it_was, shown=Comparison(title=title, text=notice_of(error).text))
        else:
            again = Once(as_it_was=as_it_was, shown=Comparison(title=title, diff=found.diff), ready=True)
        if look is self.look:
            self.again = again

    async def write_again(self) -> None:
        """Send it, as a new version beside the part."""
        look, again = self.look, self.again
        if look is None or again is None or not again.ready or self.desk.running:
            return

        async def start() -> None:
            self.desk.studio.rerun(look.part, as_it_was=again.as_it_was, attended=True)

        if await self.desk.attempt(start()):
            await self.now()

    def leave_again(self) -> None:
        """Do not write it once more."""
        self.again = None

    # What if.

    async def try_out(self, wish: WhatIf) -> None:
        """Show what would be sent if *wish* were true; the book is left alone. The latest wish wins."""
        self._asked += 1
        asked, book = self._asked, self.desk.book
        trial = None if wish == NOTHING or book is None else await tried(self.desk, book.id, wish)
        if asked != self._asked:
            return
        if trial is None:
            self.trial = None
        else:
            self.param.update(trial=trial, look=None, again=None)
        self._climb_soon()
        if self.against == "try":
            await (self._compare() if trial is not None else self.compare_with(""))

    async def climb(self) -> None:
        """See what contexts of several sizes would hold, and keep that up to date until :meth:`leave_ladder`."""
        if self._climbing is None:
            self._climbing = Newest(self._climb_when_quiet)
            self.desk.errands.start(self._climbing.serve())
        self._on_ladder = True
        await self._climb()

    def leave_ladder(self) -> None:
        """Nobody looks at the contexts of several sizes any more."""
        self._on_ladder = False

    async def _climb(self) -> None:
        if self.desk.book is not None:
            wish = self.trial.wish if self.trial is not None else NOTHING
            self.rungs = await rungs(self.desk, self.desk.book.id, wish)

    async def _climb_when_quiet(self) -> None:
        await asyncio.sleep(_QUIET_SECONDS)
        if self._on_ladder:
            await self._climb()

    def _climb_soon(self) -> None:
        if self._climbing is not None and self._on_ladder:
            self._climbing.ask()

    async def apply(self, *, new_protocol: str = "") -> None:
        """Make the what-if true; :meth:`take_back` undoes it."""
        trial, book = self.trial, self.desk.book
        if trial is None or book is None:
            return

        async def make() -> None:
            kept = await aside(keep, self.desk.studio, book.id, trial.wish, new_protocol)
            self.param.update(trial=None, kept=kept)

        if await self.desk.attempt(make()):
            await self.desk.refresh_library()
            await self.desk.refresh()

    async def take_back(self) -> None:
        """Have everything as it was before the what-if was made true."""
        kept = self.kept
        if kept is not None and await self.desk.attempt(aside(undo, self.desk.studio, kept)):
            self.kept = None
            await self.desk.refresh_library()
            await self.desk.refresh()

    # Keeping up with the desk.

    async def _follow(self, *_: object) -> None:
        prompt, book = self.desk.prompt, self.desk.book
        if self.desk.unsendable:
            self.param.update(beginning=None, left=NOTHING_LEFT_OUT)
        elif prompt is not None and book is not None:
            beginning = await aside(self.desk.studio.inspector.beginning, book.id, prompt)
            left = await aside(left_out, prompt)
            if (
                prompt is self.desk.prompt and not self.desk.unsendable
            ):  # else a newer one is measured already
                self.param.update(beginning=beginning, left=left)
        self._climb_soon()
        if self.trial is not None:
            await self.try_out(replace(self.trial.wish))
        if self.against and self.look is None:
            await self._compare()

    def _leave(self, *_: object) -> None:
        """Another book: nothing of the old one is looked at any more."""
        opened = self.desk.book.id if self.desk.book is not None else None
        if opened != self._opened:
            self._opened = opened
            self._looked_at = []
            self.param.update(
                look=None, trial=None, against="", comparison=None, rungs=(), beginning=None, again=None, kept=None,
                left=NOTHING_LEFT_OUT,
            )  # fmt: skip

    async def _wished(self, *_: object) -> None:
        wish = self.desk.wished
        if wish is None or wish.part is None:
            return
        if wish.name == AGAIN or (wish.name == "prompt" and not self.desk.narrow):
            await self.desk.attempt(self.look_at(wish.part))
        if wish.name == AGAIN:
            await self.prepare(as_it_was=True)
