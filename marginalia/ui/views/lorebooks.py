"""The lorebooks: all of them, nested; the open one; files of every known tool, in and out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from marginalia.studio.lorebooks import ImportReport, Upload
from marginalia.ui.arriving import Arriving
from marginalia.ui.components.exploring import LorebookShelf
from marginalia.ui.forms import fill
from marginalia.ui.shelving import (
    LorebookModel,
    exported,
    lorebook_page,
    nest,
    report_row,
    shelf_rows,
    unnest,
)
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import EntryId, LorebookId

if TYPE_CHECKING:
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.explorer import Explorer


class LorebooksView(View):
    """Opens over the page when the explorer asks for it. Everything that reads or writes runs on a thread."""

    def __init__(self, desk: Desk, explorer: Explorer) -> None:
        super().__init__(desk)
        self._explorer = explorer
        self._shelf = LorebookShelf()
        handlers: dict[str, Callable[[Said], Awaitable[None]]] = {
            "open": self._open, "new": self._new, "save": self._save, "delete": self._delete, "restore": self._restore,
            "use": self._use, "nest": self._nest, "unnest": self._unnest, "export": self._export, "story": self._story,
            "restore_entry": self._restore_entry, "import": self._import, "explore": self._explore,
        }  # fmt: skip
        self._shelf.hear(
            file=self._file, **{name: self._shelf.guarded(each) for name, each in handlers.items()}
        )
        self._opened: LorebookId | None = None
        self._arriving = Arriving()
        self._uploads: list[Upload] = []
        self.follow("shelves", then=self._asked, of=explorer)

    def __panel__(self) -> LorebookShelf:
        return self._shelf

    async def _asked(self, *_: object) -> None:
        book = self.desk.book
        self._opened = book.lorebook_id if book is not None else None
        await self._shelf.guarded(self._show)({})

    async def _show(self, said: Said) -> None:
        """Tell everything again: the list, the trash, the open lorebook."""
        studio, book = self.desk.studio, self.desk.book
        rows = await aside(shelf_rows, studio, book)
        trash = await aside(studio.lorebooks.trash)
        if self._opened not in {row["id"] for row in rows}:
            self._opened = LorebookId(int(rows[0]["id"])) if rows else None
        page = await aside(lorebook_page, studio, self._opened, book) if self._opened is not None else None
        self._shelf.tell(
            "shelf", rows=rows, trash=[[each.id, each.name] for each in trash], page=page,
            note=str(said.get("note", "")), focus=bool(said.get("focus")),
        )  # fmt: skip

    async def _again(self, note: str = "", *, focus: bool = False) -> None:
        await self._show({"note": note, "focus": focus})
        await self.desk.refresh_library()
        await self.desk.refresh()

    # One lorebook.

    async def _open(self, said: Said) -> None:
        self._opened = LorebookId(int(said["id"]))
        await self._show({})

    async def _explore(self, said: Said) -> None:
        """Hand a lorebook to the explorer, whether the open book uses it or not."""
        self._explorer.explore(LorebookId(int(said["id"])))

    async def _new(self, _: Said) -> None:
        made = await aside(self.desk.studio.lorebooks.create, name="New lorebook")
        self._opened = made.id
        await self._again(focus=True)

    async def _save(self, said: Said) -> None:
        lorebooks, model = self.desk.studio.lorebooks, LorebookModel()
        lorebook = await aside(lorebooks.get, int(said["id"]))
        model.take(lorebook)
        errors = fill(model, dict(said.get("values") or {}))
        if not errors and not model.name.strip():
            errors = {"name": "A lorebook needs a name."}
        if errors:
            self._shelf.tell("problem", errors=errors)
            return
        await aside(lorebooks.save, model.freeze(lorebook))
        await self._again("Saved.")

    async def _delete(self, said: Said) -> None:
        await aside(self.desk.studio.lorebooks.delete, int(said["id"]))
        await self._again("It is in the trash.")

    async def _restore(self, said: Said) -> None:
        back = await aside(self.desk.studio.lorebooks.restore, int(said["id"]))
        self._opened = back.id
        await self._again("It is back.")

    async def _restore_entry(self, said: Said) -> None:
        back = await aside(self.desk.studio.lorebooks.restore_entry, EntryId(int(said["id"])))
        await self._again(f"{back.name} is back.")

    async def _use(self, said: Said) -> None:
        await self.desk.choose(lorebook=int(said["id"]))
        await self._again("This book draws on it now.")

    async def _nest(self, said: Said) -> None:
        await aside(nest, self.desk.studio, LorebookId(int(said["id"])), LorebookId(int(said["below"])))
        await self._again()

    async def _unnest(self, said: Said) -> None:
        await aside(unnest, self.desk.studio, LorebookId(int(said["id"])), LorebookId(int(said["below"])))
        await self._again()

    async def _export(self, said: Said) -> None:
        file = await aside(exported, self.desk.studio, LorebookId(int(said["id"])), str(said["format"]))
        self._shelf.tell("exported", **file)

    # Files that come in.

    def _file(self, said: Said) -> None:
        if trouble := self._arriving.take(said):
            self._shelf.tell("trouble", text=trouble)

    async def _import(self, said: Said) -> None:
        """Read the files that have come, one after the other; a refused one keeps no other out."""
        self._uploads = self._arriving.all_of(said)
        reports: list[ImportReport] = []
        for at, upload in enumerate(self._uploads):
            self._shelf.tell("progress", done=at, of=len(self._uploads), text=f"Reading {upload.file}…")
            await asyncio.sleep(0)
            reports += await aside(self.desk.studio.lorebooks.import_files, [upload])
        first = next((each.lorebooks[0].id for each in reports if each.lorebooks), None)
        self._opened = first if first is not None else self._opened
        self._shelf.tell("reports", reports=[report_row(each) for each in reports])
        if first is not None:
            await self._again()

    async def _story(self, said: Said) -> None:
        upload = self._uploads[int(said["at"])]
        report = await aside(self.desk.studio.import_story, upload)
        notes: list[dict[str, Any]] = [
            {
                "entry": each.entry or "the file",
                "fidelity": str(each.fidelity),
                "text": "; ".join(each.remarks),
            }
            for each in report.notes
        ]
        self._shelf.tell(
            "story", at=int(said["at"]), text=f"{report} It is among your books now.", notes=notes
        )
        await self.desk.refresh_library()
