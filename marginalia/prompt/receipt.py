"""The receipt of a part: what was sent to write it, why, with which settings, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from marginalia.prompt.segments import Segment
from marginalia.values import EPOCH, NOTHING, Limits, Message, Sampling, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryNote:
    """What became of one lore entry: its name, whether it was in, and the sentence that says why."""

    entry_id: int
    name: str
    active: bool
    reason: str


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
