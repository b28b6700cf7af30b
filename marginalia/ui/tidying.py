"""Full collections of garbage at moments in which nobody waits for a text.

The interpreter begins one whenever it likes, and Panel five seconds after a session ended; every page waits meanwhile:
with eight people who write, over a tenth of a second (``benchmarks/people.py`` names it).
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress

import panel as pn

_PANELS = "gc.collect"
_NEVER = 1_000_000
_ENOUGH = (
    10  # smaller collections since the last full one: after as many the interpreter itself would begin one
)


def leave_full_collections_to_us() -> None:
    """Have the interpreter collect young objects only, as often as before."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)


async def tidy(
    busy: Callable[[], bool],
    *,
    every: float = 2.0,
    calm: int = 5,
    at_most: int = 450,
    collected: Callable[[], int] = lambda: gc.get_count()[2],
    collect: Callable[[], object] = gc.collect,
) -> None:
    """Collect when there is enough to look at and nobody was *busy* for some looks; until cancelled.

    A look every so many seconds; *calm* ones in a row are a pause. Where somebody always is busy, it is done all the
    same after *at_most* looks: by default a quarter of an hour.
    """
    looks = rested = 0
    while True:
        await asyncio.sleep(every)
        looks, rested = looks + 1, 0 if busy() else rested + 1
        with suppress(KeyError):  # where Panel has nothing in mind
            pn.state.cancel_task(_PANELS)
        if collected() >= _ENOUGH and (rested >= calm or looks >= at_most):
            collect()
            looks = rested = 0
