"""The budget: one picture of the context, its figures, what did not fit, and what would be with other limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, Range1d, TapTool
from bokeh.plotting import figure

from marginalia.prompt.leftout import NOTHING_LEFT_OUT, left_out_then
from marginalia.ui.components import Figures
from marginalia.ui.components.inspecting import Mark, WhatIfPanel
from marginalia.ui.counted import counted_note
from marginalia.ui.knobs import knobs, rung_rows, ways_to_keep, wish_of
from marginalia.ui.picture import bars, shares_of_receipt
from marginalia.ui.theme import SHARE_COLOURS
from marginalia.ui.trying import NOTHING
from marginalia.ui.view import View
from marginalia.ui.words import count
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget, Share
    from marginalia.prompt.leftout import LeftOut, Missing
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.segment import Sent
    from marginalia.prompt.segments import Prompt
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.lens import Lens
    from marginalia.ui.looking import Look
    from marginalia.ui.trying import Kept, Trial

_HEIGHT = 72
_NOT_USED = frozenset({"response", "safety", "free"})
#: It stays in sight while the knobs below it are moved.
_STAYS: dict[str, str | None] = {
    "position": "sticky", "top": "0", "z-index": "2", "background": "var(--mui-palette-background-default)",
}  # fmt: skip
#: In the colours of the page: Bokeh's own box is white on any. What comes from a column is escaped.
_TIP = """
<div style="margin: -8px -14px; padding: 8px 12px; max-width: 300px; font-size: 12px; line-height: 1.45;
  white-space: normal; overflow-wrap: anywhere; background: var(--mui-palette-background-paper);
  color: var(--mui-palette-text-primary)"><b>@label</b>, @tokens{0,0} tokens<br>@detail</div>
