"""Snippets: a macro of one's own. ``{{snippet::name}}`` prints a text that the writer keeps under that name.

Texts are kept for the user, so that every book can print them::

    studio.extensions.enable("snippets")
    studio.settings.set("extension.snippets", {"texts": {"winter": "It has not been above freezing since October."}})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from marginalia.extensions.api import Extension, Host, Panel, Table, View
from marginalia.prompt.macros.table import Invocation
from marginalia.prompt.segments import Prompt
from marginalia.values import Book


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts by name."""

    texts: Mapping[str, str] = field(default_factory=dict[str, str])


class Snippets(Extension):
    """The bundled example of a macro."""

    name = "snippets"
    title = "Snippets"
    description = "{{snippet::name}} prints a text of yours in any template."
    starts_on = False

    def install(self, host: Host) -> None:
        """Bring the macro, and a panel that lists what it can print."""
        kept = host.user_data(Texts)

        def snippet(call: Invocation) -> str:
            return kept.get().texts.get(call.argument(0).strip(), "")

        def show(_studio: View, _book: Book, _prompt: Prompt | None) -> Table:
            return Table(columns=("Name", "Text"), rows=tuple(sorted(kept.get().texts.items())))

        host.macro("snippet", snippet, minimum=1)
        host.panel(Panel(title=self.title, show=show))
