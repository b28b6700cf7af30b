"""The copies of the whole database: taken now, checked, and books brought back out of them. For the owner only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from marginalia.errors import NotFound
from marginalia.ui.components.places import CopiesShelf
from marginalia.ui.troubles import notice_of
from marginalia.ui.view import View
from marginalia.ui.words import ago, count
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.store.backup_copies import Copy
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

_OF_OTHERS = (
    "Copies of the whole database hold the books of everybody who uses it, so they are for whoever runs it."
)
_ABOUT = (
    "A copy is taken once a day while the app is served; seven stay, and one of each of the last four weeks. To put a "
    "whole copy in the place of the database, end the app and run: marginalia backup put-back"
)
_IN_MEMORY = "These books are only in memory: there is no file to copy."


class CopiesView(View):
    """Opens over the page. What takes long runs on a thread, shows its seconds, and can be left with Stop."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._shelf = CopiesShelf()
        handlers: dict[str, Callable[[Said], Awaitable[None]]] = {
            "take": self._take, "check": self._check, "look": self._look, "bring": self._bring,
        }  # fmt: skip
        self._shelf.hear(
            stop=self._stop, closed=self._stop, **{name: self._begun(each) for name, each in handlers.items()}
        )
        self._doing: asyncio.Task[None] | None = None

    def __panel__(self) -> CopiesShelf:
        return self._shelf

    async def open(self) -> None:
        """Show the copies."""
        await self._guard(self._show(fresh=True))

    def _begun(self, handler: Callable[[Said], Awaitable[None]]) -> Callable[[Said], None]:
        """Start what takes long, so that Stop is heard meanwhile; one thing at a time."""

        def begin(said: Said) -> None:
            self._stop()
            self._doing = self.desk.errands.start(self._guard(handler(said)))

        return begin

    def _stop(self, *_: object) -> None:
        """Leave what is going on: its thread ends by itself, and nothing of it is shown or kept by the page."""
        if self._doing is not None:
            self._doing.cancel()

    async def _guard(self, action: Awaitable[None]) -> None:
        try:
            await action
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self._shelf.tell("trouble", text=notice_of(error).text)

    async def _show(self, *, note: str = "", fresh: bool = False, chosen: str = "") -> None:
        copies = self.desk.studio.copies
        found = await aside(copies.all) if copies.owner else ()
        about = _ABOUT if copies.owner else _OF_OTHERS
        self._shelf.tell(
            "shelf", rows=[_row(each) for each in found], note=note, fresh=fresh, chosen=chosen,
            about=about if copies.folder is not None else _IN_MEMORY,
        )  # fmt: skip

    async def _take(self, _: Said) -> None:
        self._refuse_others()
        copy = await aside(self.desk.studio.copies.take)
        await self._show(note=f"Taken and checked: {_size(copy.size)}.", chosen=copy.path.name)

    async def _check(self, said: Said) -> None:
        copies, copy = self.desk.studio.copies, await self._copy(said)
        found = await aside(copies.verify, copy)
        text = " ".join(found.problems[:3]) or "Everything in this copy can be read."
        self._shelf.tell("trouble" if found.problems else "note", text=text)

    async def _look(self, said: Said) -> None:
        books = await aside(self.desk.studio.copies.books, await self._copy(said))
        rows = [
            {
                "uid": each.uid,
                "name": each.name,
                "facts": f"{count(each.parts, 'part')}, {count(each.words, 'word')}",
            }
            for each in books
        ]
        self._shelf.tell("books", name=str(said["name"]), books=rows)

    async def _bring(self, said: Said) -> None:
        studio, copy = self.desk.studio, await self._copy(said)
        data = await aside(studio.copies.take_out, copy, str(said["uid"]))
        name = (await aside(studio.books.contents, data)).name
        back = await aside(studio.books.clone, data, name=f"{name} ({copy.taken.astimezone():%d %B %Y})")
        await self.desk.refresh_library()
        self._shelf.tell("note", text=f"“{back.name}” is among your books.")

    async def _copy(self, said: Said) -> Copy:
        """The copy that the browser means: one of those that are there, never a path of its own."""
        self._refuse_others()
        name = str(said.get("name"))
        found = next(
            (each for each in await aside(self.desk.studio.copies.all) if each.path.name == name), None
        )
        if found is None:
            raise NotFound("This copy is no longer there; newer ones have taken its place.")
        return found

    def _refuse_others(self) -> None:
        if not self.desk.studio.copies.owner:
            raise NotFound(_OF_OTHERS)


def _row(copy: Copy) -> dict[str, Any]:
    return {
        "name": copy.path.name,
        "when": ago(copy.taken, datetime.now(UTC)),
        "exact": f"{copy.taken.astimezone():%d %B %Y, %H:%M}",
        "size": _size(copy.size),
        "path": str(copy.path),
    }


def _size(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"
