"""Faults of a case: errors in a named place of the run, put there through the ports that steps use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.conformance.world import NotBuiltYetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import marginalia as mg
    from tests.conformance.cases import Json, Value

_PLACES = {
    "delete_part": ("withdraw",),
    "restore_part": ("withdraw",),
    "create_part": ("open_part",),
    "save_part": ("close_part",),
    "store_part": ("close_part",),
    "checkpoint": ("checkpoint",),
    "remove_summary": ("drop_summaries",),
}


class FaultyArchive:
    """The real archive, except that some of its calls fail."""

    def __init__(self, archive: Value, faults: Sequence[Json]) -> None:
        self._archive = archive
        self._faults = {method: _Fault(each) for each in faults for method in _methods(each)}

    def __getattr__(self, name: str) -> Value:
        method = getattr(self._archive, name)
        return self._faults[name].before(method) if name in self._faults else method


class _Fault:
    def __init__(self, spec: Json) -> None:
        times = spec.get("times", 1)
        self._left = float("inf") if times == "always" else times
        self._text = spec["raise"]

    def before(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def failing(*args: Value, **kwargs: Value) -> Value:
            if self._left > 0:
                self._left -= 1
                raise OSError(self._text)
            return await method(*args, **kwargs)

        return failing


def _methods(spec: Json) -> tuple[str, ...]:
    place = spec["at"].rpartition(".")[2]
    if place not in _PLACES:
        message = f"no seam for a fault at {spec['at']}"
        raise NotBuiltYetError(message)
    return _PLACES[place]


def break_archive(faults: Sequence[Json]) -> Callable[[mg.Run, mg.events.Event], None]:
    """A listener for the first event of a run that puts the faults into its archive."""

    def listener(run: mg.Run, _: mg.events.Event) -> None:
        archive: Any = FaultyArchive(run.ports.archive, faults)
        run.ports = replace(run.ports, archive=archive)

    return listener
