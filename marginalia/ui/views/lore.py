"""The lore tab: every entry, in or not, and why; what is scanned; one open entry with its form; the replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from marginalia.lore.book import Entry, Lorebook
from marginalia.studio.lore_story import Source
from marginalia.ui.components.exploring import LoreExplorer
from marginalia.ui.entry_form import ROLES, entry_from, fields_of, keys_of, problems_of
from marginalia.ui.lore_map import LoreMap, told
from marginalia.ui.shelving import bulk_edit, packed
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import EntryId

if TYPE_CHECKING:
    from marginalia.lore.verdicts import Verdict
    from marginalia.studio.lore_edits import LoreEdit
    from marginalia.studio.lore_map import StoryMap
    from marginalia.studio.lore_story import Kind
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.explorer import Explorer, Findings

LORE_TAB = 1
_NEW = EntryId(0)
_KINDS: Mapping[str, Kind] = {kind: kind for kind in ("next", "end", "part", "asked", "pasted")}
_GIVEN = ("id", "uid", "lorebook_id", "created", "raw")


class LoreView(View):
    """Tells the browser which verdicts changed; only while the tab is open."""

    def __init__(self, desk: Desk, explorer: Explorer) -> None:
        super().__init__(desk)
        self._explorer = explorer
        self._map = LoreMap(self._went)
        self._list = LoreExplorer(map=self._map.pane, roles=dict(ROLES), sizing_mode="stretch_both")
        self._list.hear(
            ready=self._ready, open=self._open, shut=self._shut, draft=self._draft, save=self._save,
            delete=self._delete, new=self._new, source=self._source, map=self._unfold,
            cancel=lambda _: explorer.replaying.cancel(), shelves=self._shelves, many=self._many, undo=self._undo,
            home=lambda _: explorer.explore(None), small=self._small,
        )  # fmt: skip
        self._told: dict[int, dict[str, Any]] = {}
        self._form: EntryId | None = None
        self._folders: tuple[dict[str, Any], ...] = ()
        self._done: LoreEdit | None = None
        self._drawn: StoryMap | None = None
        self.follow("tab", then=self._update)
        self.follow("shape", then=self._reshape)
        self.follow("library", then=self._shelved)
        self.follow("findings", then=self._update, of=explorer)
        self.follow("map", "mapping", "share", then=self._mapped, of=explorer.replaying)
        self.follow("world", "spread", then=self._elsewhere, of=explorer)

    def __panel__(self) -> LoreExplorer:
        return self._list

    # What is shown.

    def _ready(self, _: Said) -> None:
        self._told.clear()
        self._form = self._drawn = None
        self._explorer.begin()
        self._mapped()
        self._update(first=True)
        self._tell_source()

    def _reshape(self, *_: object) -> None:
        self._list.parts = len(self.desk.shape.branch) if self.desk.shape is not None else 0

    def _shelved(self, *_: object) -> None:
        self._list.lorebooks = [list(each) for each in self.desk.library.lorebooks]

    def _update(self, *_: object, first: bool = False) -> None:
        findings: Findings | None = self._explorer.findings
        if self.desk.tab != LORE_TAB and not first:
            return
        rows = {int(row["id"]): row for row in findings.rows if row["id"]} if findings is not None else {}
        if first or list(rows) != list(self._told):
            self._list.tell("lore", first=True, rows=packed(rows.values()))
        elif changed := [row for each, row in rows.items() if row is not self._told[each]]:
            self._list.tell("patch", rows=packed(changed))
        self._told = rows
        folders = findings.folders if findings is not None else ()
        if first or folders != self._folders:
            self._folders = folders
            self._list.tell("folders", folders=folders)
        opened = findings.opened if findings is not None else None
        if findings is not None:
            self._list.tell("scanned", texts=findings.texts)
        if self._explorer.opened is not None:
            self._tell_verdict(opened)

    def _tell_verdict(self, verdict: Verdict | None) -> None:
        explorer = self._explorer
        if verdict is not None and explorer.draft is None and self._form != verdict.entry.id:
            stored = explorer.stored(verdict.entry.id) or verdict.entry
            self._tell_form(stored, verdict.entry.name, verdict.lorebook)
        gates = (
            [{"passed": gate.passed, "text": gate.text} for gate in verdict.gates]
            if verdict is not None
            else []
        )
        if verdict is not None and not gates:
            gates = [{"passed": verdict.active, "text": verdict.reason}]
        entry = explorer.draft or (verdict.entry if verdict is not None else Entry())
        self._list.tell(
            "verdict", id=explorer.opened, state=_state(verdict), gates=gates, problems=problems_of(entry),
            reason=verdict.reason if verdict is not None else "", tokens=verdict.tokens if verdict is not None else 0,
        )  # fmt: skip

    def _tell_form(self, entry: Entry, title: str, lorebook: str) -> None:
        everyday, more = fields_of(entry)
        self._form = entry.id
        self._list.tell(
            "entry", id=entry.id, title=title or "(no name)", lorebook=lorebook, fields=everyday, more=more,
            keys=keys_of(entry),
        )  # fmt: skip

    def _mapped(self, *_: object) -> None:
        replaying = self._explorer.replaying
        made: StoryMap | None = replaying.map
        self._list.param.update(mapping=replaying.mapping, share=replaying.share)
        if made is not None and made is not self._drawn:
            self._drawn = made
            self._map.show(made)
            self._list.map_text = told(made)
            counts = [(each, number, made.last.get(each, 0)) for each, number in made.fired.items()]
            self._list.tell("counts", parts=made.parts, counts=packed(counts))

    def look_at(self, number: int) -> None:
        """Look at the request that a part came of, as the other tabs do; 0: at the next request again."""
        source = Source(kind="asked", number=number) if number else Source()
        if source != self._explorer.source:
            self._explorer.look(source)
            self._tell_source()

    def _tell_source(self) -> None:
        source = self._explorer.source
        self._list.tell("source", scanned=source.kind, number=source.number)

    # What a person does.

    def _open(self, said: Said) -> None:
        self._form = None
        self._explorer.open(EntryId(int(said["id"])))

    def _shut(self, _: Said) -> None:
        self._form = None
        self._explorer.open(None)

    def _new(self, _: Said) -> None:
        self._explorer.open(None)
        self._tell_form(Entry(), "New entry", "")
        self._explorer.try_out(Entry())

    def _source(self, said: Said) -> None:
        kind = _KINDS.get(str(said.get("kind")), "next")
        number = int(said.get("number") or 0)
        self._explorer.look(Source(kind=kind, number=number, text=str(said.get("text") or "")))

    def _unfold(self, said: Said) -> None:
        self._explorer.replaying.unfold(on=bool(said.get("on")))

    def _went(self, entry: EntryId, part: int) -> None:
        """A cell was clicked: show its part, and explain it as it was then."""
        self.desk.show = part
        self._list.tell("went", id=entry, number=part)
        self._form = None
        self._explorer.source = Source(kind="asked", number=part)
        self._explorer.open(entry)

    def _shelves(self, _: Said) -> None:
        self._explorer.shelves += 1

    def _elsewhere(self, *_: object) -> None:
        """Another lorebook is looked at than the book's own."""
        world = self._explorer.world
        names = dict(self.desk.library.lorebooks)
        self._list.world = names.get(world, "another lorebook") if world is not None else ""
        self._list.spread = self._explorer.spread

    def _small(self, _: Said) -> None:
        self._explorer.spread = False

    def _known(self, number: int) -> Entry:
        return (self._explorer.stored(EntryId(number)) if number else None) or Entry()

    def _draft(self, said: Said) -> None:
        draft, errors = entry_from(said, self._known(int(said["id"])))
        self._list.tell("problem", errors=errors)
        self._explorer.try_out(draft)

    async def _save(self, said: Said) -> None:
        known = self._known(int(said["id"]))
        wanted, errors = entry_from(said, known)
        if not errors and not wanted.name.strip():
            errors = {"name": "An entry needs a name."}
        if errors:
            self._list.tell("problem", errors=errors)
        elif await self.desk.attempt(self._store(wanted)):
            self._list.tell("closed")
            await self._changed()

    async def _changed(self) -> None:
        self._explorer.again()
        await self.desk.refresh()

    async def _store(self, entry: Entry) -> None:
        lorebooks = self.desk.studio.lorebooks
        if entry.id:
            await aside(lorebooks.save_entry, entry)
            return
        lorebook = await self._lorebook()
        values: dict[str, Any] = {
            each.name: getattr(entry, each.name) for each in fields(entry) if each.name not in _GIVEN
        }
        await aside(lorebooks.add_entry, lorebook, **values)

    async def _lorebook(self) -> Lorebook:
        """Where a new entry goes: the lorebook looked at, else the book's, which is made if there is none."""
        studio, book = self.desk.studio, self.desk.book
        root = self._explorer.world or (book.lorebook_id if book is not None else None)
        if root is None:
            lorebook = await aside(studio.lorebooks.create, name=f"Lore of {book.name}" if book else "Lore")
            await self.desk.choose(lorebook=lorebook.id)
            return lorebook
        return await aside(studio.lorebooks.get, root)

    async def _delete(self, said: Said) -> None:
        deleting = self.desk.studio.lorebooks.delete_entry
        if await self.desk.attempt(aside(deleting, EntryId(int(said["id"])))):
            self._list.tell("closed")
            await self._changed()

    async def _many(self, said: Said) -> None:
        """Do one thing to many entries, in one transaction."""
        entries = self._explorer.all_stored({int(each) for each in said.get("ids") or ()})
        await self.desk.attempt(
            self._edit(entries, str(said.get("what")), str(said.get("value") or "").strip())
        )

    async def _edit(self, entries: Sequence[Entry], what: str, value: str) -> None:
        lorebooks = self.desk.studio.lorebooks
        home = await self._lorebook() if what == "folder" and value else None
        edit = await aside(bulk_edit, lorebooks, entries, what, value, home)
        if edit is not None:
            self._done = edit
            self._list.tell("did", text=edit.text, undo=True)
            await self._changed()

    async def _undo(self, _: Said) -> None:
        done, self._done = self._done, None
        if done is not None:
            await self.desk.attempt(self._take_back(done))

    async def _take_back(self, done: LoreEdit) -> None:
        self._list.tell("did", text=await aside(done.undo), undo=False)
        await self._changed()


def _state(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    return "in" if verdict.active else "nearly" if verdict.nearly else "out"
