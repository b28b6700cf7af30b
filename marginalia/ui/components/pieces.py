"""The components themselves: what each is told through parameters. The messages are named in the scripts beside."""

from __future__ import annotations

import param
from panel.viewable import Child

from marginalia.ui.components.base import Piece, script, style


class StoryPaper(Piece):
    """The story of the active branch, with what is being written at its end."""

    _esm = script("story")
    _stylesheets = style("story")


class TurnPanel(Piece):
    """The four fields of the turn, Generate and Stop, and what went wrong.

    What is typed is kept in the browser under ``draft_key`` until a part came of it; a field that nobody touched shows
    what ``carried`` has for it.
    """

    labels = param.Dict(default={}, doc="Field name to its label and its help.")
    draft_key = param.String(
        default="mg:draft", doc="Where the browser keeps what was typed: one key per user and book."
    )
    carried = param.Dict(default={}, doc="What the fields start from.")
    wait = param.Integer(
        default=90, bounds=(0, None), doc="Milliseconds of rest after which typing is sent on."
    )
    running = param.Boolean(default=False, doc="Whether something is being written: Generate is Stop then.")
    blocked = param.Boolean(default=False, doc="Whether nothing can be generated just now.")
    status = param.Dict(
        default={}, doc="What is going on: text, age in seconds, and whether seconds are counted on."
    )
    trouble = param.Dict(
        default={}, doc="What went wrong: text, and an action with its label, if there is one."
    )
    question = param.String(default="", doc="What the run asks; answered with yes or no.")

    _esm = script("turn")
    _stylesheets = style("turn")


class OutlineList(Piece):
    """The parts of the branch by their first words; asks only for what is in sight."""

    _esm = script("outline")
    _stylesheets = style("outline")


class Figures(Piece):
    """A headline, a table of figures, and sentences below it."""

    headline = param.String(default="", doc="The one figure that counts.")
    note = param.String(default="", doc="A quiet sentence below it.")
    rows = param.List(default=[], item_type=dict, doc="label, value, detail, colour, title, strong.")
    notes = param.List(default=[], item_type=str, doc="Sentences below the table.")

    _esm = script("figures")
    _stylesheets = style("figures")


class Inspector(Piece):
    """Five views under tabs; all of them stay built."""

    budget = Child(doc="The first page.")
    lore = Child(doc="The second page.")
    prompt = Child(doc="The third page.")
    run = Child(doc="The fourth page.")
    panels = Child(doc="The fifth page.")
    active = param.Integer(default=0, bounds=(0, 4), doc="Which one is shown.")

    _esm = script("inspector")
    _stylesheets = style("inspector")


class Masthead(Piece):
    """The line at the top: which book, which model and how it is, which protocol."""

    books = param.List(default=[], doc="Pairs of id and name.")
    book = param.Integer(default=0, doc="The open one.")
    providers = param.List(default=[], doc="Pairs of id and name.")
    provider = param.Integer(default=0, doc="The book's; 0: none.")
    protocols = param.List(default=[], doc="Pairs of id and name.")
    protocol = param.Integer(default=0, doc="The book's; 0: none.")
    state = param.Dict(
        default={"kind": "none", "short": "", "text": ""}, doc="How the model is: kind, short, text."
    )
    places = param.List(default=[], doc="The sheets that can be opened: name, label and key.")

    _esm = script("masthead")
    _stylesheets = style("masthead")


class Dialogs(Piece):
    """Everything that opens over the page: settings, the prompt of a part, the keys."""

    _esm = script("forms", "messages", "dialogs")
    _stylesheets = style("forms", "messages", "dialogs")


class Keys(Piece):
    """The keys of the page, and whether it is narrow."""

    keys = param.Dict(default={}, doc="Key name to what it stands for.")

    _esm = script("keys")
