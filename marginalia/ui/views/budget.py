"""The budget: one bar for the whole context, its figures, and what did not fit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, Range1d
from bokeh.plotting import figure

from marginalia.prompt.segments import PartFate
from marginalia.ui.components import Figures
from marginalia.ui.theme import SHARE_COLOURS
from marginalia.ui.view import View
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget, Share
    from marginalia.prompt.segments import Prompt
    from marginalia.ui.desk import Desk

_FEW = 4


class BudgetView(View):
    """Follows the desk's budget; the bar is changed in place."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._doc = pn.state.curdoc
        self._bars = ColumnDataSource(data=_bars(()))
        self._range = Range1d(start=0, end=1)
        self._figures = Figures(sizing_mode="stretch_width")
        self._layout = pn.Column(
            pn.pane.Bokeh(  # type: ignore[no-untyped-call]
                self._figure(), height=54, sizing_mode="stretch_width"
            ),
            self._figures,
            sizing_mode="stretch_both",
            scroll="y-auto",
        )
        self.follow("budget", "prompt", "unsendable", then=self._update)
        self._update()

    def __panel__(self) -> pn.Column:
        return self._layout

    def _figure(self) -> figure:
        plot = figure(
            height=54, sizing_mode="stretch_width", tools="", toolbar_location=None,
            x_range=self._range, y_range=Range1d(start=0, end=1),

            x_axis_type=None, y_axis_type=None, min_border=0, outline_line_color=None, margin=(14, 16, 4, 16),
            background_fill_alpha=0, border_fill_alpha=0,
        )  # fmt: skip
        plot.grid.visible = False
        bars = plot.quad(
            left="left", right="right", bottom=0.12, top=0.88, color="colour", line_width=0, source=self._bars
        )
        plot.add_tools(
            HoverTool(
                renderers=[bars], tooltips=[("", "@label"), ("tokens", "@tokens{0,0}"), ("", "@detail")]
            )
        )
        return plot

    def _update(self, *_: object) -> None:
        budget: Budget | None = self.desk.budget
        if budget is None:
            self._figures.param.update(
                headline="", note=self.desk.unsendable or "The prompt is being measured…", rows=[]
            )
            return
        shares = [share for share in budget.shares if share.tokens > 0]
        with pn.io.hold(self._doc):
            self._bars.data = _bars(shares)
            self._range.end = max(1, sum(share.tokens for share in shares))
        self._figures.param.update(
            headline=_headline(budget), note=_note(budget), rows=[_row(share) for share in shares],
            notes=_left_out(self.desk.prompt) if budget.fits else [self.desk.unsendable],
        )  # fmt: skip


def _bars(shares: Iterable[Share]) -> dict[str, Any]:
    """The columns of the bar; lists, because an array would not survive a reconnect (Bokeh issue 15347)."""
    left = 0
    columns: dict[str, list[Any]] = {
        name: [] for name in ("left", "right", "colour", "label", "tokens", "detail")
    }
    for share in shares:
        values = (
            left,
            left + share.tokens,
            SHARE_COLOURS[share.kind],
            share.label,
            share.tokens,
            share.detail,
        )
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
        left += share.tokens
    return columns


def _headline(budget: Budget) -> str:
    if not budget.limits.context:
        return f"{budget.used:,} tokens"
    return f"{budget.used:,} of {budget.limits.context:,} tokens"


def _note(budget: Budget) -> str:
    if not budget.fits:
        return f"{count(budget.overflow, 'token')} too many before any of the story is in."
    return f"{budget.limits.response:,} are kept for the answer, {budget.free:,} are free."


def _row(share: Share) -> dict[str, Any]:
    return {
        "label": share.label,
        "value": f"{share.tokens:,}",
        "detail": share.detail,
        "colour": SHARE_COLOURS[share.kind],
    }


def _left_out(prompt: Prompt | None) -> list[str]:
    """What did not fit, newest first, and what the newest of it needed."""
    if prompt is None or prompt.history.needed is None:
        return []
    out = [each for each in prompt.history if each.fate is PartFate.LEFT_OUT]
    if not out:
        return []
    names = ", ".join(f"#{each.number} ({each.tokens:,})" for each in islice(reversed(out), _FEW))
    more = f" and {len(out) - _FEW:,} more" if len(out) > _FEW else ""
    return [f"Left out: {names}{more}.", f"#{out[-1].number}: {out[-1].reason}."]
