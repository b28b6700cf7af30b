"""The components of lore: the explorer, and the lorebooks."""

from __future__ import annotations

import param
from panel.viewable import Child

from marginalia.ui.components.base import Piece, script, style


class LoreExplorer(Piece):
    """Every lore entry, in or not, and why; what is scanned; the open entry and its form; the replay below.

    It stands in the inspector, and spreads over the page when there is more to do.
    """

    map = Child(doc="The picture of the replay.")
    mapping = param.Boolean(default=False, doc="Whether the replay runs.")
    share = param.String(default="", doc="How far the replay is.")
    map_text = param.String(default="", doc="The replay in a sentence.")
    parts = param.Integer(default=0, doc="How many parts the branch has.")
    lorebooks = param.List(default=[], doc="Pairs of id and name: where entries can be moved.")
    world = param.String(default="", doc="The lorebook that is looked at when it is not the book's own lore.")
    spread = param.Boolean(default=False, doc="Whether it lies over the page.")
    roles = param.Dict(default={}, doc="How keys work together: role to words.")
    empty = param.String(
        default="This book has no lore yet. An entry is told to the model when its words come up: write one with "
        "“+ Entry”, or bring in a file under Lorebooks.",
        doc="What stands there without any entry.",
    )

    _esm = script("forms", "keychips", "lore")
    _stylesheets = style("lore", "forms")


class LorebookShelf(Piece):
    """The lorebooks: a list, the open one, files in and out. It is a dialog."""

    _esm = script("forms", "shelves", "lorebooks")
    _stylesheets = style("lorebooks", "forms")
