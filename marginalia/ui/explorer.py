"""The lore explorer of one session: what is scanned, the entry that is being edited, the verdicts on all, the map."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import param

from marginalia.errors import NotFound
from marginalia.lore.book import Entry
from marginalia.pipeline.events import ProcessLorebooks
from marginalia.studio.lore_story import History, Moment, Source, decide
from marginalia.ui.marks import scanned
from marginalia.ui.replaying import Replaying
from marginalia.ui.shelving import folders
from marginalia.ui.work import Newest, aside
from marginalia.values import BookId, EntryId, NewPart

if TYPE_CHECKING:
    from collections.abc import Collection

    from marginalia.lore.scan import Scan
    from marginalia.lore.verdicts import Verdict
    from marginalia.pipeline.run import Run
    from marginalia.ui.desk import Desk
    from marginalia.values import Book, LorebookId, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was scanned, the verdict on every entry, and as rows of the list; ``opened`` is the open entry's.

    ``texts`` are the scanned texts with what was found in them marked; ``folders`` the lorebooks that were looked at.
    """

    scan: Scan
    verdicts: tuple[Verdict, ...]
    rows: tuple[dict[str, Any], ...]
    opened: Verdict | None = None
    texts: tuple[dict[str, Any], ...] = ()
    folders: tuple[dict[str, Any], ...] = ()


