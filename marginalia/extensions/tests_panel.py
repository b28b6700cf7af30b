"""The panel of the lore tests: what holds, what does not, and a form that adds and removes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from marginalia.errors import InvalidInput, NotFound
from marginalia.extensions.api import Form, Panel, Table, View
from marginalia.extensions.lore_tests import LoreReport, LoreTest
from marginalia.lore.book import FilledLorebook
from marginalia.lore.collecting import collect
from marginalia.prompt.segments import Prompt
from marginalia.values import Book, BookId, LorebookId


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A lore test as it is filled in."""

    entry: str = field(default="", metadata={"help": "The name of a lore entry."})
    part: int = field(
        default=1, metadata={"help": "Counted from 1; the one after the last is the next part."}
    )
    must_be: Literal["in", "out", "not tested"] = field(
        default="in", metadata={"help": "“not tested” takes the test away."}
    )


def tests_panel() -> Panel:
    """A panel of its own; it remembers the last results."""
    return Panel(title="Lore tests", show=_Shown(), form=Form(read=_read, write=_write))


class _Shown:
    """The results as a table; made again when the book or its lore has changed, not at every keystroke."""

    def __init__(self) -> None:
        self._last: tuple[tuple[BookId, int], str | Table] | None = None

    async def __call__(self, studio: View, book: Book, _prompt: Prompt | None) -> str | Table:
        key = (book.id, studio.version(book))
        if self._last is None or self._last[0] != key:
            self._last = (key, results(await studio.lore_tests.run(book)))
        return self._last[1]


def results(report: LoreReport) -> str | Table:
    """A report as a table, what fails first."""
    if not report.results:
        return "No lore tests are kept with this book's lore."
    kept = [each for each in report.results if each.passed]
    rows = tuple(
        (each.test.part, each.test.entry, "in" if each.test.inside else "out", each.passed, each.reason)
        for each in (*report.failures, *kept)
    )
    note = f"{len(kept)} of {len(report.results)} hold."
    return Table(columns=("Part", "Entry", "Must be", "Holds", "Reason"), rows=rows, note=note)


def collected(studio: View, book: Book) -> tuple[FilledLorebook, ...]:
    """The lorebooks of *book*, those below its own included."""

    def shelf(lorebook: LorebookId) -> FilledLorebook | None:
        try:
            return studio.lorebooks.filled(lorebook)
        except NotFound:
            return None

    return () if book.lorebook_id is None else tuple(collect(book.lorebook_id, shelf))


def _read(studio: View, book: Book) -> Wanted:
    return Wanted(part=len(studio.story.branch(book)) + 1)


def _write(studio: View, book: Book, wanted: Wanted) -> None:
    """Keep the test with the lorebook that has the entry, or take it away from whichever has the test."""
    lorebooks = collected(studio, book)
    name, gone = wanted.entry.strip(), wanted.must_be == "not tested"
    home = next((each for each in lorebooks if name in _names(each)), None)
    if home is None and not gone:
        raise InvalidInput(
            f"There is no entry {name!r} in the lore of this book. Write its name as it stands in the lorebook."
        )
    found = False
    for each in lorebooks:
        kept = studio.lore_tests.of(each.lorebook.id)
        others = tuple(test for test in kept if (test.entry, test.part) != (name, wanted.part))
        added = (LoreTest(entry=name, part=wanted.part, inside=wanted.must_be == "in"),)
        now = (*others, *added) if each is home and not gone else others
        if now != kept:
            studio.lore_tests.store(each.lorebook.id, now)
            found = True
    if gone and not found:
        raise InvalidInput(f"There is no test of {name!r} at part {wanted.part}.")


def _names(lorebook: FilledLorebook) -> Iterator[str]:
    for each in lorebook.entries:
        yield from (each.name, each.uid)
