"""What lore is looked for in: the request, the story's end, memory; and everything else that decides about one turn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.lore.book import LoreSettings
from marginalia.lore.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_NO_TIMING = Timing()
_NO_SETTINGS = LoreSettings()


def _no_tokens(_text: str) -> int:
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One turn, as lore sees it. Everything that decides comes in here, so that the same scan gives the same verdicts.

    ``request`` is the rendered user prompt before lore is put in front of it, ``tags`` are the book's. ``story`` holds
    the texts of the branch's last parts, newest first; it is read from the front and only as far as needed. ``memory``
    holds the texts of summaries. ``parts`` counts the parts on the branch, ``timing`` is the branch's timed state,
    ``seed`` the turn's. ``count`` counts tokens, scans with an equal ``counter`` count alike; ``budget`` is what all
    lore may have, in tokens (0: no limit).
    ``settings`` hold where a lorebook has none of its own. ``horizon`` is how many characters of the story are read to
    explain near misses. ``patience`` is how many seconds of ``stopwatch`` all regular expressions together have that
    cannot be searched in linear time.
    """

    request: str = ""
    tags: Sequence[str] = ()
    story: Sequence[str] = ()
    memory: Sequence[str] = ()
    parts: int = 0
    timing: Timing = _NO_TIMING
    seed: int = 0
    count: Callable[[str], int] = _no_tokens
    counter: object = None
    budget: int = 0
    settings: LoreSettings = _NO_SETTINGS
    horizon: int = 20_000
    patience: float = 0.05
    stopwatch: Callable[[], float] = time.perf_counter
