"""The page's own parts: small vanilla JavaScript components, each with its script and style beside it.

They hold no state that matters: a view tells them what to show with messages, and they tell it what a person did.
"""

from __future__ import annotations

from marginalia.ui.components.base import Piece
from marginalia.ui.components.pieces import (
    Dialogs,
    Figures,
    Inspector,
    Keys,
    Masthead,
    OutlineList,
    StoryPaper,
    TurnPanel,
)

__all__ = [
    "Dialogs",
    "Figures",
    "Inspector",
    "Keys",
    "Masthead",
    "OutlineList",
    "Piece",
    "StoryPaper",
    "TurnPanel",
]
