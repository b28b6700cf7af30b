"""Collecting garbage in short moments, and all of it only when nobody types or waits for a text.

A full collection looks at everything that every open page is made of: with eight people who write, 0.15 seconds in
which no text arrives for anybody (``benchmarks/people.py`` names it). The interpreter would begin one whenever it
likes, and Panel five seconds after a session ended. Here, what a collection took long to look through is set aside, so
that the next ones see only what is new; a pause is for looking at everything again.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import panel as pn

_PANELS = "gc.collect"
_NEVER = 1_000_000
_ENOUGH = 10  # after as many smaller collections the interpreter itself would begin a full one
_LONG = 0.02  # seconds


class Garbage(Protocol):
    """A collector of garbage, as far as tidying needs one."""

    def waiting(self) -> int:
        """How much there is to look at: the smaller collections since the last full one."""
        ...

    def collect(self) -> float:
        """Look at everything that is not set aside; the seconds that took."""
        ...

    def set_aside(self) -> None:
        """Leave out of later collections what there is now."""
        ...

    def take_back(self) -> None:
        """Look at what was set aside as well from now on."""
        ...


class Interpreters:
    """The :class:`Garbage` of this process."""

    def waiting(self) -> int:
        """The collections of the middle generation since the last full one."""
        return gc.get_count()[2]

    def collect(self) -> float:
        """Collect all generations; gives the processor time of it."""
        began = time.thread_time()
        gc.collect()
        return time.thread_time() - began

    def set_aside(self) -> None:
        """Move what there is to the permanent generation."""
        gc.freeze()

    def take_back(self) -> None:
        """Move the permanent generation back to the oldest one."""
        gc.unfreeze()


def set_the_libraries_aside() -> None:
    """Leave what was loaded until now, 230,000 objects of libraries, out of later collections."""
    gc.collect()
    gc.freeze()


def leave_full_collections_to_us() -> None:
    """Have the interpreter collect young objects only, as often as before."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)


async def tidy(
    busy: Callable[[], bool],
    *,
    every: float = 0.5,
    calm: int = 20,
    at_most: int = 1800,
    garbage: Garbage | None = None,
) -> None:
    """Collect as soon as there is enough to look at, and look at everything in a pause; until cancelled.

    A look every so many seconds; *calm* ones in a row in which nobody was *busy* are a pause. Where somebody always is,
    everything is looked at all the same after *at_most* looks: by default a quarter of an hour.
    """
    garbage = garbage or Interpreters()
    looks = rested = collected = 0
    while True:
        await asyncio.sleep(every)
        looks, rested = looks + 1, 0 if busy() else rested + 1
        with suppress(KeyError):  # where Panel has nothing in mind
            pn.state.cancel_task(_PANELS)
        enough = garbage.waiting() >= _ENOUGH
        if (collected or enough) and (rested >= calm or looks >= at_most):
            garbage.take_back()
            garbage.collect()
            garbage.set_aside()
            looks = rested = collected = 0
        elif enough:
            collected += 1
            if garbage.collect() > _LONG:
                garbage.set_aside()
