"""The desk: what one session has open, and what it does. Views show it and ask it; they know nothing of each other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import param

from marginalia.errors import NotFound
from marginalia.models import TurnInput
from marginalia.pipeline.states import Phase
from marginalia.ui.connecting import model_state
from marginalia.ui.counted import Exactly
from marginalia.ui.previewing import build_prompt
from marginalia.ui.reading import Shape, Wish, find_book, provider_of, read_book, read_library
from marginalia.ui.troubles import QUIET, Notice, notice_of
from marginalia.ui.work import Errands, Newest, aside
from marginalia.values import (
    Book,
    BookId,
    LorebookId,
    NewPart,
    PartId,
    ProtocolId,
    ProviderId,
    Regenerate,
    Request,
    Swipe,
    Turn,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from marginalia.pipeline.run import Run
    from marginalia.studio import Studio

#: How often a page is told about text that streams in.
UPDATES_PER_SECOND = 12


class Desk(param.Parameterized):
    """What a session works on. ``open`` starts it, ``close`` ends its tasks; runs go on, they are the studio's."""

    book: param.ClassSelector[Book | None] = param.ClassSelector(
        class_=Book, default=None, doc="The open book."
    )
    turn: param.ClassSelector[TurnInput] = param.ClassSelector(
        class_=TurnInput, default=TurnInput(), instantiate=True, doc="What is typed."
    )
    shape = param.Parameter(default=None, doc="The story as it is now: a Shape.")
    library = param.Parameter(default=None, doc="What can be chosen: a Library.")
    prompt = param.Parameter(default=None, doc="What would be sent now: a Prompt.")
    budget = param.Parameter(default=None, doc="What it costs, also when it does not fit: a Budget.")
    unsendable = param.String(default="", doc="Why nothing can be sent now; empty when it can.")
    run = param.Parameter(default=None, doc="What is being written, or was last: a Run.")
    running = param.Boolean(default=False, doc="Whether something is being written.")
    beat = param.Integer(default=0, doc="Grows while text streams in, a few times a second.")
    trouble = param.ClassSelector(class_=Notice, default=QUIET, doc="What went wrong.")
    tab = param.Integer(default=0, bounds=(0, 4), doc="Which tab of the inspector is open.")
    show = param.Integer(default=0, doc="The number of the part to go to; 0: none.")
    narrow = param.Boolean(default=False, doc="Whether the page is too narrow for its sides.")
    tight = param.Boolean(default=False, doc="Whether it has room for one of them only.")
    wished = param.Parameter(default=None, doc="What shall open over the page: a Wish.")
    model_state = param.Dict(default={"kind": "none", "short": "", "text": ""}, doc="How the model is.")

    def __init__(self, studio: Studio, **params: Any) -> None:  # noqa: ANN401 - its parameters
        super().__init__(**params)  # type: ignore[no-untyped-call]
        self.studio = studio
        self.errands = Errands(self.report)
        self._preview = Newest(self._build_prompt)
        self._exactly = Exactly(self)
        self._watching: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._again: Request = NewPart()
        self._deleted: PartId | None = None

    # Opening and closing.

    async def open(self, book: BookId | None = None) -> None:
        """Open a book (the one changed last, if none is named) and keep up with it."""
        self.errands.start(self._preview.serve())
        self.errands.start(self._exactly.serve())
        await self.refresh_library()
        await self.open_book(book)

    async def open_book(self, book: BookId | None) -> None:
        """Go to another book. An id that does not exist (it may come from an address) opens the newest one."""
        opened = await aside(find_book, self.studio, book)
        for task in (self._watching, self._following):
            if task is not None and task is not asyncio.current_task():  # which found that its book is gone
                task.cancel()
        self.param.update(book=opened, run=None, running=False, prompt=None, budget=None, trouble=QUIET)
        if opened is None:
            self.shape = None
            self.wish("new book")
            return
        await self.refresh()
        self._watching = self.errands.start(self._watch(opened.id))

    def close(self) -> None:
        """End what this session does; never what the studio writes."""
        self.errands.close()

    # Keeping up.

    async def _watch(self, book: BookId) -> None:
        version = 0
        while True:
            run = self.studio.running(book)
            if run is not None and (run is not self.run or not self.running):
                self._following = self.errands.start(self._follow(run))
            version = await self.studio.changed(book, version)
            await self.refresh()
            if self.book is None or self.book.id != book:
                return

    async def _follow(self, run: Run) -> None:
        self.param.update(run=run, running=True, trouble=QUIET)
        seen = 0
        try:
            while not run.ended:
                self.beat += 1
                if run.phase is not Phase.WRITING:
                    await self._look_at_model()
                seen = await run.changed(seen)
                await asyncio.sleep(1 / UPDATES_PER_SECOND)
            await self.refresh()
        finally:
            self.running = False
        if run.error is not None:
            self.report(run.error)

    async def refresh(self) -> None:
        """Read the open book again; the prompt is only built anew when something of it changed."""
        if self.book is None:
            return
        try:
            book, shape = await aside(read_book, self.studio, self.book.id)
        except NotFound:
            await self.refresh_library()
            await self.open_book(None)
            return
        self.param.update(book=book, shape=shape)
        await self._look_at_model()
        self.ask_for_prompt()

    async def _look_at_model(self) -> None:
        provider = await aside(provider_of, self.studio, self.book)
        self.model_state = model_state(self.studio, provider, self.run)

    async def refresh_library(self) -> None:
        """Read again what can be chosen."""
        self.library = await aside(read_library, self.studio)

    # The prompt that would be sent now.

    def typed(self, fields: dict[str, str]) -> None:
        """Take what was typed; budget and lore follow."""
        known = {name: str(text) for name, text in fields.items() if name in Turn.__slots__}
        self.turn.param.update(**known)
        self.ask_for_prompt()

    def ask_for_prompt(self) -> None:
        """Build the prompt anew; while one is built, any number of wishes make one more."""
        self._preview.ask()

    async def _build_prompt(self) -> None:
        book = self.book
        if book is None:
            return
        built = await build_prompt(self.studio, book.id, self.turn.freeze())
        if self.book is not None and self.book.id == book.id:
            self.param.update(
                prompt=built.prompt or self.prompt, budget=built.budget or self.budget, unsendable=built.why
            )
            self._exactly.ask()

    # What people do.

    async def generate(self, request: Request | None = None) -> None:
        """Write; the studio owns the run, this page only follows it."""
        book = self.book
        if book is None or self.running:
            return
        self.trouble = QUIET
        self._again = request or NewPart()
        await self.attempt(self._generate(book, self._again))

    async def _generate(self, book: Book, request: Request) -> None:
        turn = self.turn.freeze()
        if not isinstance(request, NewPart):
            turn = (await aside(self.studio.story.part, request.part)).turn
        run = self.studio.generate(book.id, turn, request=request, attended=True)
        if run is not self.run:
            self._following = self.errands.start(self._follow(run))

    async def regenerate(self, part: PartId) -> None:
        """Write a part again, in its place; the old text stays as a revision."""
        await self.generate(Regenerate(part))

    async def swipe(self, part: PartId) -> None:
        """Write another version beside a part."""
        await self.generate(Swipe(part))

    def stop(self) -> None:
        """End the run; what has come is kept."""
        if self.run is not None and self.running:
            self.run.stop()

    def answer(self, *, yes: bool) -> None:
        """Answer what the run asks."""
        if self.run is not None:
            self.run.answer(yes)

    async def step(self, part: PartId, by: int) -> None:
        """Go to another version of a part, and on to the end of its line."""
        shape: Shape | None = self.shape
        if shape is None or part not in shape.tree:
            return
        siblings = shape.tree.siblings(part)
        at = siblings.index(part) + by
        if 0 <= at < len(siblings):
            await self.attempt(aside(self.studio.story.go_to, siblings[at]))
            await self.refresh()

    async def branch(self, part: PartId) -> None:
        """Make a copy of a part beside it, to go on from there in another way."""

        async def fork() -> None:
            copy = await aside(self.studio.story.fork, part)
            await aside(self.studio.story.go_to, copy)

        if await self.attempt(fork()):
            await self.refresh()

    async def delete(self, part: PartId) -> None:
        """Put a part into the trash; what followed it moves up. It can be taken back."""
        shape: Shape | None = self.shape
        number = shape.number(part) if shape is not None else 0
        if await self.attempt(aside(self.studio.story.delete, part)):
            self._deleted = part
            self.trouble = Notice(
                text=f"Part {number} is in the trash.", action="undo", label="Take it back", calm=True
            )
            await self.refresh()

    def wish(self, name: str, part: PartId | None = None, *, record: int | None = None) -> None:
        """Have something opened over the page."""
        self.wished = Wish(name=name, part=part, record=record)

    async def act(self, name: str) -> None:
        """Do what a notice offers."""
        if name == "undo" and self._deleted is not None:
            self.dismiss()
            await self.attempt(aside(self.studio.story.undelete, self._deleted))
            await self.refresh()
        elif name == "retry":
            self.dismiss()
            await self.generate(self._again)
        elif name == "model" and (self.book is None or self.book.provider_id is None):
            self.wish("connect")
        else:
            self.wish(name)

    def dismiss(self) -> None:
        """Take the notice away."""
        self.trouble = QUIET

    async def choose(
        self, *, provider: int | None = None, protocol: int | None = None, lorebook: int | None = None
    ) -> None:
        """Have the book written by another model, asked in another way, or draw on another lorebook."""
        if (kept := self.book) is None:
            return
        changed = replace(
            kept,
            provider_id=kept.provider_id if provider is None else ProviderId(provider),
            protocol_id=kept.protocol_id if protocol is None else ProtocolId(protocol),
            lorebook_id=kept.lorebook_id if lorebook is None else LorebookId(lorebook),
        )
        self.dismiss()
        await self.attempt(aside(self.studio.books.save, changed))
        await self.refresh()

    def report(self, error: Exception) -> None:
        """Say what went wrong where the eye is."""
        self.trouble = notice_of(error)

    async def attempt(self, action: Coroutine[Any, Any, Any]) -> bool:
        """Do something that may fail; whether it worked."""
        try:
            await action
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self.report(error)
            return False
        return True
