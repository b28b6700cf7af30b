"""The prompts in a sheet of their own."""

from __future__ import annotations

from marginalia.ui.components.base import Piece, script, style


class PromptsSheet(Piece):
    """The prompts of a book: a list, the chosen one to edit with lint, what may stand in it, and what it comes to.

    What is typed is kept in the browser until it was saved.
    """

    _esm = script("shelves", "prompts")
    _stylesheets = style("lorebooks", "prompts")
