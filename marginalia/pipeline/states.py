"""How far a run has come: its state by the specification, its phase for people, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from marginalia.story.parts import Part


class RunState(StrEnum):
    """The specification's three states; text that is not blank makes a partial success, reasoning alone does not."""

    NOT_SUCCESSFUL = "NOT_SUCCESSFUL"
    PARTIAL_SUCCESS = "PARTIAL_SUCCESS"
    SUCCESSFUL = "SUCCESSFUL"


class Phase(StrEnum):
    """What a run is doing, as a person would say it."""

    PREPARING = "preparing"
    WAITING = "waiting"
    THINKING = "thinking"
    WRITING = "writing"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is left of a run.

    Its state, the part to show (``None`` when nothing is left of a new one), and what ended it.
    """

    state: RunState
    part: Part | None = None
    error: Exception | None = None
    stopped: bool = False


def how_ended(outcome: Outcome) -> str:
    """The end of a run in a word or two."""
    if outcome.stopped:
        return "stopped"
    return "complete" if outcome.state is RunState.SUCCESSFUL else "failed"
