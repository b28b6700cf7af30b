"""The lore tab: every entry, in or not, and why; one open entry with its gates and its form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.lore.book import Entry, Lorebook
from marginalia.models import EntryModel
from marginalia.ui.components import LoreList
from marginalia.ui.forms import described, fill
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import EntryId

if TYPE_CHECKING:
    from marginalia.lore.verdicts import Verdict
    from marginalia.prompt.segments import Prompt
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

LORE_TAB = 1
_WIDE = ("name", "payload", "filter_text")


class LoreView(View):
    """Tells the browser which verdicts changed; only while the tab is open."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._list = LoreList(sizing_mode="stretch_both")
        self._list.hear(
            ready=self._ready,
            open=self._open,
            shut=self._shut,
            save=self._save,
            delete=self._delete,
            new=self._new,
        )
        self._told: dict[int, dict[str, Any]] = {}
        self._opened: EntryId | None = None
        self.follow("prompt", "tab", then=self._update)

    def __panel__(self) -> LoreList:
        return self._list

    def _ready(self, _: Said) -> None:
        self._told.clear()
        self._update()

    def _update(self, *_: object) -> None:
        prompt: Prompt | None = self.desk.prompt
        if self.desk.tab != LORE_TAB or prompt is None:
            return
        rows = {verdict.entry.id: _row(verdict) for verdict in prompt.lore}
        if list(rows) != list(self._told):
            self._list.tell("lore", first=True, rows=list(rows.values()))
        elif changed := [row for each, row in rows.items() if row != self._told[each]]:
            self._list.tell("patch", rows=changed)
        self._told = {int(each): row for each, row in rows.items()}
        if self._opened is not None:
            self._tell_entry(self._opened)

    def _open(self, said: Said) -> None:
        self._opened = EntryId(int(said["id"]))
        self._tell_entry(self._opened)

    def _shut(self, _: Said) -> None:
        self._opened = None

    def _new(self, _: Said) -> None:
        self._opened = None
        self._list.tell(
            "entry", id=0, title="New entry", lorebook="", gates=[], fields=_fields(Entry()), saved=False
        )

    def _verdict(self, entry: EntryId) -> Verdict | None:
        prompt: Prompt | None = self.desk.prompt
        return (
            next((each for each in prompt.lore if each.entry.id == entry), None)
            if prompt is not None
            else None
        )

    def _tell_entry(self, entry: EntryId, *, saved: bool = False) -> None:
        verdict = self._verdict(entry)
        if verdict is None:
            return
        gates = [{"passed": gate.passed, "text": gate.text} for gate in verdict.gates]
        self._list.tell(
            "entry", id=entry, title=verdict.entry.name or "(no name)", lorebook=verdict.lorebook,
            gates=gates or [{"passed": verdict.active, "text": verdict.reason}],
            fields=_fields(verdict.entry), saved=saved,
        )  # fmt: skip

    async def _save(self, said: Said) -> None:
        model = EntryModel()
        known = self._verdict(EntryId(int(said["id"])))
        model.take(known.entry if known is not None else Entry())
        errors = fill(model, dict(said["values"]))
        if not errors and not model.name.strip():
            errors = {"name": "An entry needs a name."}
        if errors:
            self._list.tell("problem", errors=errors)
            return
        if await self.desk.attempt(self._store(model, known.entry if known is not None else None)):
            self._list.tell("closed")
            await self.desk.refresh()

    async def _store(self, model: EntryModel, entry: Entry | None) -> None:
        lorebooks = self.desk.studio.lorebooks
        if entry is not None:
            await aside(lorebooks.save_entry, model.freeze(entry))
            return
        fresh = model.freeze(Entry())
        lorebook = await self._lorebook()
        await aside(
            lorebooks.add_entry, lorebook, name=fresh.name, payload=fresh.payload, filter=fresh.filter,
            enabled=fresh.enabled, ordinal=fresh.ordinal, insertion=fresh.insertion, tags=fresh.tags,
            negative_tags=fresh.negative_tags,
        )  # fmt: skip

    async def _lorebook(self) -> Lorebook:
        """The book's lorebook; one of its own name is made when it has none."""
        studio, book = self.desk.studio, self.desk.book
        if book is None or book.lorebook_id is None:
            lorebook = await aside(studio.lorebooks.create, name=f"Lore of {book.name}" if book else "Lore")
            await self.desk.choose(lorebook=lorebook.id)
            return lorebook
        return await aside(studio.lorebooks.get, book.lorebook_id)

    async def _delete(self, said: Said) -> None:
        verdict = self._verdict(EntryId(int(said["id"])))
        deleting = self.desk.studio.lorebooks.delete_entry
        if verdict is not None and await self.desk.attempt(aside(deleting, verdict.entry)):
            self._list.tell("closed")
            await self.desk.refresh()


def _row(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.entry.id,
        "name": verdict.entry.name,
        "lorebook": verdict.lorebook,
        "active": verdict.active,
        "reason": verdict.reason,
        "tokens": verdict.tokens,
    }


def _fields(entry: Entry) -> list[dict[str, Any]]:
    model = EntryModel()
    model.take(entry)
    return described(model, wide=_WIDE, areas=("payload",))
