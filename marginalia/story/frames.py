"""Tables for people who calculate: everything that shows itself in a notebook also gives a pandas ``DataFrame``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # pandas' own types are none for type checkers without its stubs
    from pandas import DataFrame as DataFrame  # type: ignore[import-untyped] # noqa: PLC0414 # pyright: ignore[reportMissingTypeStubs]


def frame(rows: Iterable[Sequence[object]], *columns: str) -> DataFrame:
    """A table with one row for each of *rows*, and the *columns* also when there is none."""
    pandas: Any = import_module("pandas")  # half a second: only those who ask for a table wait for it
    made: DataFrame = pandas.DataFrame.from_records(list(rows), columns=list(columns))
    return made
