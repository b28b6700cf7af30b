"""Writes down what happens in a run and when, at a cost that streaming does not notice."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from marginalia.prompt.timeline import Lane, Span, Timeline

_FIRST_GAP = 0.1
_MOST_BEATS = 128
_MOST_SPANS = 200
_SAME_SPAN = ""


@dataclass(slots=True)
class _Calls:
    """What one owner's listeners to one kind of event did, however often they were called."""

    start: float
    end: float
    busy: float = 0.0
    times: int = 0
    changed: dict[str, None] = field(default_factory=dict[str, None])


class Recorder:
    """Belongs to one run; every time is seconds since the run began.

    Chunks cost one look at the clock: what is called for each of them is added up, and of the growing text a moment is
    kept ten times a second at first, then ever more rarely, 128 at most.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._spans: list[Span] = []
        self._open: dict[str, float] = {}
        self._doing: tuple[str, float] = (_SAME_SPAN, 0.0)
        self._calls: dict[tuple[str, str], _Calls] = {}
        self._beats: list[tuple[float, int]] = []
        self._gap = _FIRST_GAP
        self._next = 0.0
        self._latest: tuple[float, int] = (0.0, 0)
        self._ended: tuple[str, float] | None = None

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._began

    @property
    def changed(self) -> frozenset[str]:
        """The fields of events that listeners have answered differently so far."""
        return frozenset(name for calls in self._calls.values() for name in calls.changed)

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """What happens inside is the step *name*."""
        self._open[name] = began = self.now
        try:
            yield
        finally:
            del self._open[name]
            self._add(Span(lane=Lane.STEP, name=name, start=began, end=self.now))

    @contextmanager
    def waiting(self, name: str, detail: str) -> Generator[None]:
        """What happens inside is waiting for somebody, such as for the answer to a question."""
        began = self.now
        try:
            yield
        finally:
            self._add(Span(lane=Lane.NOTICE, name=name, start=began, end=self.now, detail=detail))

    def listened(self, owner: str, before: object, after: object, began: float) -> None:
        """A listener of *owner* was offered *before* at *began*, and the run goes on with *after*."""
        now = self.now
        key = (owner, type(before).__name__)
        calls = self._calls.get(key)
        if calls is None:
            calls = self._calls[key] = _Calls(began, now)
        calls.end = now
        calls.busy += now - began
        calls.times += 1
        if after is not before:
            calls.changed.update(dict.fromkeys(_changed(before, after)))

    def doing(self, name: str) -> None:
        """From now on the model does *name*; an empty one ends what it did."""
        known, since = self._doing
        if name == known:
            return
        now = self.now
        if known:
            self._add(Span(lane=Lane.MODEL, name=known, start=since, end=now))
        self._doing = (name, now)

    def beat(self, tokens: int) -> None:
        """So many tokens are written now."""
        now = self._clock() - self._began
        self._latest = (now, tokens)
        if now < self._next:
            return
        self._beats.append(self._latest)
        if len(self._beats) >= _MOST_BEATS:
            self._beats = self._beats[::2]
            self._gap *= 2
        self._next = now + self._gap

    def notice(self, name: str, detail: str, owner: str = "") -> None:
        """Something was said at this moment."""
        now = self.now
        self._add(Span(lane=Lane.NOTICE, name=name, start=now, end=now, owner=owner, detail=detail))

    def end(self, how: str) -> None:
        """The run is over."""
        self.doing(_SAME_SPAN)
        self._ended = (how, self.now)

    def timeline(self, first_token: float | None, *, ended: str = "") -> Timeline:
        """Everything up to now; what still goes on ends now. *ended* says how a run ended that is being stored."""
        now = self.now if self._ended is None else self._ended[1]
        spans = [*self._spans, *self._going_on(now), *(_listening(*each) for each in self._calls.items())]
        beats = self._beats if self._latest in (*self._beats[-1:], (0.0, 0)) else [*self._beats, self._latest]
        return Timeline(
            spans=tuple(sorted(spans, key=lambda each: (each.start, -each.end))),
            seconds=now,
            first_token=first_token,
            beats=tuple(beats),
            ended=ended or ("" if self._ended is None else self._ended[0]),
        )

    def _going_on(self, now: float) -> Generator[Span]:
        for name, since in self._open.items():
            yield Span(lane=Lane.STEP, name=name, start=since, end=now)
        name, since = self._doing
        if name:
            yield Span(lane=Lane.MODEL, name=name, start=since, end=now)

    def _add(self, span: Span) -> None:
        if len(self._spans) < _MOST_SPANS:
            self._spans.append(span)


def _listening(key: tuple[str, str], calls: _Calls) -> Span:
    owner, event = key
    return Span(
        lane=Lane.LISTENER, name=event, owner=owner, start=calls.start, end=calls.end, busy=calls.busy,
        times=calls.times, changed=tuple(calls.changed),
    )  # fmt: skip


def _changed(before: Any, after: Any) -> Generator[str]:  # noqa: ANN401 - two events of one kind
    for each in fields(before):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if old is not new and old != new:
            yield each.name
