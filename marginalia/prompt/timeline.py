"""What happened in a run, and when: steps, listeners, what the model did, and what was said about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast, overload

from marginalia.prompt.showing import timeline_html
from marginalia.story.frames import frame

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame

TIMELINE = "timeline"
"""The key of a receipt's ``extra`` that keeps it."""
_DIGITS = 5


class Lane(StrEnum):
    """What a span is about: a step, a listener, what the model did, or something that was said at one moment."""

    STEP = "step"
    LISTENER = "listener"
    MODEL = "model"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a run. ``start`` and ``end`` are seconds since the run began.

    ``owner`` is whose listener it is. A listener that was called ``times`` times on one event is one span; ``busy`` is
    how many seconds it took in all. ``changed`` names the fields of the event that it answered differently. ``detail``
    is a sentence for people.
    """

    lane: Lane
    name: str
    start: float
    end: float
    owner: str = ""
    busy: float = 0.0
    times: int = 1
    changed: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Sequence[Span]):
    """The spans of a run in the order in which they began.

    ``seconds`` is how long it went on, ``first_token`` when the first one came (``None``: none did). ``beats`` are
    moments with the tokens that were written until then; ``ended`` says how it ended, and is empty while it goes on.
    """

    spans: tuple[Span, ...] = ()
    seconds: float = 0.0
    first_token: float | None = None
    beats: tuple[tuple[float, int], ...] = ()
    ended: str = ""

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, index: int | slice) -> Span | tuple[Span, ...]:
        return self.spans[index]

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    @property
    def tokens(self) -> int:
        """How many tokens were written, as they were counted while they came."""
        return self.beats[-1][1] if self.beats else 0

    @property
    def sent(self) -> float:
        """When the prompt was complete and on its way; the whole time of a run that did not come so far."""
        return next((each.start for each in self.spans if each.lane is Lane.MODEL), self.seconds)

    @property
    def rate(self) -> float:
        """Tokens per second from the first one to the last; 0 for too few of them."""
        if len(self.beats) < 2:  # noqa: PLR2004 - one moment has no length
            return 0.0
        (began, _), (at, tokens) = self.beats[0], self.beats[-1]
        return tokens / (at - began) if at > began else 0.0

    @property
    def frame(self) -> DataFrame:
        """The spans as a table; times are seconds."""
        columns = ("lane", "name", "owner", "start", "end", "busy", "times", "changed", "detail")
        rows = (
            (each.lane.value, each.name, each.owner, each.start, each.end, each.busy, each.times,
             ", ".join(each.changed), each.detail)
            for each in self.spans
        )  # fmt: skip
        return frame(rows, *columns)

    @property
    def note(self) -> Mapping[str, Any]:
        """What a receipt keeps of it."""
        return {
            "spans": [[_short(value) for value in astuple(each)] for each in self.spans],
            "seconds": _short(self.seconds),
            "first_token": _short(self.first_token),
            "beats": [[_short(at), tokens] for at, tokens in self.beats],
            "ended": self.ended,
        }

    @classmethod
    def of(cls, note: Mapping[str, Any]) -> Timeline:
        """A timeline from what a receipt kept."""
        first = note.get("first_token")
        return cls(
            spans=tuple(_span(row) for row in note.get("spans", ())),
            seconds=float(note.get("seconds", 0.0)),
            first_token=None if first is None else float(first),
            beats=tuple((float(at), int(tokens)) for at, tokens in note.get("beats", ())),
            ended=str(note.get("ended", "")),
        )

    def _repr_html_(self) -> str:
        return timeline_html(self)


def _short(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DIGITS)
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _span(row: Sequence[Any]) -> Span:
    lane, name, start, end, owner, busy, times, changed, detail = row
    return Span(
        lane=Lane(lane), name=name, start=float(start), end=float(end), owner=owner, busy=float(busy),
        times=int(times), changed=tuple(changed), detail=detail,
    )  # fmt: skip
