"""The run tab: what the generation does or did, how fast, and what it had to say; or how a part came to be."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import panel as pn

from marginalia.pipeline.sending import BEGINNING
from marginalia.prompt.cache import CACHE, reported
from marginalia.ui.components import Figures
from marginalia.ui.components.inspecting import Mark, TimelinePicture
from marginalia.ui.timeline import timeline_row
from marginalia.ui.view import View
from marginalia.ui.words import count, doing, rate, seconds

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.timeline import Timeline
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.lens import Lens

RUN_TAB = 3
_PICTURES_APART = 0.25
_NOTHING = (
    "Nothing was generated since this page was opened. What you generate is followed here, step by step; how an older "
    "part came about stands here after “Show Prompt” in its menu."
)
_NOT_KEPT = "When this part was written, times were not kept."


class RunView(View):
    """Follows the desk's run, or what the lens looks at; only while the tab is open."""

    def __init__(self, desk: Desk, lens: Lens) -> None:
        super().__init__(desk)
        self._lens = lens
        self._mark = Mark(sizing_mode="stretch_width")
        self._mark.hear(now=self._now)
        self._figures = Figures(sizing_mode="stretch_width", margin=(10, 0, 0, 0))
        self._picture = TimelinePicture(sizing_mode="stretch_width")
        self._picture.hear(ready=self._ready)
        self._drawn = 0.0
        self._layout = pn.Column(
            self._mark, self._figures, self._picture, sizing_mode="stretch_both", scroll="y-auto"
        )
        self.follow("run", "running", "beat", "tab", then=self._update)
        lens.param.watch(self._update, ["look"])  # pyright: ignore[reportUnknownMemberType]
        self._update()

    def __panel__(self) -> pn.Column:
        return self._layout

    async def _now(self, _: Said) -> None:
        await self._lens.now()

    def _ready(self, _: Said) -> None:
        self._drawn = 0.0
        self._draw(self._timeline(), first=True)

    def _update(self, *_: object) -> None:
        if self.desk.tab != RUN_TAB:
            return
        look, run = self._lens.look, self.desk.run
        self._mark.text = look.name if look is not None else ""
        if look is not None:
            self._show_part(look.receipt)
        elif run is None:
            self._figures.param.update(headline="", note=_NOTHING, rows=[], notes=[])
        else:
            self._show_run(run)
        if look is not None or run is None or run.ended or time.monotonic() - self._drawn > _PICTURES_APART:
            self._draw(self._timeline())

    def _timeline(self) -> Timeline | None:
        if self._lens.look is not None:
            receipt: Receipt | None = self._lens.look.receipt
            return receipt.timeline if receipt is not None else None
        run: Run | None = self.desk.run
        return run.timeline if run is not None else None

    def _draw(self, timeline: Timeline | None, *, first: bool = False) -> None:
        self._drawn = time.monotonic()
        self._picture.tell(
            "timeline", first=first, timeline=timeline_row(timeline) if timeline is not None else None
        )

    def _show_run(self, run: Run) -> None:
        headline = doing(run)[0] if not run.ended else run.state.value.replace("_", " ").capitalize()
        troubles = [trouble.text for trouble in run.troubles]
        notes = dict.fromkeys(filter(None, [*run.warnings, *troubles, _cache(run)]))
        self._figures.param.update(headline=headline, note="", rows=_rows(run), notes=list(notes))

    def _show_part(self, receipt: Receipt | None) -> None:
        if receipt is None:
            self._figures.param.update(
                headline="", note="This part was written by hand: no model was asked.", rows=[], notes=[]
            )
            return
        cache = reported(receipt.usage, receipt.extra)
        notes = [*([] if receipt.timeline is not None else [_NOT_KEPT]), *([cache] if cache else [])]
        self._figures.param.update(headline="", note="", rows=_receipt_rows(receipt), notes=notes)


def _cache(run: Run) -> str:
    """What the server was thought to have read before, and what it says itself when it has answered."""
    beginning = run.stash.get(BEGINNING)
    usage = run.ending.usage if run.ending is not None else None
    return reported(usage, {CACHE: beginning.note} if beginning is not None else {})


def _rows(run: Run) -> list[dict[str, Any]]:
    rows = [
        _row("Request", _REQUESTS[type(run.request).__name__]),
        _row("Written", count(run.tokens, "token")),
    ]
    if run.receipt is not None:
        rows.insert(1, _row("Prompt", count(run.receipt.prompt_tokens, "token")))
    if run.first_token_after is not None:
        rows.append(_row("First token after", seconds(run.first_token_after)))
    if not run.ended:
        now = time.monotonic()
        rows.append(_row("So far", seconds(now - run.started)))
        if speed := rate(run, now):
            rows.append(_row("Rate", f"{speed:.1f} tokens a second"))
    elif (timeline := run.timeline).rate:
        rows.append(_row("Rate", f"{timeline.rate:.1f} tokens a second"))
    if run.part is not None and run.part.finish_reason:
        rows.append(_row("Ended by", run.part.finish_reason))
    if run.reasoning:
        rows.append(_row("Reasoning", count(len(run.reasoning.split()), "word")))
    return rows


def _receipt_rows(receipt: Receipt) -> list[dict[str, Any]]:
    timeline, usage = receipt.timeline, receipt.usage
    found = {
        "Request": _ASKED.get(receipt.request, receipt.request) + (", as it was" if "again" in receipt.extra else ""),
        "Prompt": count(receipt.prompt_tokens, "token"),
        "Written": count(usage.completion_tokens, "token") if usage and usage.completion_tokens else "",
        "First token after": seconds(receipt.timings["first_token"]) if "first_token" in receipt.timings else "",
        "All of it": seconds(receipt.timings["total"]) if "total" in receipt.timings else "",
        "Rate": f"{timeline.rate:.1f} tokens a second" if timeline is not None and timeline.rate else "",
        "Ended by": receipt.finish_reason,
        "Model": receipt.model,
        "Protocol": receipt.protocol,
    }  # fmt: skip
    return [_row(label, value) for label, value in found.items() if value]


_REQUESTS = {"NewPart": "a new part", "Regenerate": "written anew", "Swipe": "another version"}
_ASKED = {"new": "a new part", "regenerate": "written anew", "swipe": "another version"}


def _row(label: str, value: str) -> dict[str, Any]:
    return {"label": label, "value": value}
