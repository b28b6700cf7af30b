"""The engine: eight steps in order, the last one always, and what may be put around or in place of a step."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, TypeAlias, TypeVar, cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from marginalia.errors import Refused, StoreError, ValidationProblem
from marginalia.pipeline import slots
from marginalia.pipeline.again import as_it_was
from marginalia.pipeline.events import (
    AfterGenerateNewMessage,
    AfterInference,
    AfterPreparePayload,
    BeforeCleanup,
    BeforeGenerateNewMessage,
    BeforeInference,
    BeforePrepareGeneration,
    Event,
    onward,
)
from marginalia.pipeline.hooks import Hooks
from marginalia.pipeline.run import Run
from marginalia.pipeline.slots import Slot, Step, Wrapper
from marginalia.pipeline.states import Outcome, Phase, RunState
from marginalia.pipeline.steps import STEPS
from marginalia.pipeline.steps.cleanup import keep
from marginalia.prompt.changed import as_sent
from marginalia.prompt.payload import realign
from marginalia.prompt.segments import History, LoreList, Prompt, Segment
from marginalia.story.parts import Part
from marginalia.story.summaries import Chain
from marginalia.values import Message, Regenerate, replaced_part

In = TypeVar("In", bound=Event)
Out = TypeVar("Out")
After = TypeVar("After", bound=Event)
Payload = TypeVar("Payload", bound=AfterPreparePayload)
Undo: TypeAlias = Callable[[], None]
Plan: TypeAlias = "Mapping[Slot[Any, Any], Step[Any, Any]]"

NOT_IMPLEMENTED = "NOT IMPLEMENTED"
CLEANUP_SECONDS = 15.0
# What comes after a preview and holds the messages.
_LATER = (BeforeGenerateNewMessage, AfterGenerateNewMessage, BeforeInference)


class Pipeline:
    """The installed steps, what is wrapped around them, and the listeners.

    A run takes the steps it finds when it starts.
    """

    def __init__(self, steps: Plan = STEPS) -> None:
        self.hooks = Hooks()
        self._steps = dict(steps)
        self._wrappers: tuple[tuple[Slot[Any, Any], Wrapper[Any, Any] | None], ...] = ()
        self._lock = Lock()

    def wrap(self, slot: Slot[In, Out], wrapper: Wrapper[In, Out]) -> Undo:
        """Put *wrapper* around a step, outside those already there; call what is returned to take it off again."""
        return self._add(slot, wrapper)

    def replace(self, slot: Slot[In, Out], step: Step[In, Out]) -> Undo:
        """Put *step* in the place of a step and of what is around it so far; call what is returned to undo it."""

        def instead(_: Step[In, Out]) -> Step[In, Out]:
            return step

        return self._add(slot, instead)

    def remove(self, slot: Slot[Any, Any]) -> Undo:
        """Take a step out; runs then report NOT IMPLEMENTED when they come to it. Call what is returned to undo it."""
        return self._add(slot, None)

    def plan(self) -> Plan:
        """The steps as they are right now, the latest wrapper outermost."""
        plan = dict(self._steps)
        for slot, wrapper in self._wrappers:
            if wrapper is None:
                plan.pop(slot, None)
            else:
                plan[slot] = wrapper(plan.get(slot, _missing))
        return plan

    async def preview(self, run: Run) -> Prompt:
        """Steps 1 to 5 alone: the prompt that would be sent now. Nothing is stored, asked or changed."""
        for owner in self.hooks.owners(_LATER, run.manuscript.book.id):
            run.trouble(f"{owner} is asked once more when this is sent, and may change it then.", owner)
        engine = _Engine(run, self._plan_of(run))
        with run.scope:
            await engine.five_steps()
        if run.prompt is None:
            raise Refused("The preview was stopped.")
        return run.prompt

    def drive(self, run: Run) -> Coroutine[Any, Any, None]:
        """Carry *run* to its end, with the steps as they are at this call, not when it is awaited.

        What ends the run is told to the listener and kept in the outcome, never raised.
        """
        return _Engine(run, self._plan_of(run)).drive()

    async def save_again(self, run: Run) -> None:
        """Store what the end of *run* could not store; raises ``StoreError`` while that is still so."""
        partial = run.state is not RunState.SUCCESSFUL
        if run.state is RunState.NOT_SUCCESSFUL and run.opened is not None:
            await run.ports.archive.withdraw(run.opened)
        else:
            await keep(run, partial=partial)
        run.unsaved = False
        run.notice()

    def _plan_of(self, run: Run) -> Plan:
        return self.plan() if run.again is None else as_it_was(self.plan(), run.again)

    def _add(self, slot: Slot[Any, Any], wrapper: Wrapper[Any, Any] | None) -> Undo:
        mine = (slot, wrapper)
        with self._lock:
            self._wrappers = (*self._wrappers, mine)

        def undo() -> None:
            with self._lock:
                self._wrappers = tuple(each for each in self._wrappers if each is not mine)

        return undo


async def _missing(run: Run, known: Event) -> Any:  # noqa: ANN401, ARG001 - stands for a step of any kind
    raise ValidationProblem(NOT_IMPLEMENTED)


class _Engine:
    """One run on its way through one plan."""

    def __init__(self, run: Run, plan: Plan) -> None:
        self._run = run
        self._plan = plan
        self._made: Event | None = None

    async def five_steps(self) -> AfterPreparePayload:
        """Build the prompt; the same for previews and generations."""
        run = self._run
        asked = BeforePrepareGeneration(book=run.manuscript.book, turn=run.turn, request=run.request)
        prepared = await self._take(slots.PREPARE_GENERATION, asked)
        constants = await self._take(slots.PREPARE_CONSTANTS, prepared)
        lore = await self._take(slots.PROCESS_LOREBOOK, constants)
        content = await self._take(slots.PREPARE_CONTENT, lore)
        payload = _sendable(await self._take(slots.PREPARE_PAYLOAD, content))
        run.prompt = self._prompt(payload)
        return payload

    async def drive(self) -> None:
        error: Exception | None = None
        try:
            with self._run.scope:
                await self._seven_steps()
        except Exception as caught:  # noqa: BLE001 - whatever ends a run is told and kept, and CLEANUP follows
            error = caught
        finally:
            with anyio.CancelScope(shield=True):  # the end cannot be cancelled, only timed out
                await self._settle(error)

    async def _seven_steps(self) -> None:
        run = self._run
        payload = await self.five_steps()
        ready = onward(payload, BeforeGenerateNewMessage, original=await self._original())
        opened = await self._take(slots.GENERATE_NEW_MESSAGE, ready)
        await run.tell.node_created(opened.part)
        looked = self._last_look(_sendable(await self._before(slots.INFERENCE, opened)))
        answered = await self._do(slots.INFERENCE, looked)
        await self._accept(answered)

    async def _take(self, slot: Slot[In, After], known: Event) -> After:
        """One step between its two events."""
        self._made = await self._do(slot, await self._before(slot, known))
        return await self._run.emit(self._made)

    async def _before(self, slot: Slot[In, Out], known: Event) -> In:
        before = known if isinstance(known, slot.takes) else onward(known, slot.takes)
        offered = await self._run.emit(before)
        await anyio.lowlevel.checkpoint_if_cancelled()
        return offered

    async def _do(self, slot: Slot[In, Out], offered: In) -> Out:
        step = cast("Step[In, Out]", self._plan.get(slot, _missing))
        with self._run.recorder.step(slot.name):
            return await step(self._run, offered)

    async def _original(self) -> Part | None:
        request = self._run.request
        if not isinstance(request, Regenerate):
            return None
        return await anyio.to_thread.run_sync(self._run.ports.library.part, request.part)

    def _last_look(self, looked: BeforeInference) -> BeforeInference:
        """Listeners may have changed the messages once more; the prompt is then what they made of it."""
        run = self._run
        if run.prompt is not None and looked.messages != run.prompt.messages:
            segments = self._realigned(looked.messages, run.prompt.messages, run.prompt.segments)
            budget = as_sent(run.prompt.budget, segments, {"messages"})
            run.prompt = replace(
                run.prompt, messages=tuple(looked.messages), segments=segments, budget=budget
            )
        return looked

    def _realigned(
        self, messages: Sequence[Message], built: Sequence[Message], segments: Sequence[Segment]
    ) -> tuple[Segment, ...]:
        if messages == built:
            return tuple(segments)
        return realign(messages, built, segments, self._run.ports.tokenizer.count)

    async def _accept(self, answered: AfterInference) -> None:
        """The answer is complete.

        Listeners first, then exact counts, then it is stored and the run has succeeded (B1 81).
        """
        run = self._run
        final = await run.emit(answered)
        if run.answer_so_far is not None and final.part != answered.part:
            run.answer_so_far.overrule(final.part)
        with anyio.fail_after(CLEANUP_SECONDS, shield=True):
            await keep(run, partial=False)
        run.state = RunState.SUCCESSFUL

    def _prompt(self, payload: AfterPreparePayload) -> Prompt:
        run, tree = self._run, self._run.manuscript.tree
        replaced = replaced_part(run.request)
        branch = tree.branch(payload.book.active_leaf if replaced is None else replaced)
        chain = run.chain or Chain()
        built = self._made.messages if isinstance(self._made, AfterPreparePayload) else payload.messages
        history = History(
            tree=tree,
            branch=branch,
            sent=frozenset(passage.part for passage in payload.chronicle if passage.part is not None),
            covered=branch.index(chain.stop) + 1 if chain.stop is not None else 0,
            replaced=replaced,
            needed=payload.budget.needed,
            cut=payload.budget.cut,
        )
        segments = self._realigned(payload.messages, built, payload.segments)
        return Prompt(
            messages=tuple(payload.messages),
            segments=segments,
            lore=LoreList(payload.lore.verdicts),
            history=history,
            budget=as_sent(payload.budget, segments, run.recorder.changed),
            variables=payload.variables,
            problems=run.troubles,
        )

    async def _settle(self, error: Exception | None) -> None:
        """CLEANUP, exactly once, bounded; the end is told exactly once, too."""
        run = self._run
        run.enter(Phase.ENDING)
        if error is not None:
            run.recorder.notice("failure", str(error) or type(error).__name__)
            await run.tell.failure(error)
        known = BeforeCleanup(
            book=run.manuscript.book,
            turn=run.turn,
            request=run.request,
            state=run.state,
            part=run.part,
            error=error,
            stopped=run.stopped and error is None,
        )
        try:
            with anyio.fail_after(CLEANUP_SECONDS):
                offered = await run.emit(known)
                outcome = await self._do(slots.CLEANUP, offered)
        except Exception as caught:  # noqa: BLE001 - a failing CLEANUP is told once, and still the run ends (J-05)
            run.unsaved = isinstance(caught, StoreError)
            await run.tell.failure(caught)
            left = run.part if run.state is not RunState.NOT_SUCCESSFUL else None
            outcome = Outcome(state=run.state, part=left, error=error or caught, stopped=known.stopped)
        run.end(outcome)
        if outcome.state is RunState.SUCCESSFUL and outcome.part is not None:
            await run.tell.complete(outcome.part)
        else:
            await run.tell.cancelled(outcome.part)


def _sendable(known: Payload) -> Payload:
    """Without the messages that a listener left without content; empty ones are sent (B1 71)."""
    contents: list[str | None] = [
        message.content for message in known.messages
    ]  # listeners may not care for types
    if None not in contents:
        return known
    kept = (message for message, content in zip(known.messages, contents, strict=True) if content is not None)
    return replace(known, messages=tuple(kept))
