"""The models and the protocols, each in a list of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from marginalia.ui.components.places import RecordShelf
from marginalia.ui.records import (
    WORDS,
    Kind,
    delete_record,
    duplicate_record,
    record_rows,
    record_trash,
    restore_record,
)
from marginalia.ui.view import View
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk


class RecordsView(View):
    """Opens over the page; the forms that it asks for open over it. It reads again when something was saved there."""

    def __init__(self, desk: Desk, kind: Kind) -> None:
        super().__init__(desk)
        self._kind: Kind = kind
        self._shelf = RecordShelf()
        handlers: dict[str, Callable[[Said], Awaitable[None]]] = {
            "edit": self._edit, "use": self._use, "duplicate": self._duplicate, "delete": self._delete,
            "restore": self._restore,
        }  # fmt: skip
        self._shelf.hear(
            new=lambda _: desk.wish(WORDS[kind].new),
            closed=self._closed,
            **{name: self._guarded(each) for name, each in handlers.items()},
        )
        self._open, self._chosen = False, 0
        self._note, self._undo = "", 0  # what was done last, and what it could be taken back by
        self.follow("library", "book", then=self._changed)

    def __panel__(self) -> RecordShelf:
        return self._shelf

    async def open(self) -> None:
        """Show the list."""
        self._open, self._note, self._undo = True, "", 0
        book = self.desk.book
        self._chosen = (WORDS[self._kind].used(book) or 0) if book is not None else 0
        await self._show(fresh=True)

    def _guarded(self, handler: Callable[[Said], Awaitable[None]]) -> Callable[[Said], Awaitable[None]]:
        """The handler; what it raises is said in the dialog, where the eye is."""

        async def handle(said: Said) -> None:
            self._note, self._undo = "", 0
            await handler(said)

        return self._shelf.guarded(handle)

    def _closed(self, _: Said) -> None:
        self._open = False

    async def _changed(self, *_: object) -> None:
        if self._open:
            await self._show()

    async def _show(self, *, fresh: bool = False) -> None:
        studio, book, words = self.desk.studio, self.desk.book, WORDS[self._kind]
        rows = await aside(record_rows, studio, self._kind, book)
        if self._chosen not in {row["id"] for row in rows}:
            self._chosen = int(rows[0]["id"]) if rows else 0
        self._shelf.tell(
            "shelf", rows=rows, trash=await aside(record_trash, studio, self._kind), chosen=self._chosen,
            title=words.title, create=words.create, none=words.none, about=words.about, book=book is not None,
            note=self._note, undo=self._undo, fresh=fresh,
        )  # fmt: skip

    async def _again(self, note: str, *, undo: int = 0) -> None:
        self._note, self._undo = note, undo
        await self.desk.refresh_library()
        await self._show()
        await self.desk.refresh()

    async def _edit(self, said: Said) -> None:
        self._chosen = int(said["id"])
        self.desk.wish(WORDS[self._kind].form, record=self._chosen)

    async def _use(self, said: Said) -> None:
        number = int(said["id"])
        if self._kind == "models":
            await self.desk.choose(provider=number)
        else:
            await self.desk.choose(protocol=number)
        self._note = "This book uses it now."
        await self._show()

    async def _duplicate(self, said: Said) -> None:
        self._chosen = await aside(duplicate_record, self.desk.studio, self._kind, int(said["id"]))
        await self._again("Here is the copy.")

    async def _delete(self, said: Said) -> None:
        number = int(said["id"])
        await aside(delete_record, self.desk.studio, self._kind, number)
        await self._again("It is in the trash.", undo=number)

    async def _restore(self, said: Said) -> None:
        self._chosen = await aside(restore_record, self.desk.studio, self._kind, int(said["id"]))
        await self._again("It is back.")
