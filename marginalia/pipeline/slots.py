"""The typed names of the eight steps: what each takes, and what whatever fills it must give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from marginalia.pipeline import events
from marginalia.pipeline.states import Outcome

if TYPE_CHECKING:
    from marginalia.pipeline.run import Run

In = TypeVar("In", bound=events.Event)
Out = TypeVar("Out")
Step: TypeAlias = "Callable[[Run, In], Awaitable[Out]]"
Wrapper: TypeAlias = "Callable[[Step[In, Out]], Step[In, Out]]"


@dataclass(frozen=True)
class Slot(Generic[In, Out]):
    """A place in the pipeline. The engine emits ``takes`` before the step and what it ``gives`` after it."""

    name: str
    takes: type[In]
    gives: type[Out]


PREPARE_GENERATION = Slot("PREPARE_GENERATION", events.BeforePrepareGeneration, events.AfterPrepareGeneration)
PREPARE_CONSTANTS = Slot(
    "PREPARE_CONSTANTS", events.BeforePrepareConstantData, events.AfterPrepareConstantData
)
PROCESS_LOREBOOK = Slot("PROCESS_LOREBOOK", events.BeforeProcessLorebook, events.AfterProcessLorebook)
PREPARE_CONTENT = Slot("PREPARE_CONTENT", events.BeforePrepareContent, events.AfterPrepareContent)
PREPARE_PAYLOAD = Slot("PREPARE_PAYLOAD", events.BeforePreparePayload, events.AfterPreparePayload)
GENERATE_NEW_MESSAGE = Slot(
    "GENERATE_NEW_MESSAGE", events.BeforeGenerateNewMessage, events.AfterGenerateNewMessage
)
INFERENCE = Slot("INFERENCE", events.BeforeInference, events.AfterInference)
CLEANUP = Slot("CLEANUP", events.BeforeCleanup, Outcome)
