"""The caller's ear: what a generation tells whoever started it.

And the border that keeps its mistakes out of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any
from weakref import proxy

from marginalia.errors import ModelError, Refused
from marginalia.pipeline.hooks import Problem
from marginalia.story.parts import Part

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run


class GenerationListener:
    """Override what you want to hear; each method may be sync or async (specification, *Cancellation and errors*).

    What a method raises is reported and otherwise ignored. ``ask_question`` answers yes (``True``), no
    (``False``) or ``None``: ask whoever watches the run.
    """

    def on_node_created(self, part: Part) -> Awaitable[None] | None:
        """The part exists and is the active leaf."""

    def on_reasoning_chunk(self, text: str) -> Awaitable[None] | None:
        """A piece of reasoning was appended."""

    def on_response_chunk(self, text: str) -> Awaitable[None] | None:
        """A piece of text was appended."""

    def on_metrics_updated(self, part: Part) -> Awaitable[None] | None:
        """Counts or times of the part changed."""

    def on_warning(self, text: str) -> Awaitable[None] | None:
        """Something the writer should know; the run goes on."""

    def on_simple_error(self, text: str) -> Awaitable[None] | None:
        """The run ends for a reason that the text explains: a validation problem or the provider's failure."""

    def on_error(self, error: Exception) -> Awaitable[None] | None:
        """The run ends because of any other error."""

    def on_complete(self, part: Part) -> Awaitable[None] | None:
        """The answer is complete and stored. Called once, at the end, unless ``on_cancelled`` is."""

    def on_cancelled(self, part: Part | None) -> Awaitable[None] | None:
        """The run was stopped or failed; *part* is what is left to show, if anything."""

    def ask_question(self, text: str) -> Awaitable[bool | None] | bool | None:  # noqa: ARG002 - for those who override it
        """A question that is answered with yes or no."""
        return None


class Teller:
    """Calls a listener's methods and reports what goes wrong in them as problems of the run.

    ``silent``: nobody listens, so what is made only for the listener can be spared.
    """

    def __init__(self, listener: GenerationListener, run: Run) -> None:
        self._listener = listener
        # The run holds its teller. Held by it in turn, it would stay in memory until a garbage collection.
        self._run: Run = proxy(run)
        self.silent = type(listener) is GenerationListener

    async def node_created(self, part: Part) -> None:
        """Tell that the part exists."""
        await self._tell(self._listener.on_node_created, part)

    async def reasoning(self, text: str, part: Part) -> None:
        """Tell of a piece of reasoning, and the counts with it."""
        await self._tell(self._listener.on_reasoning_chunk, text)
        await self.metrics(part)

    async def response(self, text: str, part: Part) -> None:
        """Tell of a piece of text, and the counts with it."""
        await self._tell(self._listener.on_response_chunk, text)
        await self.metrics(part)

    async def metrics(self, part: Part) -> None:
        """Tell the counts and times."""
        await self._tell(self._listener.on_metrics_updated, part)

    async def warning(self, text: str) -> None:
        """Warn."""
        await self._tell(self._listener.on_warning, text)

    async def failure(self, error: Exception) -> None:
        """Tell what ended the run, in the way that its kind asks for."""
        if isinstance(error, Refused | ModelError):
            await self._tell(self._listener.on_simple_error, str(error))
        else:
            await self._tell(self._listener.on_error, error)

    async def complete(self, part: Part) -> None:
        """Tell that the answer is complete."""
        await self._tell(self._listener.on_complete, part)
        await self.metrics(part)

    async def cancelled(self, part: Part | None) -> None:
        """Tell that the run ended early, and what is left."""
        await self._tell(self._listener.on_cancelled, part)
        if part is not None:
            await self.metrics(part)

    async def ask(self, text: str) -> bool | None:
        """Ask the listener; ``None`` when it has no answer."""
        answer: bool | None = await self._tell(self._listener.ask_question, text)
        return answer

    async def _tell(self, method: Callable[[Any], Any], value: object) -> Any:  # noqa: ANN401 - the method's own result
        try:
            answer = method(value)
            return await answer if isawaitable(answer) else answer
        except Exception as error:  # noqa: BLE001 - the isolation border: the caller's mistake must not end the run
            self._run.report(Problem(owner="listener", event=method.__name__, error=error))
            return None
