"""The prompt tab: exactly what the model would be sent now, by message and source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.ui.components import PromptPaper
from marginalia.ui.messages import message_rows
from marginalia.ui.view import View

if TYPE_CHECKING:
    from marginalia.prompt.segments import Prompt
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk

PROMPT_TAB = 2


class PromptView(View):
    """Tells the browser which messages changed; only while the tab is open."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._paper = PromptPaper(sizing_mode="stretch_both")
        self._paper.hear(ready=self._ready)
        self._told: list[dict[str, Any]] = []
        self.follow("prompt", "tab", "unsendable", then=self._update)

    def __panel__(self) -> PromptPaper:
        return self._paper

    def _ready(self, _: Said) -> None:
        self._told = []
        self._update(first=True)

    def _update(self, *_: object, first: bool = False) -> None:
        prompt: Prompt | None = self.desk.prompt
        if self.desk.tab != PROMPT_TAB:
            return
        rows = message_rows(prompt.messages, prompt.segments) if prompt is not None else []
        changed = [(at, row) for at, row in enumerate(rows) if at >= len(self._told) or self._told[at] != row]
        self._told = rows
        tokens = sum(row["tokens"] for row in rows)
        top = f"What would be sent now: {len(rows)} messages, {tokens:,} tokens."
        self._paper.tell(
            "prompt", first=first, total=len(rows), changed=changed, top=self.desk.unsendable or top
        )
