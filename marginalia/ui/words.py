"""Numbers, times and states in words: separators and units, times relative to now, no jargon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.pipeline.states import Phase
from marginalia.values import EPOCH

if TYPE_CHECKING:
    from datetime import datetime

    from marginalia.pipeline.run import Run

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_A_MONTH = 30


def count(number: int, unit: str) -> str:
    """``1 token``, ``1,204 tokens``."""
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def ago(then: datetime, now: datetime) -> str:
    """How long ago, roughly; a date when it is long ago."""
    if then == EPOCH:
        return ""
    seconds = (now - then).total_seconds()
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h ago"
    if seconds < _A_MONTH * _DAY:
        return count(int(seconds // _DAY), "day") + " ago"
    return f"{then.day} {then:%B %Y}"


def seconds(number: float) -> str:
    """``0.4 s``, ``12 s``, ``2 min 5 s``."""
    if number < 10:  # noqa: PLR2004 - below ten seconds a tenth tells something
        return f"{number:.1f} s"
    minutes, rest = divmod(round(number), _MINUTE)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def rate(run: Run, now: float) -> float:
    """Tokens per second since the first one; 0 before there is anything to tell."""
    if run.first_token_after is None:
        return 0.0
    elapsed = now - run.started - run.first_token_after
    return run.tokens / elapsed if elapsed > 0.5 and run.tokens > 1 else 0.0  # noqa: PLR2004 - half a second to settle


def doing(run: Run) -> tuple[str, bool]:
    """What a run does, for people, and whether the seconds it takes are counted beside it."""
    match run.phase:
        case Phase.PREPARING:
            return "building the prompt…", True
        case Phase.WAITING:
            return run.progress or "reading the prompt…", True
        case Phase.THINKING:
            return "thinking…", True
        case Phase.WRITING:
            return f"writing · {count(run.tokens, 'token')}", False
        case _:
            return "storing…", False
