"""The dialogs that stand for a page of their own: the books, and the extensions."""

from __future__ import annotations

from marginalia.ui.components.base import Piece, script, style


class BookShelf(Piece):
    """The books: a list with search, the chosen one, files in and out. It is a dialog."""

    _esm = script("shelves", "books")
    _stylesheets = style("lorebooks", "books")


class ExtensionShelf(Piece):
    """The extensions with their switches, and what they show of the open book. It is a dialog."""

    _esm = script("forms", "panels", "shelves", "extensions")
    _stylesheets = style("lorebooks", "forms", "panels", "extensions")


class PanelPage(Piece):
    """What the extensions show of the open book, as a page of the inspector."""

    _esm = script("forms", "panels", "panelpage")
    _stylesheets = style("forms", "panels", "panelpage")
