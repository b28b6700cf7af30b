"""What opens over the page: the settings, the prompt of a part, the keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from marginalia.ui.components import Dialogs
from marginalia.ui.messages import calls_of_notes, message_rows
from marginalia.ui.settings import Sheets
from marginalia.ui.troubles import notice_of
from marginalia.ui.view import View
from marginalia.ui.work import aside
from marginalia.values import PartId

if TYPE_CHECKING:
    from marginalia.prompt.receipt import Receipt
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Wish


class DialogsView(View):
    """Opens what the desk wishes to be opened."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._dialogs = Dialogs()
        self._dialogs.hear(submit=self._submit)
        self._sheets = Sheets(desk)
        self.follow("wished", then=self._open, always=True)

    def __panel__(self) -> Dialogs:
        return self._dialogs

    async def _open(self, *_: object) -> None:
        wish: Wish | None = self.desk.wished
        if wish is None:
            return
        if wish.name == "keys":
            self._dialogs.tell("keys")
        elif wish.name in _ELSEWHERE:
            pass  # something else follows the same wish
        elif wish.name == "prompt" and wish.part is not None:
            if self.desk.narrow:  # else it opens in the inspector, beside the text
                await self.desk.attempt(self._show_prompt(wish.part))
        else:
            await self.desk.attempt(self._show_sheet(wish.name, wish.record))

    async def _show_sheet(self, name: str, record: int | None) -> None:
        if record is None:
            title, sections = await aside(self._sheets.sections, name)
        else:
            title, sections = await aside(self._sheets.record, name, record)
        self._dialogs.tell(
            "sheet", title=title, sections=sections, open=sections[0]["name"] if name not in _TABS else name
        )

    async def _show_prompt(self, part: PartId) -> None:
        receipt = await aside(self.desk.studio.story.receipt, part)
        if receipt is None:
            self._dialogs.tell(
                "prompt",
                title="Prompt",
                top="This part was written by hand: no model was asked.",
                messages=[],
            )
            return
        rows = message_rows(receipt.messages, receipt.segments, calls_of_notes(receipt.lore))
        self._dialogs.tell("prompt", title="What the model read", top=_top(receipt), messages=rows)

    async def _submit(self, said: Said) -> None:
        form = str(said["form"])
        submit: Callable[[Said], Awaitable[dict[str, Any]]] = self._sheets.submit
        try:
            answer: dict[str, Any] = await submit(said)
        except Exception as error:  # noqa: BLE001 - the border between a form and the page
            answer = {"ok": False, "text": notice_of(error).text}
        self._dialogs.tell("result", form=form, **answer)
        if answer.get("close"):
            self._dialogs.tell("close")


_ELSEWHERE = ("prompts", "again")
_TABS = ("book", "model", "protocol")


def _top(receipt: Receipt) -> str:
    facts = [
        receipt.model,
        receipt.protocol,
        f"{receipt.prompt_tokens:,} tokens" if receipt.prompt_tokens else "",
    ]
    fired = [note.name for note in receipt.lore if note.active]
    lore = f" Lore: {', '.join(fired)}." if fired else ""
    return f"{' · '.join(filter(None, facts))}.{lore}"
