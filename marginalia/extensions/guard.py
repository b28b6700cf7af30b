"""The borders between an extension and a run: what fails or hangs behind them is reported, and the run goes on.

Code that never lets go of the processor cannot be ended from outside in Python. A listener that is a plain function,
and a macro, therefore run in a thread that is given up; an ``async`` listener or step has to wait politely.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio

from marginalia.errors import MarginaliaError, Refused
from marginalia.extensions.answers import check
from marginalia.pipeline.abandon import Workers, in_a_thread_of_its_own
from marginalia.pipeline.events import Event
from marginalia.pipeline.hooks import Answer, Final, Listener, Problem
from marginalia.pipeline.run import Run
from marginalia.pipeline.slots import Slot, Step, Wrapper
from marginalia.prompt.macros.evaluator import UNKNOWN
from marginalia.prompt.macros.table import Invocation, MacroFunction

E = TypeVar("E", bound=Event)
In = TypeVar("In", bound=Event)
Out = TypeVar("Out")
T = TypeVar("T")
Failed: TypeAlias = Callable[[Exception], None]
MOST_HANGS = 3


@dataclass(slots=True)
class Health:
    """How often an extension hung; after three times it is left alone until it is switched on again."""

    on_rest: Callable[[], None]
    hangs: int = field(default=0, init=False)

    @property
    def resting(self) -> bool:
        """Whether it is not called any more."""
        return self.hangs >= MOST_HANGS

    def hung(self) -> None:
        """It took longer than it may."""
        self.hangs += 1
        if self.hangs == MOST_HANGS:
            self.on_rest()


@dataclass(slots=True)
class Calls:
    """Calls of one function that may hang. While one is stuck, no other should follow it into its thread's grave."""

    seconds: float
    began: dict[object, float] = field(default_factory=dict[object, float])

    @property
    def stuck(self) -> bool:
        """Whether a call took too long and has not come back."""
        now = time.monotonic()
        return any(now - each > self.seconds for each in tuple(self.began.values()))

    def of(self, function: Callable[..., T], *arguments: object) -> T:
        """What *function* gives; raises ``TimeoutError`` at once while another call is stuck."""
        if self.stuck:
            raise TimeoutError("a call before this one has not come back")
        me = object()
        self.began[me] = time.monotonic()
        try:
            return function(*arguments)
        finally:
            del self.began[me]


async def off_loop(function: Callable[..., Any], *arguments: object, calls: Calls | None = None) -> Any:  # noqa: ANN401 - the function's own answer
    """What *function* answers; a plain one is called in a thread, which is given up when the caller is cancelled."""
    if is_async(function):
        return await function(*arguments)
    plain = function if calls is None else partial(calls.of, function)
    answer = await in_a_thread_of_its_own(plain, *arguments)
    return await answer if isawaitable(answer) else answer


def is_async(function: object) -> bool:
    """Whether calling *function* gives something to wait for."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - whether calling it waits, not whether it can be called


def guarded_listener(
    listener: Listener[E], *, seconds: float, health: Health, workers: Workers, failed: Failed
) -> Listener[E]:
    """*listener*, off the event loop when it is a plain function, and not asked any more when it hung too often.

    What goes wrong is handed to *failed* and raised all the same: the run has to know of it, too.
    """
    plain = not is_async(listener)

    async def ask(run: Run, known: E) -> Answer[E]:
        if health.resting:
            return None
        began = anyio.current_time()
        try:
            answer: Any = await workers.call(listener, run, known) if plain else listener(run, known)
            return _usable(await answer if isawaitable(answer) else answer, known)
        except anyio.get_cancelled_exc_class():
            if anyio.current_time() - began >= seconds:
                failed(TimeoutError(f"it took longer than {seconds:g} seconds"))
                health.hung()
            raise
        except Refused:
            raise
        except Exception as error:
            failed(error)
            raise

    return ask


def _usable(answer: Any, known: E) -> Answer[E]:  # noqa: ANN401 - whatever a listener answers
    """*answer*; raises ``TypeError`` for what is no answer to the event *known*."""
    given = cast("Final[E]", answer).event if isinstance(answer, Final) else answer
    if given is not None:
        event = type(known)
        if type(given) is not event:
            raise TypeError(
                f"it answered {type(given).__name__}; a listener answers None, a changed {event.__name__} or Final"
            )
        check(given, known)
    return cast("Answer[E]", answer)


@dataclass(eq=False, slots=True)
class _Inner(Generic[In, Out]):
    """The step that is wrapped; its own time does not count, and what it gave or raised is remembered."""

    step: Step[In, Out]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    given: list[Out] = field(default_factory=list["Out"])
    error: Exception | None = None

    async def __call__(self, run: Run, known: In) -> Out:
        left, self.scope.deadline = self.scope.deadline - anyio.current_time(), math.inf
        try:
            out = await self.step(run, known)
        except Exception as error:
            self.error = error
            raise
        finally:
            self.scope.deadline = anyio.current_time() + left
        self.given.append(out)
        return out


def guarded_step(
    slot: Slot[In, Out],
    wrapper: Wrapper[In, Out],
    *,
    owner: str,
    seconds: float | None,
    health: Health,
    failed: Failed,
) -> Wrapper[In, Out]:
    """*wrapper*, with the step alone in its place when it fails, hangs or gives something else."""

    def around(step: Step[In, Out]) -> Step[In, Out]:
        async def guarded(run: Run, known: In) -> Out:
            if health.resting:
                return await step(run, known)
            inner, before = _Inner(step), (run.opened, run.answer_so_far)
            try:
                return await _within(seconds, inner, slot, wrapper(inner)(run, known), known)
            except MarginaliaError:
                raise
            except Exception as error:
                if inner.error is not None:
                    raise
                failed(error)
                if not inner.given and before != (run.opened, run.answer_so_far):
                    raise  # half of the step is done, and doing it again would do it twice
                if isinstance(error, TimeoutError):
                    health.hung()
                run.report(Problem(owner=owner, event=slot.name, error=error))
            return inner.given[-1] if inner.given else await step(run, known)

        return guarded

    return around


async def _within(
    seconds: float | None, inner: _Inner[In, Out], slot: Slot[In, Out], answer: Awaitable[Out], known: In
) -> Out:
    """The wrapper's answer; raises ``TimeoutError`` or ``TypeError`` for none, or one that is no such thing."""
    deadline = math.inf if seconds is None else anyio.current_time() + seconds
    with anyio.CancelScope(deadline=deadline) as inner.scope:
        out = await answer
        if not isinstance(out, slot.gives):
            raise TypeError(f"it gave {type(out).__name__} instead of {slot.gives.__name__}")
        check(out, inner.given[-1] if inner.given else known)
        return out
    raise TimeoutError(f"it took longer than {seconds:g} seconds")


def guarded_macro(
    function: MacroFunction, *, name: str, owner: str, seconds: float, failed: Failed
) -> MacroFunction:
    """*function*, printing ``Error`` when it fails or is stuck, like a name that nobody knows; the prompt says why."""
    calls = Calls(seconds)

    def call(invocation: Invocation) -> str:
        try:
            return _printed(calls.of(function, invocation))
        except Exception as error:  # noqa: BLE001 - the isolation border: a broken macro must not end the run
            failed(error)
            invocation.context.troubles[owner, f"{owner} failed in the macro {name}: {_said(error)}"] = None
            return UNKNOWN

    return call


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _printed(given: object) -> str:
    if given is None:
        raise TypeError("it gave nothing; a macro gives the text that it prints")
    return str(given)
