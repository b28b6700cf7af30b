"""Lore lint: a panel that says which entries probably do something else than was meant."""

from __future__ import annotations

from marginalia.extensions.api import Extension, Host, Panel, Table, View
from marginalia.extensions.lint import Finding, Setting, lint
from marginalia.extensions.tests_panel import collected, tests_panel
from marginalia.lore.collecting import in_order
from marginalia.pipeline.steps.lorebook import lore_budget
from marginalia.prompt.segments import Prompt
from marginalia.values import Book

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
        host.panel(tests_panel())


def findings(studio: View, book: Book) -> tuple[Finding, ...]:
    """What there is to say about the lore of *book*."""
    if book.lorebook_id is None:
        return ()
    setting = Setting(
        count=studio.tokenizer.count,
        tags=frozenset(book.tags),
        story=[part.text for part in studio.story.branch(book)[-PARTS:]],
        budget=lore_budget(book, studio.limits(book)),
    )
    return lint(in_order(collected(studio, book)), setting)


def show(studio: View, book: Book, _prompt: Prompt | None) -> str | Table:
    """The findings as a table, or that there are none."""
    found = findings(studio, book)
    if not found:
        return "Nothing to point out."
    rows = tuple((each.entry.name, each.rule, each.text, each.lorebook) for each in found)
    note = f"{len(found)} things to look at." if len(found) > 1 else "One thing to look at."
    return Table(columns=("Entry", "Rule", "What", "Lorebook"), rows=rows, note=note)
