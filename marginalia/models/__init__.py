"""param classes that widgets are bound to: what a person types, and what a page shows live.

A param class exists here because something on a page is bound to it. Each one reads itself from a frozen
value (``take``) and gives one back (``freeze``); nothing else in the library needs param.
"""

from __future__ import annotations

from marginalia.models.book import BookModel, PromptsModel
from marginalia.models.budget import TokenBudget
from marginalia.models.connection import ProtocolModel, ProviderModel
from marginalia.models.entry import EntryModel
from marginalia.models.preferences import Preferences, PreferencesModel, preferences
from marginalia.models.turn import TurnInput

__all__ = [
    "BookModel",
    "EntryModel",
    "Preferences",
    "PreferencesModel",
    "PromptsModel",
    "ProtocolModel",
    "ProviderModel",
    "TokenBudget",
    "TurnInput",
    "preferences",
]
