"""The inspector's own components: the prompt to read and compare, and the what-if."""

from __future__ import annotations

import param

from marginalia.ui.components.base import Piece, script, style


class PromptReader(Piece):
    """The messages of a prompt, to search, to copy and to compare; or what is different from another one."""

    _esm = script("messages", "differences", "prompt")
    _stylesheets = style("messages", "differences", "mark", "prompt")


class WhatIfPanel(Piece):
    """Numbers to try out, what contexts of several sizes would hold, and the way to keep what was found."""

    offered = param.Boolean(
        default=True, doc="Whether something can be tried out; not for a part's own prompt."
    )
    knobs = param.List(default=[], item_type=dict, doc="name, label, help, value, least, most, step, unit.")
    tried = param.Boolean(default=False, doc="Whether something is tried out now.")
    told = param.String(default="", doc="What came of it.")
    keep = param.List(default=[], item_type=dict, doc="label, title, fresh: the ways to keep it.")
    kept = param.String(default="", doc="What was made true last and can be taken back; empty: nothing.")
    rungs = param.List(default=[], item_type=dict, doc="label, text, share, here: one per size of context.")
    stable = param.Boolean(default=False, doc="Whether the book has the stable layout.")
    missing = param.List(default=[], item_type=dict, doc="name, tokens, text, reason: what did not fit.")
    left = param.String(default="", doc="How much did not fit, in words.")
    more = param.Integer(default=0, doc="How much of it is not among what is listed.")

    _esm = script("whatif")
    _stylesheets = style("whatif")


class Mark(Piece):
    """Says that what is shown is not what would be sent now, and leads back."""

    text = param.String(default="", doc="What is shown; empty: now, and nothing is said.")

    _esm = script("mark")
    _stylesheets = style("mark")


class TimelinePicture(Piece):
    """Bars on one scale of time, in a table that can be read without seeing them."""

    _esm = script("timeline")
    _stylesheets = style("timeline")
