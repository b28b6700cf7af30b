"""How a person likes the page, and what new books begin with, as a form edits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, cast

import param

from marginalia.models.base import Model, chosen

Font: TypeAlias = Literal["serif", "sans", "legible"]
Theme: TypeAlias = Literal["system", "light", "dark"]

SIZES = (14, 28)
MEASURES = (45, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What a person has set for all their books.

    ``size`` is the height of the story's letters in pixels, ``measure`` the width of its column in characters.
    ``provider_id`` and ``protocol_id`` are what new books are written by; ``None``: as the open book is.
    """

    font: Font = "serif"
    size: int = 18
    measure: int = 66
    theme: Theme = "system"
    provider_id: int | None = None
    protocol_id: int | None = None

    def kept(self) -> dict[str, Any]:
        """These preferences as JSON has them."""
        return asdict(self)


class PreferencesModel(Model):
    """The preferences, one parameter per field."""

    font: param.Selector[str] = param.Selector(
        default="serif",
        objects=["serif", "sans", "legible"],
        label="Letters",
        doc="What the story is set in.",
    )
    size = param.Integer(default=18, bounds=SIZES, label="Size", doc="Of the story's letters, in pixels.")
    measure = param.Integer(
        default=66, bounds=MEASURES, label="Width", doc="Of the story's column, in characters."
    )
    theme: param.Selector[str] = param.Selector(
        default="system",
        objects=["system", "light", "dark"],
        label="Paper",
        doc="Light, dark, or as the system is.",
    )
    provider_id = param.Integer(
        default=None,
        allow_None=True,
        label="Model",
        doc="What writes new books. Empty: what writes the open one.",
    )
    protocol_id = param.Integer(
        default=None, allow_None=True, label="Protocol", doc="How it is asked. Empty: as in the open book."
    )

    def take(self, kept: Mapping[str, Any]) -> None:
        """Show what was kept or typed; what cannot be is left as it was."""
        for name, value in kept.items():
            if name in self.param and name != "name":
                try:
                    setattr(self, name, value)
                except (ValueError, TypeError):
                    continue

    def freeze(self) -> Preferences:
        """What is shown."""
        return Preferences(
            font=cast("Font", chosen(self, "font")),
            size=self.size,
            measure=self.measure,
            theme=cast("Theme", chosen(self, "theme")),
            provider_id=self.provider_id,
            protocol_id=self.protocol_id,
        )


def preferences(kept: object, typed: Mapping[str, Any] | None = None) -> Preferences:
    """The preferences in what JSON kept, whatever that is, with what was *typed* over it."""
    model = PreferencesModel()
    if isinstance(kept, Mapping):
        model.take(cast("Mapping[str, Any]", kept))
    model.take(typed or {})
    return model.freeze()
