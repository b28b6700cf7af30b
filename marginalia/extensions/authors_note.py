"""The author's note: a reminder that stands near the end of the prompt, counted by the budget.

It is kept per book under the setting ``authors_note``: ``{"text": ..., "private": ..., "depth": 1, "role":
"system", "on": true}``. ``private`` is for the author alone and is never sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from marginalia.extensions.api import Extension, Host, Insert, Panel, View
from marginalia.prompt.segments import Prompt
from marginalia.values import Book, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The note of a book; ``depth`` counts messages from the end of the prompt."""

    text: str = field(default="", metadata={"help": "Sent near the end of every prompt."})
    private: str = field(default="", metadata={"help": "For you alone; never sent."})
    depth: int = field(default=1, metadata={"help": "Messages from the end."})
    role: Role = "system"
    on: bool = True


class AuthorsNote(Extension):
    """The bundled example of an extension: one message, and a panel to write it in."""

    name = "authors-note"
    title = "Author's note"
    description = "A reminder near the end of every prompt, and a private note that is never sent."

    def install(self, host: Host) -> None:
        """Place the note; the budget counts it, so the two cannot disagree."""
        notes = host.book_data(Note)
        host.insert(lambda _run, event: message(notes.of(event.book)))

        def show(_studio: View, book: Book, _prompt: Prompt | None) -> str:
            return described(notes.of(book))

        host.panel(Panel(title=self.title, show=show, form=notes))


def message(note: Note) -> Insert | None:
    """The message that *note* puts into the prompt, if it is switched on and not blank."""
    if not note.on or not note.text.strip():
        return None
    return Insert(
        text=note.text,
        owner="author's note",
        role=note.role,
        depth=max(0, note.depth),
        reason="the author's note",
    )


def described(note: Note) -> str:
    """What becomes of *note*, for people."""
    if message(note) is None:
        return "Nothing is sent: the note is " + ("switched off." if note.text.strip() else "empty.")
    places = {0: "after the request", 1: "before the request"}
    where = places.get(max(0, note.depth), f"{note.depth} messages before the end")
    return f"Sent as a *{note.role}* message {where}."
