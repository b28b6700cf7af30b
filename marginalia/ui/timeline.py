"""The timeline of a run as the browser draws it: a row per span, under what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from marginalia.prompt.showing import SPAN_TINTS
from marginalia.prompt.timeline import Lane, Span, Timeline
from marginalia.ui.words import count, seconds

_GROUPS = {Lane.STEP: "Steps", Lane.LISTENER: "Listeners", Lane.MODEL: "The model", Lane.NOTICE: "Notes"}
_STEPS = {
    "PREPARE_GENERATION": "Model and protocol",
    "PREPARE_CONSTANTS": "Templates, request",
    "PROCESS_LOREBOOK": "Lore",
    "PREPARE_CONTENT": "Summaries, story",
    "PREPARE_PAYLOAD": "Messages",
    "GENERATE_NEW_MESSAGE": "Making the part",
    "INFERENCE": "Asking the model",
    "CLEANUP": "Storing",
}
_MOST_POINTS = 60
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def timeline_row(timeline: Timeline) -> dict[str, Any]:
    """Everything that the picture needs."""
    by_lane: dict[Lane, list[Span]] = {}
    for span in timeline:
        by_lane.setdefault(span.lane, []).append(span)
    return {
        "seconds": timeline.seconds,
        "sent": timeline.sent,
        "whole_text": short(timeline.seconds),
        "sent_text": short(timeline.sent),
        "groups": [
            {"name": name, "colour": SPAN_TINTS[lane.value], "rows": [_row(span) for span in by_lane[lane]]}
            for lane, name in _GROUPS.items()
            if lane in by_lane
        ],
        "first": timeline.first_token,
        "rates": list(rates(timeline.beats)),
    }


def short(number: float) -> str:
    """``0.4 ms``, ``12 ms``, ``1.3 s``, ``2 min 5 s``."""
    if number >= 1:
        return seconds(number)
    milliseconds = number * 1000
    return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"  # noqa: PLR2004 - as in words.seconds


def rates(beats: Sequence[tuple[float, int]]) -> Iterator[tuple[float, float]]:
    """The tokens per second between the moments of a run, a few dozen at most; each with when it was reached."""
    step = max(1, len(beats) // _MOST_POINTS)
    kept = [*beats[::step], *beats[-1:]]
    for (began, before), (at, after) in pairwise(kept):
        if at > began:
            yield round(at, 3), round((after - before) / (at - began), 2)


def _row(span: Span) -> dict[str, Any]:
    listener = span.lane is Lane.LISTENER
    took = span.busy if listener else span.end - span.start
    return {
        "name": _WORDS.sub(" ", span.name).lower() if listener else _STEPS.get(span.name, span.name),
        "owner": span.owner,
        "title": span.name,
        "start": span.start,
        "end": span.end,
        "text": "" if span.lane is Lane.NOTICE and not took else short(took),
        "about": ". ".join(_about(span)),
    }


def _about(span: Span) -> Iterator[str]:
    if span.times > 1:
        yield f"called {count(span.times, 'time')}"
    if span.changed:
        yield f"changed {', '.join(each.replace('_', ' ') for each in span.changed)}"
    elif span.lane is Lane.LISTENER:
        yield "changed nothing"
    if span.detail:
        yield span.detail
