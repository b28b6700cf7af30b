"""The page's own looks, and the sheets that each have a place: settings, models, protocols, copies, contents."""

from __future__ import annotations

import param

from marginalia.ui.components.base import Piece, script, style


class Appearance(Piece):
    """How the page looks to a person: variables on the document's root. It shows nothing but the way out of focus."""

    look = param.Dict(default={}, doc="Style variable to its value.")
    focus = param.Boolean(default=False, doc="Whether nothing but the text is shown.")

    _esm = script("appearance")
    _stylesheets = style("appearance")


class PreferencesSheet(Piece):
    """What a person sets for all books. It is a dialog."""

    _esm = script("preferences")
    _stylesheets = style("lorebooks", "preferences")


class RecordShelf(Piece):
    """Models, or protocols: a list with search, and the chosen one. It is a dialog."""

    _esm = script("shelves", "records")
    _stylesheets = style("lorebooks", "books", "records")


class CopiesShelf(Piece):
    """The copies of the database, and what is in them. It is a dialog."""

    _esm = script("shelves", "copies")
    _stylesheets = style("lorebooks", "books", "copies")


class ContentsSheet(Piece):
    """The table of contents. It is a dialog."""

    _esm = script("contents")
    _stylesheets = style("lorebooks", "contents")


class Welcome(Piece):
    """The sentences of the first visit."""

    lines = param.List(default=[], item_type=str, doc="Sentences; a word between stars is stressed.")
    offer = param.Boolean(default=False, doc="Whether an instruction is offered.")

    _esm = script("welcome")
    _stylesheets = style("welcome")
