"""What only a garbage collection frees: objects that hold each other in a circle, and all that hangs on them."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from types import FunctionType


@contextmanager
def left_behind() -> Generator[set[str]]:
    """Without collections in the block; after it the set names what of ours one would have freed, and nothing else.

    What is still in use at the end of the block is no garbage, so a test need not wait for the last task to end.
    """
    names = set[str]()
    gc.collect()
    gc.disable()
    try:
        yield names
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        names.update(filter(None, map(_name, gc.garbage)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _name(thing: object) -> str:
    """The name of a function, or an instance of a class, of ours; else nothing."""
    kind = thing if isinstance(thing, FunctionType) else type(thing)
    return kind.__qualname__ if kind.__module__.startswith("marginalia.") else ""
