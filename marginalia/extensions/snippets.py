"""Snippets: a macro of one's own. ``{{snippet::name}}`` prints a text that the writer keeps under that name.

Texts are kept for the user, so that every book can print them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from marginalia.errors import InvalidInput
from marginalia.extensions.api import Extension, Form, Host, Invocation, Panel, Table, View
from marginalia.prompt.segments import Prompt
from marginalia.values import Book


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts by name."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One of them as it is filled in."""

    name: str = field(default="", metadata={"help": "{{snippet::name}} prints it."})
    text: str = field(default="", metadata={"help": "Empty takes the snippet away."})


class Snippets(Extension):
    """The bundled example of a macro."""

    name = "snippets"
    title = "Snippets"
    description = "{{snippet::name}} prints a text of yours in any template."
    starts_on = False

    def install(self, host: Host) -> None:
        """Bring the macro, and a panel to write in and read what it can print."""
        kept = host.user_data(Texts)

        def snippet(call: Invocation) -> str:
            return kept.get().texts.get(call.argument(0).strip(), "")

        def show(_studio: View, _book: Book, _prompt: Prompt | None) -> Table:
            return Table(columns=("Name", "Text"), rows=tuple(sorted(kept.get().texts.items())))

        def write(_studio: View, _book: Book, given: Snippet) -> None:
            if not given.name.strip():
                raise InvalidInput("A snippet needs a name.")
            texts = {**kept.get().texts, given.name.strip(): given.text}
            kept.set(Texts(texts={name: text for name, text in texts.items() if text.strip()}))

        form = Form(read=lambda _studio, _book: Snippet(), write=write)
        host.macro("snippet", snippet, minimum=1)
        host.panel(Panel(title=self.title, show=show, form=form))
