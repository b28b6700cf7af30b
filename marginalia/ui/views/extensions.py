"""The extensions: switches, what went wrong in them, and their panels for the open book."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from marginalia.errors import NotFound
from marginalia.ui.components.shelves import ExtensionShelf
from marginalia.ui.extending import extension_rows, form_fields, shown_row, store_form
from marginalia.ui.troubles import notice_of
from marginalia.ui.view import View
from marginalia.ui.work import Newest, aside

if TYPE_CHECKING:
    import asyncio

    from marginalia.extensions.host import OwnedPanel
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.values import Book


class ExtensionsView(View):
    """Opens over the page; while it is open, its panels follow the book and the prompt."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._shelf = ExtensionShelf()
        self._shelf.hear(
            switch=self._guarded(self._switch), save=self._guarded(self._save), closed=self._closed
        )
        self._looks = Newest(self._look)
        self._looking: asyncio.Task[None] | None = None
        self._open = False
        self.follow("book", "prompt", then=self._changed)

    def __panel__(self) -> ExtensionShelf:
        return self._shelf

    async def open(self) -> None:
        """Show the extensions, with the panels of those that are on."""
        self._open = True
        if self._looking is None or self._looking.done():
            self._looking = self.desk.errands.start(self._looks.serve())
        await self._guarded(self._list)({})

    def _guarded(self, handler: Callable[[Said], Awaitable[None]]) -> Callable[[Said], Awaitable[None]]:
        """The handler; what it raises is said in the dialog, where the eye is."""

        async def handle(said: Said) -> None:
            await self._attempt(handler(said))

        return handle

    async def _attempt(self, action: Awaitable[None]) -> None:
        try:
            await action
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self._shelf.tell("trouble", text=notice_of(error).text)

    def _closed(self, _: Said) -> None:
        self._open = False

    def _changed(self, *_: object) -> None:
        if self._open:
            self._looks.ask()

    async def _list(self, said: Said) -> None:
        rows = await aside(extension_rows, self.desk.studio)
        self._shelf.tell("list", rows=rows, note=str(said.get("note", "")))
        self._looks.ask()

    async def _look(self) -> None:
        """Ask every panel what it shows; each has its seconds, and a slow one holds up none that stands before it."""
        book = self.desk.book
        panels = self.desk.studio.extensions.panels if book is not None else ()
        names = [[_key(each), each.owner, each.panel.title] for each in panels]
        self._shelf.tell("panels", panels=names, book=book.name if book is not None else "")
        for each in panels:
            if book is not None and self._open:
                await self._attempt(self._show(each, book))

    async def _show(self, owned: OwnedPanel, book: Book) -> None:
        desk, form = self.desk, owned.panel.form
        found = await desk.studio.extensions.shown(owned, desk.studio, book, desk.prompt)
        fields: list[dict[str, Any]] = []
        if form is not None:
            fields = await aside(lambda: form_fields(form.of(book)))
        self._shelf.tell("panel", key=_key(owned), fields=fields, **shown_row(found))

    async def _switch(self, said: Said) -> None:
        extensions, name = self.desk.studio.extensions, str(said.get("name"))
        if said.get("on"):
            works = await aside(extensions.enable, name)
            note = "" if works else "It could not be switched on."
        else:
            await aside(extensions.disable, name)
            note = ""
        await self._list({"note": note})
        self.desk.ask_for_prompt()

    async def _save(self, said: Said) -> None:
        desk, key = self.desk, str(said.get("key"))
        owned = next((each for each in desk.studio.extensions.panels if _key(each) == key), None)
        if owned is None or owned.panel.form is None or desk.book is None:
            raise NotFound("This panel is no longer there: its extension was switched off.")
        values = dict(said.get("values") or {})
        errors = await aside(store_form, owned.panel.form, desk.studio, desk.book.id, values)
        self._shelf.tell("saved", key=key, errors=errors)
        if not errors:
            await desk.refresh()


def _key(owned: OwnedPanel) -> str:
    return f"{owned.owner}/{owned.panel.title}"
