"""All extensions of a studio: how they are found, switched on and off, and what goes wrong in them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

import anyio

from marginalia.errors import InvalidInput, NotFound
from marginalia.extensions.api import API_VERSION, SECONDS, Exporter, Extension, LoreFormat, Table, View
from marginalia.extensions.data import typed
from marginalia.extensions.faults import line_of
from marginalia.extensions.guard import off_loop
from marginalia.extensions.host import GuardedHost, OwnedPanel, Surroundings
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.hooks import Problem
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.segments import Prompt
from marginalia.store.repositories import Books
from marginalia.store.settings import Settings
from marginalia.values import Book

GROUP = "marginalia.extensions"
BUNDLED = (
    "marginalia.extensions.authors_note:AuthorsNote",
    "marginalia.extensions.chapter_marker:ChapterMarker",
    "marginalia.extensions.lore_lint:LoreLint",
    "marginalia.extensions.snippets:Snippets",
)
"""The extensions that come with Marginalia; they are there even where it runs from a folder that is not installed."""
_SWITCHES = "extensions"
_KEPT_PROBLEMS = 50
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
logger = logging.getLogger("marginalia.extensions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An extension that could not be loaded or installed, or rests because it hung; the others work without it."""

    name: str
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An extension as a list shows it; ``problem`` is a sentence when it should work and does not."""

    name: str
    title: str
    description: str
    on: bool
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """What the user has switched, by name."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()


