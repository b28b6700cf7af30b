"""The author's note: a reminder that stands near the end of the prompt, counted by the budget.

It is kept per book under the setting ``authors_note``: ``{"text": ..., "private": ..., "depth": 1, "role":
"system", "on": true}``. ``private`` is for the author alone and is never sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from marginalia.extensions.host import Host
from marginalia.pipeline.events import BeforePrepareContent
from marginalia.pipeline.run import Run
from marginalia.prompt.stages import Insert
from marginalia.values import Book, Role

SETTING = "authors_note"


class AuthorsNote:
    """The bundled example of an extension: one listener."""

    name = "authors-note"

    def install(self, host: Host) -> None:
        """Listen where room can still be taken."""
        host.on(BeforePrepareContent, self.insert)

    def insert(self, run: Run, event: BeforePrepareContent) -> BeforePrepareContent | None:  # noqa: ARG002 - a listener's shape
        """Ask for the note to be placed; the budget counts it and the payload places it, so the two cannot disagree."""
        note = note_of(event.book)
        return replace(event, inserts=(*event.inserts, note)) if note else None


def note_of(book: Book) -> Insert | None:
    """The note of *book*, if it has one that is switched on and not blank."""
    note = cast("Mapping[str, Any]", book.settings.get(SETTING) or {})
    text = str(note.get("text") or "")
    if not text.strip() or not note.get("on", True):
        return None
    role = cast("Role", note.get("role") if note.get("role") in {"system", "user", "assistant"} else "system")
    return Insert(
        text=text,
        owner="author's note",
        role=role,
        depth=_depth(note.get("depth")),
        reason="the author's note",
    )


def _depth(wanted: object) -> int:
    return max(0, wanted) if isinstance(wanted, int) else 1
