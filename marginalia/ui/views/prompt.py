"""The prompt tab: exactly what the model would be sent now, or was sent for a part; and what is different elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from marginalia.prompt.cache import reported
from marginalia.prompt.receipt import Receipt
from marginalia.prompt.segments import Prompt
from marginalia.ui.components.inspecting import PromptReader
from marginalia.ui.messages import calls_of, calls_of_notes, diff_row, message_rows
from marginalia.ui.view import View
from marginalia.ui.words import count

if TYPE_CHECKING:
    from marginalia.prompt.segment import Sent
    from marginalia.studio.inspecting import Format
    from marginalia.ui.comparing import Choice
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.lens import Lens

PROMPT_TAB = 2
_FORMS: dict[str, Format] = {"text": "text", "json": "json", "curl": "curl"}


class PromptView(View):
    """Tells the browser which messages changed; only while the tab is open."""

    def __init__(self, desk: Desk, lens: Lens) -> None:
        super().__init__(desk)
        self._lens = lens
        self._reader = PromptReader(sizing_mode="stretch_both")
        self._reader.hear(
            ready=self._ready, compare=self._compare, copy=self._copy, now=self._now,
            prepare=self._prepare, again=self._again, leave=self._leave,
        )  # fmt: skip
        self._told: list[dict[str, Any]] = []
        self._offered: tuple[list[Choice], str] | None = None
        self.follow("prompt", "tab", "unsendable", then=self._update)
        lens.param.watch(self._update, ["look", "beginning"])  # pyright: ignore[reportUnknownMemberType]
        lens.param.watch(self._compared, ["comparison", "against"])  # pyright: ignore[reportUnknownMemberType]
        lens.param.watch(self._tell_again, ["again", "look"])  # pyright: ignore[reportUnknownMemberType]
        self.follow("running", then=self._tell_again)

    def __panel__(self) -> PromptReader:
        return self._reader

    def _ready(self, _: Said) -> None:
        self._told, self._offered = [], None
        self._update(first=True)
        self._compared()
        self._tell_again()

    def _update(self, *_: object, first: bool = False) -> None:
        if self.desk.tab != PROMPT_TAB:
            return
        look, rows = self._lens.look, self._rows()
        changed = [(at, row) for at, row in enumerate(rows) if at >= len(self._told) or self._told[at] != row]
        self._told = rows
        self._reader.tell(
            "prompt", first=first, total=len(rows), changed=changed, mark=look.name if look is not None else "",
            top=self._top(rows), meter=self._meter(), troubles=self._troubles(),
        )  # fmt: skip
        self._offer()

    def _rows(self) -> list[dict[str, Any]]:
        """The messages that were or would be sent; none while nothing can be."""
        shown: Sent | None = self._lens.shown
        if isinstance(shown, Receipt):
            return message_rows(shown.messages, shown.segments, calls_of_notes(shown.lore))
        if isinstance(shown, Prompt):
            return message_rows(shown.messages, shown.segments, calls_of(shown.lore))
        return []

    def _top(self, rows: list[dict[str, Any]]) -> str:
        look, beginning = self._lens.look, self._lens.beginning
        known = beginning.total if look is None and beginning is not None else 0
        if look is not None and look.receipt is not None:
            known = look.receipt.prompt_tokens
        # With what a chat template puts around every message, as the meter and the run count.
        tokens = (
            f"{count(len(rows), 'message')}, {count(known or sum(row['tokens'] for row in rows), 'token')}"
        )
        if look is None:
            return self.desk.unsendable or f"What would be sent now: {tokens}."
        if look.receipt is None:
            return "This part was written by hand: no model was asked."
        facts = [tokens, look.receipt.model, look.receipt.protocol]
        fired = ", ".join(note.name for note in look.receipt.lore if note.active)
        return f"{' · '.join(filter(None, facts))}." + (f" Lore: {fired}." if fired else "")

    def _troubles(self) -> list[str]:
        """What went wrong while the prompt was built, each with its owner; what a book lacks is said at the top."""
        prompt: Prompt | None = self.desk.prompt
        if prompt is None or self._lens.look is not None:
            return []
        return list(dict.fromkeys(each.text for each in prompt.problems if each.source != "book"))

    def _meter(self) -> str:
        look, beginning = self._lens.look, self._lens.beginning
        if look is not None:
            return reported(look.receipt.usage, look.receipt.extra) if look.receipt is not None else ""
        return beginning.text if beginning is not None and beginning.tokens else ""

    def _offer(self) -> None:
        offered = (self._lens.choices(), self._lens.against)
        if offered != self._offered:
            self._offered = offered
            self._reader.tell("choices", choices=offered[0], against=offered[1])

    def _compared(self, *_: object) -> None:
        found = self._lens.comparison
        row = diff_row(found.title, found.diff, found.text) if found is not None else None
        self._reader.tell("diff", diff=row)
        self._offer()

    def _tell_again(self, *_: object) -> None:
        look, again = self._lens.look, self._lens.again
        shown = diff_row(again.shown.title, again.shown.diff, again.shown.text) if again is not None else None
        self._reader.tell(
            "again",
            offered=look is not None and look.receipt is not None,
            was=again.as_it_was if again is not None else None,
            ready=again is not None and again.ready and not self.desk.running,
            diff=shown,
        )

    async def _prepare(self, said: Said) -> None:
        await self._lens.prepare(as_it_was=bool(said.get("was")))

    async def _again(self, _: Said) -> None:
        await self._lens.write_again()

    def _leave(self, _: Said) -> None:
        self._lens.leave_again()

    async def _compare(self, said: Said) -> None:
        await self._lens.compare_with(str(said.get("with", "")))

    async def _now(self, _: Said) -> None:
        await self._lens.now()

    async def _copy(self, said: Said) -> None:
        form = _FORMS.get(str(said.get("form")))
        if form is not None:
            self._reader.tell("copied", text=await self._lens.export(form))