class Extensions:
    """``studio.extensions``: what works, what does not and why, and what it brings."""

    def __init__(self, pipeline: Pipeline, *, books: Books, settings: Settings) -> None:
        self._settings = settings
        self._around = Surroundings(
            pipeline=pipeline, books=books, settings=settings, report=self._noted, rest=self._rests
        )
        self._known: dict[str, Extension] = {}
        self._hosts: dict[str, GuardedHost] = {}
        self._table: MacroTable | None = None
        self.failures: tuple[Failure, ...] = ()
        self.problems: tuple[Problem, ...] = ()

    # What there is.

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the extensions that work."""
        return tuple(self._hosts)

    def all(self) -> tuple[Listed, ...]:
        """Every extension that was found, working or not; those that could not be loaded come last."""
        problems = {failure.name: str(failure.error) for failure in self.failures}
        found = [
            Listed(
                name=name,
                title=getattr(each, "title", "") or name,
                description=getattr(each, "description", ""),
                on=name in self._hosts,
                problem=problems.pop(name, ""),
            )
            for name, each in self._known.items()
        ]
        lost = (
            Listed(name=name, title=name, description="", on=False, problem=text)
            for name, text in problems.items()
        )
        return (*found, *lost)

    @property
    def panels(self) -> tuple[OwnedPanel, ...]:
        """The panels of the extensions that work."""
        return tuple(self._around.panels)

    @property
    def lore_formats(self) -> tuple[LoreFormat, ...]:
        """The kinds of lore files that extensions can read."""
        return tuple(self._around.lore_formats)

    @property
    def exporters(self) -> tuple[Exporter, ...]:
        """The kinds of files that extensions can write stories to."""
        return tuple(self._around.exporters)

    def macros(self) -> MacroTable:
        """The macros that templates may call now; the same table until an extension is switched on or off."""
        if self._table is None:
            self._table = self._around.table()
        return self._table

    async def shown(self, panel: OwnedPanel, studio: View, book: Book, prompt: Prompt | None) -> str | Table:
        """What *panel* shows; a sentence with its owner when it fails or takes too long."""
        try:
            with anyio.fail_after(SECONDS):
                return _shown(await off_loop(panel.panel.show, studio, book, prompt, calls=panel.calls))
        except Exception as error:  # noqa: BLE001 - the isolation border: a broken panel must not break the page
            self._noted(Problem(owner=panel.owner, event=f"panel {panel.panel.title}", error=error))
            late = isinstance(error, TimeoutError)
            what = f"took longer than {SECONDS:g} seconds." if late else f"failed: {error}"
            return f"This panel of the extension *{panel.owner}* {what}"

    def lore_from(self, data: bytes, file: str, *, key: str | None = None) -> tuple[LoreFormat, bytes] | None:
        """The first format that sees itself in *data* (or the one called *key*), and what it makes of it.

        Raises ``FormatError`` when the format says so, or fails.
        """
        for each in self._around.lore_formats:
            if key in {None, each.key} and each.sees(data, file):
                return each, each.read(data, file)
        return None

    # Finding and switching.

    def install(self, extensions: Iterable[Extension]) -> None:
        """Take in *extensions* and switch them on, unless the user switched them off."""
        off = self._switches().off
        for each in extensions:
            if self._taken_in(each, type(each).__name__) and each.name not in off:
                self._start(each.name)

    def discover(self) -> None:
        """Take in the bundled ones and what other packages offer under ``marginalia.extensions``."""
        others = (point for point in entry_points(group=GROUP) if point.value not in BUNDLED)
        bundled = (EntryPoint(value.rpartition(":")[2], value, GROUP) for value in BUNDLED)
        for point in (*bundled, *others):
            try:
                extension = _loaded(point)
            except Exception as error:  # noqa: BLE001 - the isolation border: one broken extension stops no other
                self._fail(point.name, error)
                continue
            if self._taken_in(extension, point.name) and self._wanted(extension):
                self._start(extension.name)

    def enable(self, name: str) -> bool:
        """Switch an extension on, now and from now on; says whether it works. Raises ``NotFound``."""
        self._check(name)
        if name not in self._hosts:
            self.failures = tuple(each for each in self.failures if each.name != name)
            self.problems = tuple(each for each in self.problems if each.owner != name)
            self._start(name)
        self._switch(name, on=True)  # last, because windows look again when a setting changes
        return name in self._hosts

    def disable(self, name: str) -> None:
        """Switch an extension off; nothing of it acts any more, what it kept stays. Raises ``NotFound``."""
        self._check(name)
        self._stop(name)
        self._switch(name, on=False)

    def close(self) -> None:
        """Take all of them off, the latest first."""
        for name in reversed(self.names):
            self._stop(name)

    def _wanted(self, extension: Extension) -> bool:
        switches = self._switches()
        on = bool(getattr(extension, "starts_on", True)) or extension.name in switches.on
        return on and extension.name not in switches.off

    def _taken_in(self, extension: Extension, called: str) -> bool:
        """Whether an extension can be listed; *called* is what it is called where it was found."""
        name: object = getattr(extension, "name", None)
        api: object = getattr(extension, "api", API_VERSION)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            error = InvalidInput(
                f"{name!r} cannot be the name of an extension. Use small letters, digits and dashes."
            )
        elif name in self._known:
            error = InvalidInput(f"Two extensions are called {name!r}; the second one is left out.")
        elif not isinstance(api, int) or api > API_VERSION:
            error = InvalidInput(
                f"The extension {name!r} needs version {api} of the extension surface, and this Marginalia has "
                f"{API_VERSION}. Update Marginalia."
            )
        elif not callable(getattr(extension, "install", None)):
            error = InvalidInput(f"The extension {name!r} has no install(host), so it can do nothing.")
        else:
            self._known[name] = extension
            return True
        self._fail(name if isinstance(name, str) and name else called, error)
        return False

    def _start(self, name: str) -> None:
        try:
            self._hosts[name] = GuardedHost(self._known[name], self._around)
        except Exception as error:  # noqa: BLE001 - the isolation border: one broken extension stops no other
            self._fail(name, error)
        self._table = None

    def _stop(self, name: str) -> None:
        host = self._hosts.pop(name, None)
        if host is not None:
            host.close()
            self._table = None

    def _switches(self) -> Switches:
        return typed(Switches, self._settings.get(_SWITCHES))

    def _check(self, name: str) -> None:
        if name not in self._known:
            raise NotFound(f"There is no extension {name!r}. There are: {', '.join(self._known)}.")

    def _switch(self, name: str, *, on: bool) -> None:
        known = self._switches()
        sides = {
            True: [each for each in known.on if each != name],
            False: [each for each in known.off if each != name],
        }
        sides[on].append(name)
        self._settings.set(_SWITCHES, {"on": sides[True], "off": sides[False]})

    def _rests(self, name: str) -> None:
        error = TimeoutError(
            f"The extension {name!r} took too long three times, so it rests. Switch it off and on to try again."
        )
        self._fail(name, error)

    def _fail(self, name: str, error: Exception) -> None:
        self.failures = (*self.failures, Failure(name=name, error=error))
        logger.warning("the extension %s does not work: %s", name, error)

    def _noted(self, problem: Problem) -> None:
        """Keep *problem*; the log has each kind once, for a fault in a listener comes back with every keystroke."""
        new = _kind(problem) not in map(_kind, self.problems)
        self.problems = (*self.problems, problem)[-_KEPT_PROBLEMS:]
        if new:
            name, line = type(problem.error).__name__, line_of(problem.error)
            logger.warning(
                "%s failed in %s: %s%s", problem.owner, problem.event, name, line and f" in {line}"
            )
            logger.debug("how it came to this:", exc_info=problem.error)


def _kind(problem: Problem) -> tuple[object, ...]:
    return problem.owner, problem.event, type(problem.error), line_of(problem.error)


def _loaded(point: EntryPoint) -> Extension:
    module: Any = import_module(point.module)
    return cast("Extension", getattr(module, point.attr)())


def _shown(found: object) -> str | Table:
    if not isinstance(found, str | Table):
        raise TypeError(f"it gave {type(found).__name__}; a panel gives a text or a Table")
    return found