"""


class BudgetView(View):
    """Follows the desk's budget, or what the lens looks at; the picture is changed in place."""

    def __init__(self, desk: Desk, lens: Lens) -> None:
        super().__init__(desk)
        self._lens = lens
        self._doc = pn.state.curdoc
        self._columns = bars((), ())
        self._bars = ColumnDataSource(data=self._columns)
        self._bars.selected.on_change("indices", self._picked)
        self._range = Range1d(start=0, end=1)
        self._figures = Figures(sizing_mode="stretch_width")
        self._whatif = WhatIfPanel(sizing_mode="stretch_width")
        self._whatif.hear(
            wish=self._wish, apply=self._apply, reset=self._reset, back=self._back, open=self._open,
            shut=lambda _: lens.leave_ladder(), stable=self._stable,
        )  # fmt: skip
        self._mark = Mark(sizing_mode="stretch_width")
        self._mark.hear(now=self._now)
        self._layout = pn.Column(
            self._mark,
            pn.pane.Bokeh(  # type: ignore[no-untyped-call]
                self._figure(), height=_HEIGHT, sizing_mode="stretch_width"
            ),
            self._figures,
            self._whatif,
            sizing_mode="stretch_both",
            scroll="y-auto",
        )
        self.follow("budget", "prompt", "unsendable", then=self._update)
        lens.param.watch(self._update, ["look", "trial", "beginning", "left", "kept"])  # pyright: ignore[reportUnknownMemberType]
        lens.param.watch(self._climbed, ["rungs"])  # pyright: ignore[reportUnknownMemberType]
        self._update()

    def __panel__(self) -> pn.Column:
        return self._layout

    def _figure(self) -> figure:
        plot = figure(
            height=_HEIGHT, sizing_mode="stretch_width", tools="", toolbar_location=None,
            x_range=self._range, y_range=Range1d(start=0, end=1),
            x_axis_type=None, y_axis_type=None, min_border=0, outline_line_color=None, margin=(14, 16, 4, 16),
            background_fill_alpha=0, border_fill_alpha=0, styles=_STAYS,
        )  # fmt: skip
        plot.grid.visible = False
        pieces = plot.quad(
            left="left", right="right", bottom="bottom", top="top", color="colour", line_width=0,
            nonselection_fill_alpha=0.45, hover_fill_alpha=0.75, source=self._bars,
        )  # fmt: skip
        hover = HoverTool(renderers=[pieces], tooltips=_TIP, show_arrow=False)
        plot.add_tools(hover, TapTool(renderers=[pieces]))
        return plot

    # What is shown.

    def _update(self, *_: object) -> None:
        look, trial = self._lens.look, self._lens.trial
        self._mark.text = look.name if look is not None else ""
        if look is not None:
            self._show_part(look)
        elif trial is not None and trial.budget is not None:
            self._show(trial.budget, trial.prompt, trial.text, trial=True)
        else:
            self._show(self.desk.budget, self.desk.prompt, self.desk.unsendable, trial=False)
        self._tell(trial)

    def _show_part(self, look: Look) -> None:
        receipt = look.receipt
        shares = shares_of_receipt(receipt) if receipt is not None else []
        self._draw(shares, receipt)
        note = "This part was written by hand: no model was asked."
        self._figures.param.update(
            headline=_part_headline(look, shares),
            note=note if receipt is None else "",
            rows=[_row(share) for share in shares],
            notes=[each for each in (self._pick(), _counted_then(receipt)) if each],
        )  # fmt: skip

    def _show(self, budget: Budget | None, prompt: Prompt | None, why: str, *, trial: bool) -> None:
        if budget is None:
            self._figures.param.update(headline="", note=why or "The prompt is being measured…", rows=[])
            return
        shares = [share for share in budget.shares if share.tokens > 0]
        fits = budget.fits and prompt is not None
        self._draw(shares, prompt if fits else None)
        beginning = self._lens.beginning
        meter = beginning.text if fits and not trial and beginning is not None and beginning.tokens else ""
        said = "" if trial else why  # what is tried out says so below its knobs
        self._figures.param.update(
            headline=("What if: " if trial else "") + _headline(budget),
            note=_note(budget), rows=[_row(share) for share in shares],
            notes=[
                each for each in (self._pick(), said or meter, counted_note(budget.counted)) if each
            ],
        )  # fmt: skip

    def _draw(self, shares: list[Share], sent: Sent | None) -> None:
        indices = self._bars.selected.indices
        chosen = next((each for at, each in enumerate(self._pieces()) if at in indices), None)
        with pn.io.hold(self._doc):
            self._columns = bars(shares, sent.segments if sent is not None else ())
            plain = [each.replace("*", "") for each in self._columns["detail"]]
            self._bars.data = {**self._columns, "detail": plain}
            again = (at for at, each in enumerate(self._pieces()) if each == chosen)
            self._bars.selected.indices = list(islice(again, 1))
            self._range.end = max(1, sum(share.tokens for share in shares))

    def _pieces(self) -> zip[tuple[float, str]]:
        """What tells the pieces of the picture apart: their row, and what they are."""
        return zip(self._columns["top"], self._columns["label"], strict=True)

    def _picked(self, _name: str, _old: object, _new: object) -> None:
        """A piece was clicked."""
        self._update()

    def _pick(self) -> str:
        """What the chosen piece is."""
        chosen = next(iter(self._bars.selected.indices), -1)
        if not 0 <= chosen < len(self._columns["label"]):
            return ""
        label, tokens, detail = (self._columns[name][chosen] for name in ("label", "tokens", "detail"))
        return f"{label}, {count(tokens, 'token')}" + (f": {detail.removesuffix('.')}." if detail else ".")

    async def _now(self, _: Said) -> None:
        await self._lens.now()

    # What if.

    def _tell(self, trial: Trial | None) -> None:
        desk, panel, look, kept = self.desk, self._whatif, self._lens.look, self._lens.kept
        left = self._left_out(trial)
        sendable = trial is not None and trial.prompt is not None
        panel.param.update(
            offered=look is None,
            tried=trial is not None,
            told=_told(trial, desk.prompt),
            left=left.text,
            missing=[_missing_row(each) for each in left.first],
            more=left.more,
            keep=ways_to_keep(trial.wish, self._protocol()) if trial is not None and sendable else [],
            kept=_kept(kept) if kept is not None and trial is None else "",
            stable=bool(desk.book is not None and desk.book.settings.get("stable_layout")),
        )  # fmt: skip
        if trial is None and desk.budget is not None and desk.book is not None:
            panel.knobs = knobs(desk.budget, desk.book)

    def _left_out(self, trial: Trial | None) -> LeftOut:
        look = self._lens.look
        if look is not None:
            return left_out_then(look.receipt) if look.receipt is not None else NOTHING_LEFT_OUT
        now: LeftOut = self._lens.left
        return trial.left if trial is not None else now

    async def _wish(self, said: Said) -> None:
        if self.desk.budget is not None and self.desk.book is not None:
            await self._lens.try_out(wish_of(said.get("values"), self.desk.budget, self.desk.book))

    def _protocol(self) -> str:
        """The name of the book's protocol, if it has one."""
        desk = self.desk
        if desk.library is None or desk.book is None:
            return ""
        names: dict[int, str] = dict(desk.library.protocols)
        return names.get(desk.book.protocol_id or 0, "")

    async def _apply(self, said: Said) -> None:
        known = self._protocol()
        await self._lens.apply(new_protocol=f"{known or 'Limits'}, tried out" if said.get("fresh") else "")

    async def _reset(self, _: Said) -> None:
        await self._lens.try_out(NOTHING)

    async def _back(self, _: Said) -> None:
        await self._lens.take_back()

    async def _open(self, _: Said) -> None:
        await self._lens.climb()

    async def _stable(self, said: Said) -> None:
        book = self.desk.book
        if book is not None:
            await self.desk.attempt(
                aside(self.desk.studio.inspector.set_stable, book.id, bool(said.get("on")))
            )
            await self.desk.refresh()

    def _climbed(self, *_: object) -> None:
        trial = self._lens.trial
        budget = trial.budget if trial is not None else self.desk.budget
        context = budget.limits.context if budget is not None else 0
        self._whatif.rungs = rung_rows(self._lens.rungs, context)


