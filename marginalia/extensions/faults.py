"""What went wrong in an extension, said for the people who use it and for the one who wrote it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import PurePath
from types import TracebackType

from marginalia.pipeline.hooks import Problem

_NOT_ITS_OWN = sys.stdlib_module_names | {"marginalia", "anyio", "msgspec"}


def sentence_of(problem: Problem) -> str:
    """Where *problem* came up, what it says, and the line of the extension that it came from."""
    error = problem.error
    what = str(error) or ("it took too long" if isinstance(error, TimeoutError) else "no reason was given")
    line = line_of(error)
    kind = type(error).__name__
    return f"Failed in {problem.event}: {what} ({f'{kind} in {line}' if line else kind})"


def line_of(error: BaseException) -> str:
    """The last line on the way of *error* that is neither Marginalia's nor Python's own; empty when there is none."""
    return next(reversed([*_lines(error.__traceback__)]), "")


def _lines(way: TracebackType | None) -> Iterator[str]:
    while way is not None:
        module = str(way.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _NOT_ITS_OWN:
            file = PurePath(way.tb_frame.f_code.co_filename)
            yield f"{'/'.join(file.parts[-2:])}, line {way.tb_lineno}"
        way = way.tb_next
