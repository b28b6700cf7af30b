"""What the components share: their files, and numbered messages in both directions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from panel.custom import JSComponent

from marginalia.ui.assets import script, style
from marginalia.ui.troubles import notice_of
from marginalia.ui.work import SAID, Errands

Said: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[Said], "Awaitable[None] | None"]

__all__ = ["Handler", "Piece", "Said", "script", "style"]
_log = logging.getLogger(__name__)
_answers = Errands(lambda error: _log.error("A fault in the page.", exc_info=error))


class Piece(JSComponent):
    """A component that talks in messages.

    ``tell`` sends one; it is numbered, so that the browser notices one that was lost and says ``ready`` to be told
    everything again. ``hear`` says who answers what a person did. Where nobody answers ``ready``, messages wait for it.
    """

    __abstract = True

    # None of ours is compiled: Panel would look for the files of it hundreds of times for every page.
    _bundle_path: ClassVar[Path | None] = None  # pyright: ignore[reportIncompatibleVariableOverride]
    _bundle_css: ClassVar[Sequence[str]] = ()  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, **params: Any) -> None:  # noqa: ANN401 - the parameters of a subclass
        params.setdefault("margin", 0)
        # Panel leaves its constructor untyped.
        super().__init__(**params)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]
        self.on_msg(_answers.on(self._listen))  # pyright: ignore[reportUnknownMemberType]
        self._number = 0
        self._heard: dict[str, Handler] = {}
        self._shown = False
        self._waiting: list[dict[str, Any]] = []

    def hear(self, **handlers: Handler) -> None:
        """Call ``handlers[what]`` when the browser says *what*; coroutines are awaited."""
        self._heard.update(handlers)

    def tell(self, kind: str, *, first: bool = False, **data: Any) -> None:  # noqa: ANN401 - JSON
        """Send a message. ``first`` starts the numbering anew: it holds everything the browser needs."""
        self._number += 1
        message = {"type": kind, "n": self._number, "first": first, **data}
        if self._shown or "ready" in self._heard:
            self._send_msg(message)
        else:
            self._waiting.append(message)

    def _show(self) -> None:
        """Send what was told before the browser showed this."""
        self._shown, waiting, self._waiting = True, self._waiting, []
        for message in waiting:
            self._send_msg(message)

    def guarded(
        self, handler: Callable[[Said], Awaitable[None]]
    ) -> Callable[[Said], Coroutine[Any, Any, None]]:
        """*handler*; what it raises is said here, where the eye is, and what was typed stays."""

        async def handle(said: Said) -> None:
            await self.attempt(handler(said))

        return handle

    async def attempt(self, action: Awaitable[None]) -> None:
        """Do something that may fail; what it raises is said here."""
        try:
            await action
        except Exception as error:  # noqa: BLE001 - the border between a click and the page
            self.tell("trouble", text=notice_of(error).text)

    async def _listen(self, event: Any) -> None:  # noqa: ANN401 - Panel's event
        """Answer what the browser said; what it should not have said is left alone."""
        SAID.beat()
        data: Said = event.data
        handler = self._heard.get(str(data.get("do")))
        if handler is None:
            if data.get("do") == "ready":
                self._show()
            else:
                _log.debug("%s: nobody hears %r", type(self).__name__, data.get("do"))
            return
        answer = handler(data)
        if isawaitable(answer):
            await answer
