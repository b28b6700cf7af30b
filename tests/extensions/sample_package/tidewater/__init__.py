"""Tides: the model is told how high the water stands; ``{{tide}}`` prints it, and a panel shows it."""

from __future__ import annotations

from dataclasses import dataclass

from marginalia.extensions.api import Extension, Host, Insert, Panel, Table, View
from marginalia.prompt.segments import Prompt
from marginalia.values import Book

WORDS = ("low", "rising", "high", "falling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tides:
    """How many parts a tide lasts in a book."""

    parts: int = 1


class Tidewater(Extension):
    """The extension that the package offers."""

    name = "tidewater"
    title = "Tidewater"
    description = "Tells the model how high the water stands."

    def install(self, host: Host) -> None:
        """One message, one macro, one panel, and one setting per book."""
        tides = host.book_data(Tides)

        def tide(parts: int, book: Book | None) -> str:
            return WORDS[parts // max(1, tides.of(book).parts) % len(WORDS)]

        def show(studio: View, book: Book, prompt: Prompt | None) -> Table:
            number = len(prompt.history) if prompt is not None else 0
            return Table(columns=("Parts", "Tide"), rows=((number, tide(number, book)),))

        host.insert(
            lambda run, event: Insert(
                text=f"The tide is {tide(len(run.context.facts.story) if run.context else 0, event.book)}.",
                owner="tidewater",
                depth=1,
                reason="the tide of this part",
            )
        )
        host.macro("tide", lambda call: tide(len(call.context.facts.story), call.context.facts.book))
        host.panel(Panel(title="Tide", show=show, form=tides))
