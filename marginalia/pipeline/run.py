"""One generation (or the preview of one), from request to what is left of it in the book."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, TypeVar

import anyio

from marginalia.pipeline.beacon import Beacon, running_loop
from marginalia.pipeline.hooks import Hooks, Problem
from marginalia.pipeline.listener import GenerationListener, Teller
from marginalia.pipeline.ports import Chunk, Manuscript, Opened
from marginalia.pipeline.recorder import Recorder
from marginalia.pipeline.stash import Stash, StashKey
from marginalia.pipeline.states import Outcome, Phase, RunState, how_ended
from marginalia.prompt.segments import Trouble
from marginalia.prompt.showing import timeline_html

if TYPE_CHECKING:
    from marginalia.pipeline.again import Again
    from marginalia.pipeline.answer import Answer
    from marginalia.pipeline.events import Event
    from marginalia.pipeline.ports import Ending, Ports
    from marginalia.prompt.context import Rendered, TemplateContext
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.segments import Prompt
    from marginalia.prompt.timeline import Timeline
    from marginalia.story.frames import DataFrame
    from marginalia.story.parts import Part
    from marginalia.story.summaries import Chain
    from marginalia.values import BookId, Request, Turn

E = TypeVar("E", bound="Event")
__all__ = ["Question", "Run", "Stash", "StashKey"]
logger = logging.getLogger("marginalia.pipeline")
_DOING = {Phase.WAITING: "waiting for the model", Phase.THINKING: "reasoning", Phase.WRITING: "writing"}


@dataclass(slots=True)
class Question:
    """A question that waits for yes or no from whoever watches the run."""

    text: str
    given: bool | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)


class Run:
    """A generation on its way.

    Callers read it, wait for it and stop it; steps and listeners also use ``emit``, ``warn``, ``ask``.

    Any number of readers may follow it: ``async for chunk in run`` gives every chunk from the beginning,
    ``changed`` wakes at most once however much arrived. The run goes on whether somebody reads or not.
    """

    # How far it has come.
    state: RunState = RunState.NOT_SUCCESSFUL
    phase: Phase = Phase.PREPARING
    progress: str = ""
    first_token_after: float | None = None
    stopped: bool = False
    unsaved: bool = False
    error: Exception | None = None
    outcome: Outcome | None = None
    question: Question | None = None
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    # What the steps found and made, for the steps after them.
    prompt: Prompt | None = None
    context: TemplateContext | None = None
    chain: Chain | None = None
    troubles: tuple[Trouble, ...] = ()
    opened: Opened | None = None
    receipt: Receipt | None = None
    answer_so_far: Answer | None = None
    ending: Ending | None = None

    # A part whose receipt is sent once more, exactly.
    again: Again | None = None

    def __init__(
        self,
        manuscript: Manuscript,
        turn: Turn,
        request: Request,
        *,
        run_id: str,
        seed: int,
        ports: Ports,
        hooks: Hooks,
        listener: GenerationListener | None = None,
        attended: bool = False,
        preview: bool = False,
    ) -> None:
        self.id = run_id
        self.seed = seed
        self.manuscript = manuscript
        self.turn = turn
        self.request = request
        self.preview = preview
        self.attended = attended
        self.ports = ports
        self.macros = ports.macros()
        self.random = Random(seed)  # noqa: S311 - stories need dice, not secrets
        self.stash = Stash()
        self.templates = dict[str, "Rendered"]()  # what each came to, by its place
        self.tell = Teller(listener or GenerationListener(), self)
        self.started = time.monotonic()
        self.recorder = Recorder()
        self.loop = running_loop()
        self._hooks = hooks
        self._beacon = Beacon()
        self._chunks: list[Chunk] = []

    @cached_property
    def scope(self) -> anyio.CancelScope:
        """What ends the steps of the run; made on the loop that it goes on."""
        return anyio.CancelScope()

    # For callers.

    @property
    def book_id(self) -> BookId:
        """The book that is written to."""
        return self.manuscript.book.id

    @property
    def part(self) -> Part | None:
        """The part as it is now; ``None`` before it is created and after it was taken back."""
        if self.outcome is not None:
            return self.outcome.part
        if self.answer_so_far is not None:
            return self.answer_so_far.part
        return self.opened.part if self.opened else None

    @property
    def text(self) -> str:
        """What was written so far."""
        return self.answer_so_far.text if self.answer_so_far else ""

    @property
    def reasoning(self) -> str:
        """What the model thought so far."""
        return self.answer_so_far.reasoning if self.answer_so_far else ""

    @property
    def tokens(self) -> int:
        """How many tokens were written so far, approximately."""
        return self.answer_so_far.tokens if self.answer_so_far else 0

    @property
    def ended(self) -> bool:
        """Whether everything is done and stored."""
        return self.outcome is not None

    @property
    def timeline(self) -> Timeline:
        """What happened so far and when: steps, listeners, the model, what was said."""
        return self.recorder.timeline(self.first_token_after)

    @property
    def frame(self) -> DataFrame:
        """The timeline as a table."""
        return self.timeline.frame

    def _repr_html_(self) -> str:
        return timeline_html(self.timeline)

    def stop(self) -> None:
        """End the run now. Text that has arrived is kept; a part without text is taken back.

        May be called from any step.
        """
        if not self.ended and not self.stopped:
            self.stopped = True
            self._on_my_loop(lambda: self.scope.cancel())  # noqa: PLW0108 - made there, not here

    def answer(self, yes: bool) -> None:  # noqa: FBT001 - the answer to a question is a boolean
        """Answer the question that waits, if one does."""
        if self.question is not None and self.question.given is None:
            self.question.given = yes
            self._on_my_loop(self.question.answered.set)

    async def settled(self) -> Outcome:
        """Wait until the run has ended and everything is stored; never raises what ended it, see ``Outcome.error``."""
        seen = 0
        while self.outcome is None:
            seen = await self._beacon.after(seen)
        return self.outcome

    async def changed(self, after: int = 0) -> int:
        """Wait for anything to change since version *after*; give the version to wait for next.

        Works from any event loop.
        """
        return await self._beacon.after(after)

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        sent, seen = 0, 0
        while True:
            while sent < len(self._chunks):
                yield self._chunks[sent]
                sent += 1
            if self.ended:
                return
            seen = await self._beacon.after(seen)

    def _on_my_loop(self, act: Callable[[], object]) -> None:
        """Do it now, or, called from another thread (a notebook beside the server), as soon as the run's loop can."""
        if self.loop is None or self.loop is running_loop():
            act()
        elif not self.loop.is_closed():
            self.loop.call_soon_threadsafe(act)

    # For steps and listeners.

    async def emit(self, event: E) -> E:
        """Offer *event* to its listeners and give what they make of it."""
        return await self._hooks.emit(self, event)

    def heard(self, event: type[Event]) -> bool:
        """Whether anybody listens to *event*."""
        return self._hooks.heard(event)

    async def warn(self, text: str, source: str = "") -> None:
        """Tell the writer something that does not end the run."""
        self.trouble(text, source)
        if not self.preview:
            self.warnings = (*self.warnings, text)
            self.recorder.notice("warning", text, source)
            await self.tell.warning(text)

    def trouble(self, text: str, source: str = "") -> None:
        """Note something that went wrong while the prompt was built; it is shown with the prompt."""
        self.troubles = (*self.troubles, Trouble(source=source, text=text))

    async def ask(self, text: str) -> bool:
        """Ask yes or no: the listener first, then whoever watches.

        A preview goes on as if yes were answered; unattended is no.
        """
        if self.preview:
            return True
        given = await self.tell.ask(text)
        if given is not None or not self.attended:
            return bool(given)
        self.question = Question(text)
        self.notice()
        try:
            with self.recorder.waiting("question", text):
                await self.question.answered.wait()
            return bool(self.question.given)
        finally:
            self.question = None
            self.notice()

    def report(self, problem: Problem) -> None:
        """Note that a listener failed; the run goes on, and the prompt that is being built says so."""
        self.problems = (*self.problems, problem)
        what = str(problem.error) or ("it took too long" if isinstance(problem.error, TimeoutError) else "")
        told = f"{problem.owner} failed in {problem.event}: {what or type(problem.error).__name__}"
        self.trouble(told, problem.owner)
        self.recorder.notice("problem", told, problem.owner)
        logger.warning("%s failed in %s: %s", problem.owner, problem.event, type(problem.error).__name__)

    def enter(self, phase: Phase, progress: str = "") -> None:
        """Say what the run does now."""
        if (phase, progress) != (self.phase, self.progress):
            self.phase, self.progress = phase, progress
            self.recorder.doing(progress or _DOING.get(phase, ""))
            self.notice()

    def arrived(self, chunk: Chunk) -> None:
        """Hand a chunk to the readers."""
        self._chunks.append(chunk)
        self._beacon.flash()

    def notice(self) -> None:
        """Wake everybody who follows the run."""
        self._beacon.flash()

    def end(self, outcome: Outcome) -> None:
        """Everything is stored; called once, by the engine."""
        self.outcome = outcome
        self.error = outcome.error
        self.state = outcome.state
        self.enter(Phase.ENDED)
        self.recorder.end(how_ended(outcome))
        self.notice()
