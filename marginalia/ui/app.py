"""The page: the shell around the views, what a session needs, and what stands there when nothing can be opened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

import panel as pn
from panel.util.parameters import edit_readonly
from panel_material_ui.template.base import Page
from panel_material_ui.widgets import Button

from marginalia.errors import MarginaliaError
from marginalia.ui.components import Figures, Inspector, Keys
from marginalia.ui.desk import Desk
from marginalia.ui.explorer import Explorer
from marginalia.ui.house import studio_of_visitor, way_out
from marginalia.ui.keys import KEYS, PLACES
from marginalia.ui.lens import Lens
from marginalia.ui.preferences import Looks
from marginalia.ui.shell import ShellView
from marginalia.ui.theme import PAGE_SX, THEME
from marginalia.ui.views.budget import BudgetView
from marginalia.ui.views.contents import ContentsView
from marginalia.ui.views.copies import CopiesView
from marginalia.ui.views.dialogs import DialogsView
from marginalia.ui.views.extensions import ExtensionsView
from marginalia.ui.views.home import HomeView
from marginalia.ui.views.lore import LoreView
from marginalia.ui.views.lorebooks import LorebooksView
from marginalia.ui.views.masthead import MastheadView
from marginalia.ui.views.outline import OutlineView
from marginalia.ui.views.panels import PanelsView
from marginalia.ui.views.preferences import PreferencesView
from marginalia.ui.views.prompt import PROMPT_TAB, PromptView
from marginalia.ui.views.prompts import PromptsView
from marginalia.ui.views.records import RecordsView
from marginalia.ui.views.revisions import RevisionsView
from marginalia.ui.views.run import RunView
from marginalia.ui.views.search import SearchView
from marginalia.ui.views.sides import SidesView
from marginalia.ui.views.story import StoryView
from marginalia.ui.views.summaries import SummariesView
from marginalia.ui.views.tree import TreeView
from marginalia.ui.views.turn import TurnView
from marginalia.ui.views.welcome import WelcomeView
from marginalia.ui.workbench import Workbench
from marginalia.values import BookId

if TYPE_CHECKING:
    from marginalia.studio import Studio
    from marginalia.ui.components.base import Said

_log = logging.getLogger(__name__)


def extension() -> None:
    """Load Panel for a session; nothing of it comes from another host."""
    pn.extension(notifications=True, reconnect=True, exception_handler=_unexpected)


def page(studio: Studio | None = None) -> Page:
    """The app of one session on *studio*, or on the studio of whoever is logged in."""
    try:
        found = studio if studio is not None else studio_of_visitor()
    except (MarginaliaError, OSError) as error:
        return _closed(error)
    return Session(found).page


class Session:
    """One tab: a desk, the views on it, and the shell around them."""

    def __init__(self, studio: Studio) -> None:
        self.desk = Desk(studio)
        self._lens = Lens(self.desk)
        self._explorer = Explorer(self.desk)
        self._bench = bench = Workbench(self.desk)
        self._looks = Looks()
        self._shell = ShellView(self.desk, self._looks)
        self._story = StoryView(self.desk, bench)
        self._left = SidesView(
            self.desk,
            bench,
            outline=OutlineView(self.desk),
            tree=TreeView(self.desk, bench),
            summaries=SummariesView(self.desk, bench),
        )
        self._turn = TurnView(self.desk)
        self._keys = Keys(keys=KEYS)
        self._keys.hear(key=self._key, width=self._width)
        self._sheets = self._over()
        self._do = self._commands()
        self.page = self._build()
        self._wire()

    def _over(self) -> dict[str, Any]:
        """The sheets that open over the page, by what opens them."""
        desk, looks = self.desk, self._looks
        return {
            "books": HomeView(desk),
            "extensions": ExtensionsView(desk),
            "models": RecordsView(desk, "models"),
            "protocols": RecordsView(desk, "protocols"),
            "contents": ContentsView(desk),
            "copies": CopiesView(desk),
            "prompts": PromptsView(desk),
            "preferences": PreferencesView(desk, looks, places=PLACES[:-2], go=self._go),
        }

    def _build(self) -> Page:
        desk = self.desk
        self._lore = LoreView(desk, self._explorer)
        self._tabs = Inspector(
            budget=BudgetView(desk, self._lens),
            lore=self._lore,
            prompt=PromptView(desk, self._lens),
            run=RunView(desk, self._lens),
            panels=PanelsView(desk, extensions=self._sheets["extensions"].open),
            sizing_mode="stretch_both",
        )
        self._workspace = pn.Column(
            SearchView(desk, self._bench),
            self._story,
            WelcomeView(desk, fill=self._turn.fill),
            self._turn,
            self._keys,
            self._shell,
            sizing_mode="stretch_both",
            margin=0,
        )
        self._later = [
            DialogsView(desk),
            *self._sheets.values(),
            LorebooksView(desk, self._explorer),
            RevisionsView(desk, self._bench),
        ]
        return Page(  # type: ignore[no-untyped-call]
            title="Marginalia",
            header=[MastheadView(desk, places=(*PLACES, *way_out()), go=self._go)],
            sidebar=[self._left],
            sidebar_resizable=True,
            main=[self._workspace],
            contextbar=[self._tabs],
            contextbar_variant="auto",
            contextbar_resizable=True,
            busy_indicator=None,
            theme_config=THEME,
            sx=PAGE_SX,
            **self._shell.first(),
        )

    def _wire(self) -> None:
        _unlink(self.page)
        desk = self.desk
        self._shell.attach(self.page)
        self._tabs.param.watch(self._turned, ["active"])  # pyright: ignore[reportUnknownMemberType]
        desk.param.watch(self._remember_book, ["book"])  # pyright: ignore[reportUnknownMemberType]
        self._lens.param.watch(self._looked, ["look"])  # pyright: ignore[reportUnknownMemberType]
        pn.state.onload(_held_weakly(self._open))
        if pn.state.curdoc is not None:
            pn.state.on_session_destroyed(lambda _: self.desk.close())

    async def _open(self) -> None:
        # What is changed before the page has loaded does not get to the browser.
        self._shell.load()
        asked = (pn.state.location.query_params if pn.state.location else {}).get("book")
        await self.desk.attempt(self.desk.open(BookId(asked) if isinstance(asked, int) else None))
        self._add_sheets()

    def _add_sheets(self) -> None:
        """Add what opens over the page: made together with it, it would hold the loop for too long at once."""
        sheets, self._later = self._later, []
        self._workspace.extend(sheets)

    def _remember_book(self, *_: object) -> None:
        if pn.state.location and self.desk.book is not None:
            address: Any = pn.state.location
            address.update_query(book=self.desk.book.id)

    def _looked(self, *_: object) -> None:
        """A part's own prompt was asked for, or the next one again: every tab shows it."""
        look = self._lens.look
        self._lore.look_at(look.number if look is not None else 0)
        if look is not None:
            self._show_tab(PROMPT_TAB)

    def _turned(self, *_: object) -> None:
        self.desk.tab = self._tabs.active

    def _width(self, said: Said) -> None:
        self.desk.param.update(narrow=bool(said.get("narrow")), tight=bool(said.get("tight")))

    async def _key(self, said: Said) -> None:
        await self._go(str(said.get("name")))

    async def _go(self, name: str) -> None:
        action = self._do.get(name)
        answer = action() if action is not None else None
        if asyncio.iscoroutine(answer):
            await answer

    def _commands(self) -> dict[str, Callable[[], Any]]:
        desk, story, bench = self.desk, self._story, self._bench
        tabs = {f"tab {at}": (lambda at=at: self._show_tab(at)) for at in range(5)}
        sheets = {name: sheet.open for name, sheet in self._sheets.items()}
        return (
            tabs
            | sheets
            | {
                "generate": desk.generate,
                "stop": self._stop,
                "lorebooks": self._open_lorebooks,
                "previous version": lambda: self._on_last(lambda part: desk.step(part, -1)),
                "next version": lambda: self._on_last(lambda part: desk.step(part, 1)),
                "regenerate": lambda: self._on_last(desk.regenerate),
                "swipe": lambda: self._on_last(desk.swipe),
                "previous": lambda: story.command("previous"),
                "next": lambda: story.command("next"),
                "edit": lambda: story.command("edit"),
                "instructions": self._turn.focus,
                "focus": self._focus,
                "undo": bench.undo,
                "redo": bench.redo,
                "search": bench.open_search,
                "keys": lambda: desk.wish("keys"),
            }
        )

    def _on_last(self, action: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - what the action gives
        shape = self.desk.shape
        return action(shape.leaf) if shape is not None and shape.leaf is not None else None

    def _show_tab(self, tab: int) -> None:
        self.page.contextbar_open = True
        self._tabs.active = tab

    def _focus(self) -> None:
        self._looks.focus = not self._looks.focus

    def _open_lorebooks(self) -> None:
        self._explorer.shelves += 1

    def _stop(self) -> None:
        """End the run; while nothing runs, show everything again."""
        if self.desk.running:
            self.desk.stop()
        else:
            self._looks.focus = False


def _closed(error: Exception) -> Page:
    """The page when the database cannot be opened: what happened, and a button that tries again."""
    told = Figures(headline="The books cannot be opened.", note=str(error), margin=(60, 40))
    again = Button(  # type: ignore[no-untyped-call]
        label="Try again", variant="outlined", margin=(0, 56)
    )
    again.js_on_click(code="window.location.reload()")
    return Page(  # type: ignore[no-untyped-call]
        title="Marginalia", main=[pn.Column(told, again)], busy_indicator=None, theme_config=THEME, sx=PAGE_SX
    )


def _held_weakly(method: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], Coroutine[Any, Any, None]]:
    """*method*, for as long as its object is there.

    Panel never lets go of what is to be done for a browser that comes, where none does: a page that was only fetched.
    """
    known = WeakMethod(method)

    async def call() -> None:
        found = known()
        if found is not None:
            await found()

    return call


def _unlink(made: Page) -> None:
    """Undo the link of a page to the server's state.

    It costs two messages for every one, and keeps the page, and all that is on it, as long as the server runs.
    """
    with edit_readonly(made):
        made.busy = False
    state: Any = pn.state.param
    for watcher in tuple(state.watchers["busy"]["value"]):
        if getattr(getattr(watcher.fn, "__self__", None), "self", None) is made:
            state.unwatch(watcher)


def _unexpected(error: Exception) -> None:
    """What no desk caught: said in the log, and the page goes on."""
    _log.error("A fault in the page.", exc_info=error)
