"""The run tab: what the generation does or did, how fast, and what it had to say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from marginalia.ui.components import Figures
from marginalia.ui.view import View
from marginalia.ui.words import count, doing, rate, seconds

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run
    from marginalia.ui.desk import Desk

RUN_TAB = 3


class RunView(View):
    """Follows the desk's run; only while the tab is open."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._figures = Figures(sizing_mode="stretch_both", margin=(10, 0, 0, 0))
        self.follow("run", "running", "beat", "tab", then=self._update)
        self._update()

    def __panel__(self) -> Figures:
        return self._figures

    def _update(self, *_: object) -> None:
        if self.desk.tab != RUN_TAB:
            return
        run: Run | None = self.desk.run
        if run is None:
            self._figures.param.update(
                headline="", note="Nothing was generated since this page was opened.", rows=[]
            )
            return
        headline = doing(run)[0] if not run.ended else run.state.value.replace("_", " ").capitalize()
        troubles = [trouble.text for trouble in run.troubles]
        self._figures.param.update(
            headline=headline, note="", rows=_rows(run), notes=list(dict.fromkeys([*run.warnings, *troubles]))
        )


def _rows(run: Run) -> list[dict[str, Any]]:
    rows = [_row("Request", type(run.request).__name__), _row("Written", count(run.tokens, "token"))]
    if run.prompt is not None:
        rows.insert(1, _row("Prompt", count(run.prompt.budget.used, "token")))
    if run.first_token_after is not None:
        rows.append(_row("First token after", seconds(run.first_token_after)))
    if not run.ended:
        now = time.monotonic()
        rows.append(_row("So far", seconds(now - run.started)))
        if speed := rate(run, now):
            rows.append(_row("Rate", f"{speed:.1f} tokens a second"))
    if run.part is not None and run.part.finish_reason:
        rows.append(_row("Ended by", run.part.finish_reason))
    if run.reasoning:
        rows.append(_row("Reasoning", count(len(run.reasoning.split()), "word")))
    return rows


def _row(label: str, value: str) -> dict[str, Any]:
    return {"label": label, "value": value}
