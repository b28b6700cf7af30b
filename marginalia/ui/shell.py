"""The page around the views: its sides and how wide they are, its colours, and the way to see nothing but the text."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import panel as pn

from marginalia.ui.components.places import Appearance
from marginalia.ui.first import TEMPLATE, first_text, is_own_name
from marginalia.ui.preferences import (
    Looks,
    Panes,
    read_panes,
    read_preferences,
    save_panes,
    save_preferences,
    style_of,
)
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import BookId

if TYPE_CHECKING:
    from panel_material_ui.template.base import Page

    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

_REST = 0.6  # seconds without a change before the sides are kept
_MOST_LEFT, _MOST_RIGHT = 216, 320  # pixels that the sides take where the text has little room between them
_SIDES = ("sidebar_open", "contextbar_open", "sidebar_width", "contextbar_width")


class ShellView(View):
    """Follows the looks of its session and the width of the window; keeps what a person does to the sides.

    It is made before the page, which takes ``first`` as its parameters, and then ``attach``-ed to it.
    """

    def __init__(self, desk: Desk, looks: Looks) -> None:
        super().__init__(desk)
        self._looks = looks
        self._panes = read_panes(desk.studio)
        looks.preferences = read_preferences(desk.studio)
        self._dark = _dark_at_first(looks)
        self._piece = Appearance(look=style_of(looks.preferences))
        self._piece.hear(scheme=self._scheme, leave=self._leave, pull=self._pull)
        self._loaded, self._own = False, False
        self._before_focus = (True, True)
        self._keeping: asyncio.Task[None] | None = None
        self.follow("preferences", then=self._looked, of=looks)
        self.follow("focus", then=self._focused, of=looks)
        self.follow("narrow", "tight", then=self._fit)

    def __panel__(self) -> Appearance:
        return self._piece

    def first(self) -> dict[str, Any]:
        """What the page is made with, so that nothing jumps when it is there."""
        panes, document = self._panes, pn.state.curdoc
        if document is not None and (pn.state.user or is_own_name(_asked_at())):
            asked = _asked("book")
            document.template_variables["first_text"] = first_text(
                self.desk.studio,
                BookId(int(asked)) if asked.isdecimal() else None,
                panes,
                self._looks.preferences,
                dark=self._dark,
            )
        return {
            "template": TEMPLATE,
            "sidebar_open": panes.left, "contextbar_open": panes.right, "sidebar_width": panes.left_width,
            "contextbar_width": panes.right_width, "dark_theme": self._dark,
        }  # fmt: skip

    def attach(self, page: Page) -> None:
        """Follow *page* from now on."""
        self._page = page
        self.follow(*_SIDES, then=self._moved, of=page)
        self.follow("dark_theme", then=self._turned, of=page)

    def load(self) -> None:
        """The page is in the browser: what is changed from now on gets there."""
        self._loaded = True
        self._paint(dark=self._dark)  # the browser may have said it before
        self._fit()

    # The sides.

    def _fit(self, *_: object) -> None:
        """Fold and narrow what there is no room for; else the sides stand as they were left."""
        if self._loaded and not self._looks.focus:
            desk, panes = self.desk, self._panes
            self._set(
                sidebar_open=not desk.tight and panes.left,
                contextbar_open=not desk.narrow and panes.right,
                sidebar_width=min(panes.left_width, _MOST_LEFT) if desk.tight else panes.left_width,
                contextbar_width=min(panes.right_width, _MOST_RIGHT) if desk.tight else panes.right_width,
            )

    def _set(self, **values: Any) -> None:  # noqa: ANN401 - parameters of the page
        self._own = True
        try:
            self._page.param.update(**values)
        finally:
            self._own = False

    def _moved(self, *_: object) -> None:
        """A person folded or pulled a side: keep it, unless there was no room to choose."""
        page, desk, known = self._page, self.desk, self._panes
        if self._own or not self._loaded or self._looks.focus:
            return
        self._panes = Panes(
            left=known.left if desk.tight else bool(page.sidebar_open),
            right=known.right if desk.narrow else bool(page.contextbar_open),
            left_width=known.left_width if desk.tight else int(page.sidebar_width),
            right_width=known.right_width if desk.tight else int(page.contextbar_width),
        )
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = desk.errands.start(self._keep(self._panes))

    def _pull(self, said: Said) -> None:
        """An edge was moved with the arrow keys."""
        by = max(-40, min(40, int(said.get("by") or 0)))
        if said.get("side") == "left":
            self._page.sidebar_width = min(max(self._page.sidebar_width + by, 180), 640)
        else:
            self._page.contextbar_width = min(max(self._page.contextbar_width + by, 240), 900)

    async def _keep(self, panes: Panes) -> None:
        await asyncio.sleep(_REST)
        await aside(save_panes, self.desk.studio, panes)

    # Nothing but the text.

    def _leave(self, _: Said) -> None:
        self._looks.focus = False

    def _focused(self, *_: object) -> None:
        page, focus = self._page, self._looks.focus
        if focus:
            self._before_focus = (bool(page.sidebar_open), bool(page.contextbar_open))
        left, right = (False, False) if focus else self._before_focus
        self._piece.focus = focus
        self._set(sidebar_open=left, contextbar_open=right)

    # Colours and type.

    def _looked(self, *_: object) -> None:
        chosen = self._looks.preferences
        self._piece.look = style_of(chosen)
        if chosen.theme != "system":
            self._paint(dark=chosen.theme == "dark")

    def _scheme(self, said: Said) -> None:
        if self._looks.preferences.theme == "system" and not _asked("theme"):
            self._paint(dark=bool(said.get("dark")))

    def _paint(self, *, dark: bool) -> None:
        self._dark = dark
        if self._loaded and self._page.dark_theme != dark:
            self._page.dark_theme = dark

    async def _turned(self, *_: object) -> None:
        """The switch at the top was used: that is a choice, and is kept."""
        dark = bool(self._page.dark_theme)
        if dark == self._dark:
            return
        self._dark = dark
        typed = {"theme": "dark" if dark else "light"}
        self._looks.preferences = await aside(save_preferences, self.desk.studio, typed)


def _asked_at() -> str:
    """The name that the browser knows this server by."""
    told = (pn.state.headers or {}).get("Host", "")
    return told if isinstance(told, str) else ""


def _asked(name: str) -> str:
    """What the page's address says about *name*; empty where it says nothing."""
    found: list[bytes] = (pn.state.session_args or {}).get(name, []) if pn.state.curdoc else []
    return found[0].decode("ascii", "ignore") if found else ""


def _dark_at_first(looks: Looks) -> bool:
    """Whether the page begins dark: as its address says, as was chosen, or as the browser said last time."""
    asked, chosen = _asked("theme"), looks.preferences.theme
    if asked:
        return asked == "dark"
    if chosen != "system":
        return chosen == "dark"
    cookies: dict[str, str] = pn.state.cookies or {}
    return cookies.get("mg_dark") == "1"
