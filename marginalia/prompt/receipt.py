"""The receipt of a part: what was sent to write it, why, with which settings, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from marginalia.prompt.budget import Share
from marginalia.prompt.diff import Diff, diff
from marginalia.prompt.leftout import Missing
from marginalia.prompt.segment import Segment, Sent, segments_frame
from marginalia.prompt.showing import prompt_html
from marginalia.prompt.timeline import TIMELINE, Timeline
from marginalia.values import EPOCH, NOTHING, Limits, Message, Sampling, Usage

if TYPE_CHECKING:
    from marginalia.story.frames import DataFrame

SHARES, MISSING = "shares", "missing"
"""The keys of ``extra`` that keep the budget, and what did not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryNote:
    """What became of one lore entry: its name, whether it was in, and the sentence that says why.

    ``hits`` are the words that called it: the text they stand in (``request``, ``part 12`` ...), from, to.
    """

    entry_id: int
    name: str
    active: bool
    reason: str
    hits: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Kept with every generated part, so that anybody can see later what the model read.

    ``templates`` maps the name of each template text to its SHA-256; ``versions`` names engine, tokenizer and
    library; ``request`` is ``new``, ``regenerate`` or ``swipe``; ``timings`` are seconds.
    """

    run_id: str
    request: str
    created: datetime = EPOCH
    messages: tuple[Message, ...] = ()
    segments: tuple[Segment, ...] = ()
    lore: tuple[EntryNote, ...] = ()
    left_out: int = 0
    templates: Mapping[str, str] = NOTHING
    versions: Mapping[str, str] = NOTHING
    seed: int = 0
    provider: str = ""
    model: str = ""
    protocol: str = ""
    sampling: Sampling = Sampling()
    limits: Limits = Limits()
    prompt_tokens: int = 0
    usage: Usage | None = None
    finish_reason: str = ""
    timings: Mapping[str, float] = NOTHING
    extra: Mapping[str, Any] = NOTHING

    def why_not_entry(self, entry: int) -> str:
        """Why a lore entry was not in; empty when it was neither in nor close to it."""
        return next((note.reason for note in self.lore if note.entry_id == entry), "")

    def why_not_part(self, part: int) -> str:  # noqa: ARG002 - a receipt keeps only what was sent
        """Nothing: which parts were left out is not kept."""
        return ""

    @property
    def shares(self) -> tuple[Share, ...]:
        """The budget it was sent under, from the beginning of the context to its end; empty where none was kept."""
        return tuple(
            Share(kind=kind, label=label, tokens=tokens, detail=detail)
            for kind, label, tokens, detail in self.extra.get(SHARES, ())
        )

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What did not fit then, and how much more room each of it would have needed."""
        return tuple(
            Missing(name=name, tokens=tokens, needs=needs, reason=reason)
            for name, tokens, needs, reason in self.extra.get(MISSING, ())
        )

    @property
    def timeline(self) -> Timeline | None:
        """What happened in the run and when; ``None`` for a part that was written before that was kept."""
        note = self.extra.get(TIMELINE)
        return Timeline.of(cast("Mapping[str, Any]", note)) if isinstance(note, Mapping) else None

    @property
    def frame(self) -> DataFrame:
        """A row per segment of what was sent."""
        return segments_frame(self)

    def diff(self, older: Sent) -> Diff:
        """What is different here from *older*, a prompt or another receipt, with causes."""
        return diff(older, self)

    def _repr_html_(self) -> str:
        return prompt_html(self)