def _part_headline(look: Look, shares: Sequence[Share]) -> str:
    used = sum(share.tokens for share in shares if share.kind not in _NOT_USED)
    context = look.receipt.limits.context if look.receipt is not None else 0
    return f"Part {look.number}: {used:,}" + (f" of {context:,} tokens" if context else " tokens")


def _counted_then(receipt: Receipt | None) -> str:
    return "" if receipt is None else counted_note(str(receipt.versions.get("tokenizer", "")))


def _headline(budget: Budget) -> str:
    if not budget.limits.context:
        return f"{budget.used:,} tokens"
    return f"{budget.used:,} of {budget.limits.context:,} tokens"


def _note(budget: Budget) -> str:
    if not budget.fits:
        return f"{count(budget.overflow, 'token')} too many before any of the story is in."
    return f"{budget.limits.response:,} are kept for the answer, {budget.free:,} are free."


def _row(share: Share) -> dict[str, Any]:
    named = f"{share.label}, {share.detail}" if share.kind == "story" and share.detail else share.label
    return {
        "label": named,
        "value": f"{share.tokens:,}",
        "title": share.detail,
        "colour": SHARE_COLOURS[share.kind],
    }


def _missing_row(each: Missing) -> dict[str, Any]:
    room = f"needs {count(each.needs, 'more token')} of room" if each.needs else each.reason
    return {"name": each.name, "tokens": each.tokens, "text": room, "reason": each.reason}


def _kept(kept: Kept) -> str:
    """What was made true, for the line that offers to take it back."""
    if kept.wish.limited and kept.after is not None:
        return f"Kept in {kept.after.name}."
    return "Kept in this book."


def _told(trial: Trial | None, now: Prompt | None) -> str:
    """What a what-if would change, in a sentence."""
    if trial is None:
        return ""
    if trial.prompt is None:
        return trial.text
    then = trial.prompt.budget
    parts = f"{then.sent_parts:,} of {count(then.branch_parts, 'part')}"
    more = then.sent_parts - now.budget.sent_parts if now is not None else 0
    change = f" ({more:+,})".replace("-", "\N{MINUS SIGN}") if more else ""
    entries = len(trial.prompt.active_lore)
    return f"Would send {parts}{change} and {entries:,} {'entry' if entries == 1 else 'entries'} of lore."