class Explorer(param.Parameterized):
    """Views follow it as they follow the desk. ``begin`` starts it, once; everything long runs on a thread."""

    findings = param.Parameter(
        default=None, doc="What came of it: Findings, or None for a book without lore."
    )
    shelves = param.Integer(default=0, doc="Grows when the lorebooks shall be opened.")
    world = param.Parameter(default=None, doc="The lorebook that is looked at; None: all that the book uses.")
    spread = param.Boolean(default=False, doc="Whether it shall lie over the page.")

    def __init__(self, desk: Desk) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]
        self.desk = desk
        self.source = Source()
        self.draft: Entry | None = None
        self.opened: EntryId | None = None
        self._begun = False
        self._followed: BookId | None = None
        self._moment: tuple[Turn, Moment] | None = None
        self._looked: tuple[Moment, History] | None = None
        self._history: tuple[tuple[int, int], History] | None = None
        self._rows: dict[int, tuple[Verdict, dict[str, Any]]] = {}
        self._looks = Newest(self._look)
        self.replaying = Replaying(self)
        self._listening: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look for the first time, and again with every prompt; from the session's loop."""
        if self._begun:
            return
        self._begun = True
        self.desk.errands.start(self._looks.serve())
        self.desk.errands.start(self.replaying.serve())
        # Also when the same thing still keeps the prompt from being sent: something may have been typed.
        self.desk.param.watch(  # pyright: ignore[reportUnknownMemberType]
            self._turned, ["prompt", "unsendable"], onlychanged=False
        )
        self.desk.param.watch(self._follow, ["book"])  # pyright: ignore[reportUnknownMemberType]
        self._follow()

    # What a person does.

    def look(self, source: Source) -> None:
        """Scan something else."""
        self.source = source
        self._looks.ask()

    def open(self, entry: EntryId | None) -> None:
        """Show one entry, as it is stored; ``None`` closes it."""
        self.opened, self.draft = entry, None
        self._looks.ask()

    def try_out(self, draft: Entry) -> None:
        """See what an entry would do that is not stored yet."""
        self.opened, self.draft = draft.id, draft
        self._looks.ask()

    def explore(self, world: LorebookId | None) -> None:
        """Look at a lorebook that the book need not use, with its request and story; ``None``: at the book's own."""
        self.world, self.opened, self.draft = world, None, None
        self.spread = world is not None
        self._looks.ask()

    def again(self) -> None:
        """Look once more: lore was changed."""
        self._looks.ask()

    def stored(self, entry: EntryId) -> Entry | None:
        """An entry as it is stored: the tags it has from its lorebook are not its own."""
        books = self._looked[0].lorebooks if self._looked is not None else ()
        return next((each for filled in books for each in filled.entries if each.id == entry), None)

    def all_stored(self, entries: Collection[int]) -> tuple[Entry, ...]:
        """Those of *entries* that are there, as they are stored."""
        books = self._looked[0].lorebooks if self._looked is not None else ()
        return tuple(each for filled in books for each in filled.entries if each.id in entries)

    # What follows from it.

    def _follow(self, *_: object) -> None:
        book = self.desk.book
        if self._followed is not None and book is not None and self._followed == book.id:
            return
        self._followed = book.id if book is not None else None
        self._moment = self._looked = self.world = None
        if self._listening is not None:
            self._listening.cancel()
        if book is not None:
            self._listening = self.desk.errands.start(self._listen(book.id))
            self.desk.ask_for_prompt()

    async def _listen(self, book: BookId) -> None:
        """Note what every preview of this session's turn sees of lore, until the session ends."""
        listening = self.desk.studio.on(ProcessLorebooks, self._seen, book=book, owner="explorer")
        try:
            await asyncio.Event().wait()
        finally:
            listening.close()

    def _seen(self, run: Run, event: ProcessLorebooks) -> None:
        book = self.desk.book
        mine = run.preview and isinstance(event.request, NewPart) and event.turn == self.desk.turn.freeze()
        if mine and book is not None and book.settings == event.book.settings:
            self._moment = event.turn, Moment.of(run, event)

    def _turned(self, *_: object) -> None:
        self._looks.ask()

    async def _look(self) -> None:
        desk = self.desk
        book = desk.book
        moment = await self._now(book) if book is not None else None
        if moment is None:
            self._looked = None
            self.findings = None
            return
        history = await self._story(moment)
        self._looked = moment, history
        plain = self.source.kind == "next" and self.draft is None and not desk.unsendable
        prompt = desk.prompt if plain and self.world is None else None
        lore = tuple(prompt.lore) if prompt is not None else None
        self.findings = await aside(self._find, moment, history, lore)
        self.replaying.keep(moment, history, self.findings)

    async def _now(self, book: Book) -> Moment | None:
        """What the next turn sees: as the preview saw it, or, where there is none, as it is stored."""
        exploring, turn = self.desk.studio.lorebooks.exploring, self.desk.turn.freeze()
        root = self.world if self.world is not None else book.lorebook_id
        if root is None:
            return None
        seen, moment = self._moment or (None, None)
        if self.world is None and (seen == turn or not self.desk.unsendable):
            return moment
        try:
            lorebooks = await aside(exploring.lorebooks, root)
            return await aside(exploring.moment, book, lorebooks, turn)
        except NotFound:
            self.world = None
            return moment

    async def _story(self, moment: Moment) -> History:
        key = (moment.book.id, self.desk.studio.version(moment.book))
        if self._history is None or self._history[0] != key:
            self._history = (key, await aside(self.desk.studio.lorebooks.exploring.history, moment.book))
        return self._history[1]

    def _find(self, moment: Moment, history: History, lore: tuple[Verdict, ...] | None) -> Findings:
        if lore is None:
            scan, verdicts = decide(moment, history, self.source, self.draft)
        else:
            scan, verdicts = history.scan(moment, self.source), lore
        opened = next((each for each in verdicts if each.entry.id == self.opened), None)
        if opened is not None:
            _ = opened.gates, opened.hits
        return Findings(
            scan=scan,
            verdicts=verdicts,
            rows=self._rows_of(verdicts),
            opened=opened,
            texts=tuple(scanned(scan, verdicts, opened)),
            folders=folders(moment.lorebooks),
        )

    def _rows_of(self, verdicts: tuple[Verdict, ...]) -> tuple[dict[str, Any], ...]:
        """A row per verdict; a verdict that is still the same object keeps its row, words and all."""
        before, self._rows = self._rows, {}
        for verdict in verdicts:
            known = before.get(id(verdict))
            self._rows[id(verdict)] = known if known is not None else (verdict, _row(verdict))
        return tuple(row for _, row in self._rows.values())


def _row(verdict: Verdict) -> dict[str, Any]:
    entry = verdict.entry
    state = "in" if verdict.active else "nearly" if verdict.nearly else "out"
    return {
        "id": entry.id,
        "name": entry.name,
        "lorebook": verdict.lorebook,
        "home": entry.lorebook_id,
        "state": state,
        "reason": verdict.reason,
        "tokens": verdict.tokens,
        "order": entry.ordinal,
        "place": _PLACES.get(entry.insertion.value, entry.insertion.value),
        "on": entry.enabled,
    }


_PLACES = {
    "lore_block": "lore block",
    "before_user_prompt": "before the request",
    "depth": "at a depth",
    "slot": "in a slot",
}
