"""The prompts of the book: what they say and where that comes from, with lint and a preview while one types."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from marginalia.errors import InvalidInput
from marginalia.studio.prompting import PROMPTS
from marginalia.ui.components.prompts import PromptsSheet
from marginalia.ui.prompting import (
    LONGEST,
    UNREADABLE,
    changes_of,
    draft_key,
    lint_row,
    name_rows,
    preview_row,
    prompt_rows,
    slots_of,
)
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import TEMPLATES, Syntax

if TYPE_CHECKING:
    from marginalia.prompt.templates import TemplateKind
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Wish
    from marginalia.values import Book


class PromptsView(View):
    """Opens over the page. Unsaved typing is kept in the browser; only what was saved is in the studio."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._sheet = PromptsSheet()
        guarded = self._sheet.guarded
        self._sheet.hear(
            typed=guarded(self._typed),
            keep=guarded(self._keep),
            default=guarded(self._default),
            closed=self._closed,
        )
        self._open = False
        self._said: Said | None = None
        self._turns = asyncio.Lock()
        self._trying: asyncio.Task[None] | None = None
        self.follow("book", then=self._book_changed)
        self.follow("prompt", then=self._prompt_changed)
        self.follow("wished", then=self._wished, always=True)

    def __panel__(self) -> PromptsSheet:
        return self._sheet

    async def open(self) -> None:
        """Show the prompts of the open book."""
        self._open = True
        await self._sheet.guarded(self._show)({"fresh": True})

    async def _wished(self, *_: object) -> None:
        wish: Wish | None = self.desk.wished
        if wish is not None and wish.name == "prompts":
            await self.open()

    def _book(self) -> Book:
        if self.desk.book is None:
            raise InvalidInput("No book is open, and prompts belong to one. Open or make a book first.")
        return self.desk.book

    async def _show(self, said: Said) -> None:
        studio, book = self.desk.studio, self._book()
        rows = prompt_rows(await aside(studio.prompting.of, book))
        self._sheet.tell(
            "sheet", rows=rows, names=await aside(name_rows, studio), key=draft_key(book), book=book.name,
            note=str(said.get("note", "")), fresh=bool(said.get("fresh")), before=said.get("before"),
        )  # fmt: skip

    def _closed(self, _: Said) -> None:
        self._open = False
        self._said = None
        self._supersede()

    async def _book_changed(self, *_: object) -> None:
        """Another window, or this one, kept something."""
        if self._open and self.desk.book is not None:
            await self._sheet.guarded(self._show)({})

    async def _prompt_changed(self, *_: object) -> None:
        if self._open and self._said is not None:
            await self._typed(self._said)

    # While one types.

    async def _typed(self, said: Said) -> None:
        """Check and render what was typed; what was typed before that is given up."""
        self._said = said
        self._supersede()
        self._trying = self.desk.errands.start(self._sheet.guarded(self._try)(said))

    def _supersede(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
            self._trying = None

    async def _try(self, said: Said) -> None:
        async with self._turns:  # one that was given up may still have to come out of its thread
            name, at = _name(said), said.get("at")
            if name in TEMPLATES and not await self._checked(name, said):
                self._sheet.tell("preview", name=name, at=at, **UNREADABLE)
                return
            trying = self.desk.studio.prompting.try_out
            trial = await trying(self._book(), name, changes_of(said), turn=self.desk.turn)
            self._sheet.tell("preview", name=name, at=at, **preview_row(trial))

    async def _checked(self, name: str, said: Said) -> bool:
        """Whether a template can be read at all; says what is to be said about it."""
        source, kind = str(said.get("text") or "")[:LONGEST], cast("TemplateKind", name)
        job = partial(
            self.desk.studio.prompting.check,
            source,
            kind=kind,
            syntax=_syntax(said),
            known=slots_of(self.desk.prompt),
        )
        check = await anyio.to_thread.run_sync(
            job
        )  # waited for also when given up: one thread for each sheet
        self._sheet.tell("lint", name=name, at=said.get("at"), **lint_row(source, check))
        return check.valid

    # Keeping.

    async def _keep(self, said: Said) -> None:
        studio, book, name = self.desk.studio, self._book(), _name(said)
        text, syntax = str(said.get("text", "")), _syntax(said)
        if len(text) > LONGEST:
            raise InvalidInput(
                f"A prompt may have {LONGEST:,} characters; this one has {len(text):,}. Make it shorter."
            )
        keep: Callable[..., object] = studio.prompting.keep
        note = "Saved to this book."
        if said.get("where") == "all":
            keep, note = studio.prompting.keep_for_all, "Saved for all your books."
        await aside(keep, book, name, text, syntax=syntax)
        self._sheet.tell("kept", name=name, text=text, syntax=syntax)
        if said.get("where") != "all" and (await aside(studio.prompting.of, book))[name].origin != "book":
            note = "That is what stands there by default: the book follows it."
        await self._again(note)

    async def _default(self, said: Said) -> None:
        """Back to what stands below; the text that is taken away can be taken back as typing."""
        studio, book, name = self.desk.studio, self._book(), _name(said)
        before = (await aside(studio.prompting.of, book))[name]
        await aside(studio.prompting.follow_default, book, name)
        kept = {"name": name, "text": before.text, "syntax": before.syntax}
        await self._again("The default stands there again.", before=kept)

    async def _again(self, note: str, **more: Any) -> None:  # noqa: ANN401 - JSON
        await self._show({"note": note, **more})
        await self.desk.refresh()


def _name(said: Said) -> str:
    name = str(said.get("name"))
    if name not in PROMPTS:
        raise InvalidInput(f"There is no prompt {name!r}.")
    return name


def _syntax(said: Said) -> Syntax:
    return "jinja" if said.get("syntax") == "jinja" else "macros"
