"""How the page looks to a person: what is kept of it between visits, and how it becomes style. These calls block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, cast

import param

from marginalia.models import Preferences, preferences
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.store.writing import Day
    from marginalia.studio import Studio

PREFERENCES = "desk.preferences"
PANES = "desk.panes"
WELCOMED = "desk.welcomed"

#: Families that systems bring along; "legible" begins with those that were drawn for readers with dyslexia.
FONTS: Mapping[str, str] = {
    "serif": 'Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", "Palatino Linotype", Georgia, '
    '"Liberation Serif", serif',
    "sans": '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif',
    "legible": '"OpenDyslexic", "Atkinson Hyperlegible", "Lexend", "Comic Neue", Verdana, "DejaVu Sans", sans-serif',
}
_SPACING: Mapping[str, str] = {"serif": "normal", "sans": "normal", "legible": ".02em"}
# How wide a character is on average, in heights of the letters; measured on English prose.
_CHARACTER: Mapping[str, float] = {"serif": 0.452, "sans": 0.5, "legible": 0.56}
_LEADING: Mapping[str, float] = {"serif": 1.68, "sans": 1.65, "legible": 1.8}
_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Panes:
    """Which sides of the page are open, and how wide they are, in pixels."""

    left: bool = True
    right: bool = True
    left_width: int = 264
    right_width: int = 360


class Looks(param.Parameterized):
    """How one session looks. The sheet of the preferences writes it, the shell of the page follows it."""

    preferences = param.ClassSelector(
        class_=Preferences, default=Preferences(), doc="What the person has set."
    )
    focus = param.Boolean(default=False, doc="Whether nothing but the text is shown.")

    def __init__(self, **params: Any) -> None:  # noqa: ANN401 - its parameters
        super().__init__(**params)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]


def read_preferences(studio: Studio) -> Preferences:
    """What the user has set; what is not, or cannot be, is as it comes."""
    return preferences(studio.settings.get(PREFERENCES))


def save_preferences(studio: Studio, typed: Mapping[str, Any]) -> Preferences:
    """Keep what was changed; what cannot be used is left as it was."""
    changed = preferences(studio.settings.get(PREFERENCES), typed)
    studio.settings.set(PREFERENCES, changed.kept())
    return changed


def read_panes(studio: Studio) -> Panes:
    """The sides as they were left."""
    kept: object = studio.settings.get(PANES)
    known: Mapping[str, object] = cast("Mapping[str, object]", kept) if isinstance(kept, Mapping) else {}
    usual, found = Panes(), dict[str, Any]()
    for name in (each.name for each in fields(Panes)):
        value = known.get(name)
        if type(value) is type(getattr(usual, name)):
            found[name] = value
    panes = Panes(**found)
    return Panes(
        left=panes.left,
        right=panes.right,
        left_width=min(max(panes.left_width, 180), 640),
        right_width=min(max(panes.right_width, 240), 900),
    )


def save_panes(studio: Studio, panes: Panes) -> None:
    """Keep how the sides stand."""
    if panes != read_panes(studio):
        studio.settings.set(PANES, asdict(panes))


def welcomed(studio: Studio) -> bool:
    """Whether the first sentences were read, or a part was generated since."""
    return bool(studio.settings.get(WELCOMED))


def welcome_no_more(studio: Studio) -> None:
    """Keep that they were."""
    studio.settings.set(WELCOMED, value=True)


def style_of(chosen: Preferences) -> dict[str, str]:
    """The style variables that the story's column is set with."""
    return {
        "--mg-font": FONTS[chosen.font],
        "--mg-size": f"{chosen.size}px",
        "--mg-leading": str(_LEADING[chosen.font]),
        "--mg-spacing": _SPACING[chosen.font],
        "--mg-measure": f"{round(chosen.size * chosen.measure * _CHARACTER[chosen.font])}px",
    }


def writing_rows(studio: Studio) -> dict[str, Any]:
    """The words of the last 30 days, as the sheet shows them: one row per day, and sentences."""
    days = studio.writing.days(_DAYS)
    hand, model = sum(day.by_hand for day in days), sum(day.by_model for day in days)
    most = max(1, *(day.by_hand + day.by_model for day in days))
    return {
        "days": [_day(day, most) for day in days],
        "text": f"Today: {_words(days[-1])}. In the last {_DAYS} days: {count(hand, 'word')} by hand, "
        f"{count(model, 'word')} by models.",
    }


def _day(day: Day, most: int) -> dict[str, Any]:
    return {
        "day": f"{day.day.day} {day.day:%B}",
        "hand": day.by_hand,
        "model": day.by_model,
        "hand_share": round(100 * day.by_hand / most, 1),
        "model_share": round(100 * day.by_model / most, 1),
        "text": _words(day),
    }


def _words(day: Day) -> str:
    if not day.by_hand and not day.by_model:
        return "nothing written"
    return f"{count(day.by_hand, 'word')} by hand, {count(day.by_model, 'word')} by models"
