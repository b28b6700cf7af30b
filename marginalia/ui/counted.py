"""How tokens were counted, in words; and having the model's server count what had to be estimated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from marginalia.ui.reading import provider_of
from marginalia.ui.work import aside

if TYPE_CHECKING:
    from marginalia.ui.desk import Desk

#: Seconds without a new prompt after which the server is asked: nobody types that slowly in the middle of a sentence.
QUIET_SECONDS = 0.6
_EXACT = "exact ("


def counted_note(name: str) -> str:
    """A sentence on how figures were counted, from the name that a budget or a receipt has for it."""
    estimate, exact, way = name.partition(_EXACT)
    told = estimate.removesuffix(", in part ").replace(" x", " \N{MULTIPLICATION SIGN} ")
    way = way.removesuffix(")")
    if exact and not told:
        return f"Counted exactly, by the model's server: {way}."
    if exact:
        return f"Counted by the model's server ({way}), in part still estimated ({told})."
    if " " in told:
        return f"Estimated: {told}. What the model's server reports corrects the factor."
    return f"Estimated: {told}." if told else ""


class Exactly:
    """Asks for exact counts when typing rests, and has the prompt built once more when they came.

    Nothing waits for it: not the preview, not Generate, not Stop. While something is written it keeps still.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """A prompt was built; from the session's loop."""
        self._asked.set()

    async def serve(self) -> None:
        """Count whenever there is something to count, until cancelled."""
        while True:
            await self._asked.wait()
            while self._asked.is_set():
                self._asked.clear()
                await asyncio.sleep(QUIET_SECONDS)
            desk = self._desk
            if desk.running:
                continue
            provider = await aside(provider_of, desk.studio, desk.book)
            if await desk.studio.counting.settle(provider):
                desk.ask_for_prompt()
