"""What a person sets for all books: how the page reads, what new books begin with; and what was written lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.models.preferences import MEASURES, SIZES
from marginalia.ui.components.places import PreferencesSheet
from marginalia.ui.preferences import FONTS, Looks, save_preferences, writing_rows
from marginalia.ui.reading import read_library
from marginalia.ui.troubles import notice_of
from marginalia.ui.view import View
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Library


class PreferencesView(View):
    """Opens over the page. Every change is kept at once, and shows at once.

    *places* are the other sheets that can be gone to from here: name, label and key.
    """

    def __init__(
        self, desk: Desk, looks: Looks, *, places: Sequence[tuple[str, str, str]], go: Callable[[str], Any]
    ) -> None:
        super().__init__(desk)
        self._looks, self._places = looks, places
        self._sheet = PreferencesSheet()
        self._sheet.hear(set=self._set, go=lambda said: go(str(said.get("name"))))

    def __panel__(self) -> PreferencesSheet:
        return self._sheet

    async def open(self) -> None:
        """Show the settings; the days follow when they are counted."""
        library: Library = await aside(read_library, self.desk.studio)
        self._sheet.tell(
            "sheet", values=self._looks.preferences.kept(), fonts=dict(FONTS), sizes=list(SIZES),
            measures=list(MEASURES), models=[list(each) for each in library.providers],
            protocols=[list(each) for each in library.protocols], places=[list(each) for each in self._places],
        )  # fmt: skip
        if await self.desk.attempt(self._count()):
            return
        self._sheet.tell("trouble", text="What was written could not be counted just now.")

    async def _count(self) -> None:
        self._sheet.tell("written", **await aside(writing_rows, self.desk.studio))

    async def _set(self, said: Said) -> None:
        try:
            typed = dict(said.get("values") or {})
            self._looks.preferences = await aside(save_preferences, self.desk.studio, typed)
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self._sheet.tell("trouble", text=notice_of(error).text)
        else:
            self._sheet.tell("saved")
