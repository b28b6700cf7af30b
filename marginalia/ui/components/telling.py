"""The components around the story: the left side and its pages, the search, and what lies open beside the text."""

from __future__ import annotations

import param
from panel.viewable import Child

from marginalia.ui.components.base import Piece, script, style


class Sides(Piece):
    """Three pages under tabs at the left, and below them what the book amounts to, steps back and forth, the trash."""

    outline = Child(doc="The first page.")
    tree = Child(doc="The second page.")
    summaries = Child(doc="The third page.")
    active = param.Integer(default=0, bounds=(0, 2), doc="Which one is shown.")
    facts = param.String(default="", doc="What the branch amounts to.")
    more = param.String(default="", doc="What the whole book amounts to, on hover.")

    _esm = script("sides")
    _stylesheets = style("inspector", "sides")


class SearchBar(Piece):
    """The search over the story and its hits."""

    shown = param.Boolean(default=False, doc="Whether it is open.")

    _esm = script("search")
    _stylesheets = style("search")


class TreeCard(Piece):
    """The part that the pointer is on in the tree, or that was chosen there; arrow keys walk through the tree."""

    card = param.Dict(
        default={}, doc="title, text, asked, facts, label, bookmarked, what can be done; empty: none."
    )

    _esm = script("treecard")
    _stylesheets = style("treecard")


class SummaryList(Piece):
    """The summaries in use, oldest first, with what they merged; what is being written stands above."""

    rows = param.List(default=[], item_type=dict, doc="As telling.summary_row makes them.")
    headline = param.String(default="", doc="What they all come to.")
    busy = param.Dict(
        default={}, doc="text, age in seconds, written: what is being summarised; empty: nothing."
    )
    stale = param.Boolean(default=False, doc="Whether there is a stale one.")

    _esm = script("summaries")
    _stylesheets = style("summaries")


class StorySheet(Piece):
    """A dialog with the revisions of a part, or the trash of the book."""

    _esm = script("revisions")
    _stylesheets = style("dialogs", "differences", "revisions")
