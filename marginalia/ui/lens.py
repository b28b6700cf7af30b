"""What the inspector looks at: the prompt that would be sent now, or a part's own; compared with another; a what-if."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import param

from marginalia.prompt.budget import ContextTooSmall
from marginalia.prompt.diff import diff
from marginalia.prompt.leftout import missing
from marginalia.studio.wishes import WhatIf
from marginalia.ui.comparing import choices
from marginalia.ui.comparing import other as other_prompt
from marginalia.ui.reading import Shape
from marginalia.ui.troubles import notice_of
from marginalia.ui.work import aside
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget
    from marginalia.prompt.diff import Diff
    from marginalia.prompt.leftout import Missing
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.segment import Sent
    from marginalia.prompt.segments import Prompt
    from marginalia.studio.inspecting import Format
    from marginalia.ui.comparing import Choice
    from marginalia.ui.desk import Desk

_REMEMBERED = 6
NOTHING = WhatIf()
AGAIN = "again"
"""The wish to write a part once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The prompt of a part that was written already: its number on the branch, and its receipt.

    ``None`` for a part written by hand.
    """

    part: PartId
    number: int
    receipt: Receipt | None

    @property
    def name(self) -> str:
        """What is shown, for people."""
        return f"What was sent for part {self.number}" if self.number else "What was sent for a part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is shown against something else; ``text`` says why there is nothing to compare."""

    title: str
    diff: Diff | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What would be sent if ``wish`` were true; ``text`` says why nothing could be."""

    wish: WhatIf
    prompt: Prompt | None = None
    missing: tuple[Missing, ...] = ()
    budget: Budget | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What writing a part once more would send, or why it cannot be; ``ready``: it can."""

    as_it_was: bool
    shown: Comparison
    ready: bool = False


class Lens(param.Parameterized):
    """Belongs to one session; views follow it as they follow the desk."""

    look = param.ClassSelector(
        class_=Look, default=None, allow_None=True, doc="A part's own prompt; None: now."
    )
    beginning = param.Parameter(default=None, doc="How much the server's cache holds of it: a Beginning.")
    missing = param.Parameter(default=(), doc="What would not fit now, and what it needs: Missing.")
    against = param.String(default="", doc="What it is compared with; empty: nothing.")
    comparison = param.ClassSelector(class_=Comparison, default=None, allow_None=True, doc="The comparison.")
    again = param.ClassSelector(
        class_=Once, default=None, allow_None=True, doc="What writing the part once more would send."
    )
    trial = param.ClassSelector(
        class_=Trial, default=None, allow_None=True, doc="The what-if; None: as it is."
    )
    rungs = param.Parameter(default=(), doc="What contexts of several sizes would hold: Rungs.")

    def __init__(self, desk: Desk) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.desk = desk
        self._asked = 0
        self._looked_at: list[PartId] = []
        self._opened = desk.book.id if desk.book is not None else None
        desk.param.watch(self._follow, ["prompt"])  # pyright: ignore[reportUnknownMemberType]
        desk.param.watch(self._leave, ["book"])  # pyright: ignore[reportUnknownMemberType]
        desk.param.watch(self._wished, ["wished"], onlychanged=False)  # pyright: ignore[reportUnknownMemberType]

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
        self.param.update(look=None, again=None)
        await self._compare()

    @property
    def shown(self) -> Sent | None:
        """What is looked at."""
        if self.look is not None:
            return self.look.receipt
        prompt: Prompt | None = self.desk.prompt
        return prompt

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
        found = await aside(diff, other, shown)
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
        if wish == NOTHING or book is None:
            self.trial = None
            if self.against == "try":
                await self.compare_with("")
            return
        prompt, budget, text = None, None, ""
        left: tuple[Missing, ...] = ()
        try:
            prompt = await self.desk.studio.what_if(
                book.id, self.desk.turn.freeze(), context=wish.context, response=wish.response,
                lore_tokens=wish.lore_tokens, lore_share=wish.lore_share, parts=wish.parts, stable=wish.stable,
            )  # fmt: skip
            budget, left = prompt.budget, await aside(missing, prompt)
        except ContextTooSmall as error:
            budget, text = error.budget, notice_of(error).text
        except Exception as error:  # noqa: BLE001 - whatever an extension does, the page goes on
            text = notice_of(error).text
        if asked == self._asked:
            trial = Trial(wish=wish, prompt=prompt, missing=left, budget=budget, text=text)
            self.param.update(trial=trial, look=None, again=None)
            if self.against == "try":
                await self._compare()

    async def climb(self) -> None:
        """See what contexts of several sizes would hold."""
        if self.desk.book is not None:
            self.rungs = await self.desk.studio.inspector.curve(self.desk.book.id, self.desk.turn.freeze())

    async def apply(self, *, new_protocol: str = "") -> None:
        """Make the what-if true."""
        trial, book = self.trial, self.desk.book
        if trial is None or book is None:
            return
        apply = self.desk.studio.inspector.apply
        if await self.desk.attempt(aside(apply, book.id, trial.wish, new_protocol=new_protocol)):
            self.trial = None
            await self.desk.refresh_library()
            await self.desk.refresh()

    # Keeping up with the desk.

    async def _follow(self, *_: object) -> None:
        prompt, book = self.desk.prompt, self.desk.book
        if prompt is not None and book is not None:
            beginning = await aside(self.desk.studio.inspector.beginning, book.id, prompt)
            left = await aside(missing, prompt)
            if prompt is self.desk.prompt:  # else a newer one is measured already
                self.param.update(beginning=beginning, missing=left)
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
                look=None, trial=None, against="", comparison=None, rungs=(), beginning=None, again=None
            )

    async def _wished(self, *_: object) -> None:
        wish = self.desk.wished
        if wish is None or wish.part is None:
            return
        if wish.name == AGAIN or (wish.name == "prompt" and not self.desk.narrow):
            await self.desk.attempt(self.look_at(wish.part))
        if wish.name == AGAIN:
            await self.prepare(as_it_was=True)
