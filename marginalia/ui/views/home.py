"""The books: all of them, new ones, copies, files in and out, the trash and the way back."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from marginalia.errors import Busy, InvalidInput
from marginalia.studio.lorebooks import Upload
from marginalia.ui.arriving import Arriving
from marginalia.ui.bookcase import (
    Arrival,
    Departure,
    backed_up,
    book_rows,
    duplicate,
    exported,
    formats,
    inside,
    new_book,
    next_book,
    note_opened,
    rename,
    take_in,
    trash_rows,
)
from marginalia.ui.components.shelves import BookShelf
from marginalia.ui.troubles import notice_of
from marginalia.ui.view import View
from marginalia.ui.work import aside, stoppable
from marginalia.values import BookId

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.values import Progress

_PIECE = 384 * 1024


class HomeView(View):
    """Opens over the page. Everything that reads or writes runs on a thread."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._shelf = BookShelf()
        handlers: dict[str, Callable[[Said], Awaitable[None]]] = {
            "open": self._open, "new": self._new, "rename": self._rename, "duplicate": self._duplicate,
            "export": self._export, "backup": self._backup, "delete": self._delete, "restore": self._restore,
            "import": self._import, "look": self._look, "replace": self._replace,
        }  # fmt: skip
        self._shelf.hear(
            file=self._file,
            halt=self._halt,
            enough=self._enough,
            **{name: self._shelf.guarded(each) for name, each in handlers.items()},
        )
        self._chosen: BookId | None = None
        self._noted: BookId | None = None
        self._arriving = Arriving()
        self._reading = False
        self._doing: asyncio.Task[None] | None = None
        self._backup_file: tuple[BookId, Upload] | None = None
        self.follow("book", then=self._came)

    def __panel__(self) -> BookShelf:
        return self._shelf

    async def open(self) -> None:
        """Show the books."""
        self._chosen = self.desk.book.id if self.desk.book is not None else None
        await self._shelf.guarded(self._show)({"fresh": True})

    async def _came(self, *_: object) -> None:
        """Another book is open: keep when that was."""
        book = self.desk.book
        if book is not None and book.id != self._noted:
            self._noted = book.id
            await self.desk.attempt(aside(note_opened, self.desk.studio, book.id, datetime.now(UTC)))

    async def _show(self, said: Said) -> None:
        studio, book = self.desk.studio, self.desk.book
        rows = await aside(book_rows, studio, datetime.now(UTC))
        if self._chosen not in {row["id"] for row in rows}:
            self._chosen = BookId(int(rows[0]["id"])) if rows else None
        self._shelf.tell(
            "shelf", rows=rows, trash=await aside(trash_rows, studio), formats=formats(studio), chosen=self._chosen,
            opened=book.id if book is not None else 0, note=str(said.get("note", "")), fresh=bool(said.get("fresh")),
        )  # fmt: skip

    async def _again(self, note: str = "") -> None:
        await self.desk.refresh_library()
        await self._show({"note": note})

    # One book.

    async def _open(self, said: Said) -> None:
        await self.desk.open_book(_book(said))
        self._shelf.tell("close")

    async def _new(self, said: Said) -> None:
        desk = self.desk
        made = await aside(new_book, desk.studio, str(said.get("name") or ""), desk.book, desk.library)
        await desk.refresh_library()
        await desk.open_book(made.id)
        self._shelf.tell("close")

    async def _rename(self, said: Said) -> None:
        self._chosen = _book(said)
        named = await aside(rename, self.desk.studio, self._chosen, str(said.get("name") or ""))
        await self._again(f"It is called {named.name} now.")

    async def _duplicate(self, said: Said) -> None:
        copy = await aside(duplicate, self.desk.studio, _book(said))
        self._chosen = copy.id
        await self._again("Here is the copy.")

    async def _delete(self, said: Said) -> None:
        book = _book(said)
        if self.desk.studio.running(book) is not None:
            raise Busy("This book is being written just now. Stop that first, or wait until it is done.")
        if self.desk.book is not None and self.desk.book.id == book:
            other = await aside(next_book, self.desk.studio, book)
            if other is not None:
                await self.desk.open_book(other)
        await aside(self.desk.studio.books.delete, book)
        await self._again("It is in the trash.")

    async def _restore(self, said: Said) -> None:
        back = await aside(self.desk.studio.books.restore, _book(said))
        self._chosen = back.id
        if self.desk.book is None:
            await self.desk.open_book(back.id)
        await self._again("It is back.")

    # Files that go out.

    async def _export(self, said: Said) -> None:
        book, form, options = _book(said), str(said.get("format")), dict(said.get("options") or {})
        self._write(said, lambda progress: exported(self.desk.studio, book, form, options, progress))

    async def _backup(self, said: Said) -> None:
        book = _book(said)
        self._write(said, lambda progress: backed_up(self.desk.studio, book, progress))

    def _write(self, said: Said, make: Callable[[Progress], Departure]) -> None:
        """Write a file and send it."""
        job = _job(said)

        async def send() -> None:
            await self._send(await stoppable(make, self._telling(job)), job)

        self._begin(send())

    def _begin(self, work: Awaitable[None]) -> None:
        """Do what takes long, so that Stop is heard meanwhile; one thing at a time."""
        self._halt()
        self._doing = self.desk.errands.start(self._shelf.attempt(work))

    def _telling(self, job: int) -> Callable[[float], None]:
        return lambda share: self._shelf.tell("share", job=job, share=share)

    def _halt(self, *_: object) -> None:
        """End what is going on; nothing of it is sent or stored."""
        if self._doing is not None:
            self._doing.cancel()

    async def _send(self, file: Departure, job: int) -> None:
        """In pieces, so that no message is so large that it holds up the page."""
        for at in range(0, len(file.data), _PIECE):
            piece = b64encode(file.data[at : at + _PIECE]).decode("ascii")
            self._shelf.tell("piece", job=job, data=piece, share=min(1.0, (at + _PIECE) / len(file.data)))
            await asyncio.sleep(0)
        self._shelf.tell("sent", job=job, name=file.name)

    # Files that come in.

    def _file(self, said: Said) -> None:
        if trouble := self._arriving.take(said):
            self._shelf.tell("trouble", text=trouble)

    def _enough(self, _: Said) -> None:
        """No further file; the one that is being read becomes a book."""
        self._reading = False

    async def _import(self, said: Said) -> None:
        self._reading = True
        self.desk.errands.start(self._shelf.attempt(self._take_in(self._arriving.all_of(said))))

    async def _take_in(self, uploads: Sequence[Upload]) -> None:
        """Make books of the files, one after the other; a refused one keeps no other out."""
        desk, rows = self.desk, list[dict[str, object]]()
        for at, upload in enumerate(uploads):
            if not self._reading:
                rows.append(
                    {"file": upload.file, "text": "Not read: it was stopped before.", "refused": True}
                )
                continue
            text = f"Reading {upload.file}… {at + 1} of {len(uploads)}"
            self._shelf.tell("progress", text=text, more=at + 1 < len(uploads))
            try:
                found = await aside(take_in, desk.studio, upload, desk.book, desk.library)
            except Exception as error:  # noqa: BLE001 - the border between a file and the page
                found = Arrival(file=upload.file, text=notice_of(error).text)
            self._chosen = found.book or self._chosen
            rows.append({"file": found.file, "text": found.text, "refused": found.book is None})
        await self._again()
        self._shelf.tell("arrived", rows=rows)

    async def _look(self, said: Said) -> None:
        """Say what a backup holds, before a book is replaced by it."""
        self._backup_file = None
        uploads = self._arriving.all_of(said)
        if not uploads:
            raise InvalidInput("The file did not arrive. Choose it again.")
        lines = await aside(inside, self.desk.studio, uploads[0])
        self._backup_file = (_book(said), uploads[0])
        self._shelf.tell("inside", id=_book(said), lines=lines)

    async def _replace(self, said: Said) -> None:
        """What was asked for after :meth:`_look`."""
        book, kept, restore = _book(said), self._backup_file, self.desk.studio.books.restore
        if kept is None or kept[0] != book:
            raise InvalidInput("The backup is no longer at hand. Choose it again.")
        data, told = kept[1].data, self._telling(_job(said))

        async def replace() -> None:
            await stoppable(lambda progress: restore(book, data, progress=progress), told)
            self._backup_file = None
            await self._again("It is what the backup holds.")
            await self.desk.refresh()

        self._begin(replace())


def _job(said: Said) -> int:
    return int(said.get("job") or 0)


def _book(said: Said) -> BookId:
    return BookId(int(said["id"]))
