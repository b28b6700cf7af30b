"""Lore lint: a panel that says which entries probably do something else than was meant."""

from __future__ import annotations

from marginalia.errors import NotFound
from marginalia.extensions.api import Extension, Host, Panel, Table, View
from marginalia.extensions.lint import Finding, Setting, lint
from marginalia.extensions.lore_tests import LoreReport
from marginalia.lore.book import FilledLorebook
from marginalia.lore.collecting import collect, in_order
from marginalia.pipeline.steps.lorebook import lore_budget
from marginalia.prompt.segments import Prompt
from marginalia.values import Book, BookId, LorebookId

PARTS = 100
"""The last parts of the story in which a key counts as common."""


class LoreLint(Extension):
    """The bundled example that only looks: two panels, no listener."""

    name = "lore-lint"
    title = "Lore lint"
    description = (
        "Points out keys that are too short or common and entries that are never in; makes lore tests."
    )

    def install(self, host: Host) -> None:
        """Show the findings, and the lore tests."""
        host.panel(Panel(title=self.title, show=show))
        host.panel(Panel(title="Lore tests", show=TestsPanel()))


class TestsPanel:
    """The lore tests of a book as a table; made again when the book or its lore has changed, not at every keystroke."""

    def __init__(self) -> None:
        self._shown: tuple[tuple[BookId, int], str | Table] | None = None

    async def __call__(self, studio: View, book: Book, _prompt: Prompt | None) -> str | Table:
        """The results as they are now."""
        key = (book.id, studio.version(book))
        if self._shown is None or self._shown[0] != key:
            self._shown = (key, results(await studio.lore_tests.run(book)))
        return self._shown[1]


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


def findings(studio: View, book: Book) -> tuple[Finding, ...]:
    """What there is to say about the lore of *book*."""
    if book.lorebook_id is None:
        return ()

    def shelf(lorebook: LorebookId) -> FilledLorebook | None:
        try:
            return studio.lorebooks.filled(lorebook)
        except NotFound:
            return None

    setting = Setting(
        count=studio.tokenizer.count,
        tags=frozenset(book.tags),
        story=[part.text for part in studio.story.branch(book)[-PARTS:]],
        budget=lore_budget(book, studio.limits(book)),
    )
    return lint(in_order(collect(book.lorebook_id, shelf)), setting)


def show(studio: View, book: Book, _prompt: Prompt | None) -> str | Table:
    """The findings as a table, or that there are none."""
    found = findings(studio, book)
    if not found:
        return "Nothing to point out."
    rows = tuple((each.entry.name, each.rule, each.text, each.lorebook) for each in found)
    return Table(
        columns=("Entry", "Rule", "What", "Lorebook"), rows=rows, note=f"{len(found)} things to look at."
    )
