"""The turn panel: what is typed, Generate and Stop, and what went wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from marginalia.pipeline.states import Phase, RunState
from marginalia.ui.components import TurnPanel
from marginalia.ui.view import View
from marginalia.ui.words import count, doing, rate, seconds
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run
    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Shape

FIELDS = ("scene_setting", "pov_character", "present_characters", "instructions")
_CARRIED = FIELDS[:3]


class TurnView(View):
    """Sends what is typed to the desk, and shows the run's state and the desk's trouble."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        described = {name: [desk.turn.param[name].label, desk.turn.param[name].doc] for name in FIELDS}
        self._panel = TurnPanel(labels=described, sizing_mode="stretch_width", blocked=True)
        self._panel.hear(
            draft=self._draft, generate=self._generate, stop=self._stop, answer=self._answer,
            action=self._action, dismiss=self._dismiss,
        )  # fmt: skip
        self._from: object = None
        self.follow("shape", then=self._carry)
        self.follow("running", then=self._running)
        self.follow("beat", "unsendable", then=self._status)
        self.follow("trouble", then=self._trouble)

    def __panel__(self) -> TurnPanel:
        return self._panel

    def focus(self) -> None:
        """Put the cursor where the next part is asked for."""
        self._panel.tell("focus")

    def fill(self, instructions: str) -> None:
        """Have an instruction stand there as if it had been typed."""
        self._panel.tell("fill", instructions=instructions)

    async def _carry(self, *_: object) -> None:
        """The first three fields come from the last part of the branch."""
        desk = self.desk
        shape: Shape | None = desk.shape
        if shape is None or desk.book is None:
            return
        key = f"mg:{desk.book.owner}:{desk.book.uid or desk.book.id}"
        carried: dict[str, str] = dict(self._panel.carried)
        if (desk.book.id, shape.leaf) != self._from:
            carried = {}
            if shape.leaf is not None:
                turn = (await aside(desk.studio.story.part, shape.leaf)).turn
                carried = {name: getattr(turn, name) or "" for name in _CARRIED}
            self._from = (desk.book.id, shape.leaf)
        self._panel.param.update(draft_key=key, carried=carried, blocked=False)

    def _draft(self, said: Said) -> None:
        self.desk.typed(_fields(said))

    async def _generate(self, said: Said) -> None:
        self.desk.typed(_fields(said))
        await self.desk.generate()

    def _stop(self, _: Said) -> None:
        self.desk.stop()

    def _answer(self, said: Said) -> None:
        self.desk.answer(yes=bool(said.get("yes")))

    async def _action(self, said: Said) -> None:
        await self.desk.act(str(said.get("name")))

    def _dismiss(self, _: Said) -> None:
        self.desk.dismiss()

    def _running(self, *_: object) -> None:
        ended = self._panel.running and not self.desk.running
        self._panel.running = self.desk.running
        self._status()
        run: Run | None = self.desk.run
        if ended and run is not None and _written(run):
            self._panel.tell("sent", instructions=run.turn.instructions or "")

    def _status(self, *_: object) -> None:
        desk = self.desk
        run: Run | None = desk.run
        status: dict[str, Any] = {"text": desk.unsendable}
        if run is not None and desk.running:
            status = _status_of(run)
        elif run is not None and run.part is not None and not desk.unsendable:
            status = {"text": _summed_up(run)}
        question = run.question.text if run is not None and desk.running and run.question is not None else ""
        if status != self._panel.status or question != self._panel.question:
            self._panel.param.update(status=status, question=question)

    def _trouble(self, *_: object) -> None:
        self._panel.trouble = self.desk.trouble.shown()


def _written(run: Run) -> bool:
    """Whether the part holds what was asked for, so that the field may be emptied; a failure takes nothing."""
    return run.part is not None and run.error is None and run.state is not RunState.NOT_SUCCESSFUL


def _fields(said: Said) -> dict[str, str]:
    fields: dict[str, Any] = dict(said.get("fields") or {})
    return {name: str(fields.get(name, "")) for name in FIELDS}


def _status_of(run: Run) -> dict[str, Any]:
    text, ticks = doing(run)
    now = time.monotonic()
    if run.phase is Phase.WRITING and (speed := rate(run, now)):
        text = f"{text} · {speed:.0f} a second"
    return {"text": text, "ticks": ticks, "age": round(now - run.started, 1) if ticks else 0}


def _summed_up(run: Run) -> str:
    after = (
        f" · the first after {seconds(run.first_token_after)}" if run.first_token_after is not None else ""
    )
    return f"{count(run.tokens, 'token')}{after}"
