"""The chapter marker: tells the model which chapter it writes, and lists the chapters.

A chapter begins with a part that has a Markdown heading: ``## The Storm``. The marker is switched off at first, because
it changes what is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import anyio.to_thread

from marginalia.extensions.api import Extension, Host, Insert, Panel, Table, View
from marginalia.pipeline.events import BeforePrepareContent
from marginalia.pipeline.run import Run
from marginalia.prompt.segments import Prompt
from marginalia.values import Book

LOOKS_BACK = 200
"""Parts that are searched for the last heading; what is sent should not cost what is stored."""
_HEADING = re.compile(r"^ {0,3}#{1,3}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter: its title, the number of its first part, and what it has so far."""

    title: str
    part: int
    parts: int
    words: int


class ChapterMarker(Extension):
    """The bundled example that reads the story."""

    name = "chapter-marker"
    title = "Chapter marker"
    description = "Reminds the model which chapter it is writing, by the headings in the story."
    starts_on = False

    def install(self, host: Host) -> None:
        """Place the reminder, and list the chapters."""
        host.insert(marker)
        host.panel(Panel(title="Chapters", show=show))


async def marker(run: Run, event: BeforePrepareContent) -> Insert | None:  # noqa: ARG001 - the shape of a placing
    """The reminder, in front of everything that the story says; nothing for a story without headings."""
    story = run.context.facts.story if run.context else ()
    title = await anyio.to_thread.run_sync(current_title, story)
    if title is None:
        return None
    return Insert(
        text=f"The chapter that is being written now: {title}.",
        owner="chapter marker",
        depth=1,
        reason=f"the last heading in the story is {title!r}",
    )


def current_title(story: Sequence[str]) -> str | None:
    """The last heading in the last parts of *story*, oldest first."""
    for text in reversed(story[-LOOKS_BACK:]):
        headings = _HEADING.findall(text)
        if headings:
            return str(headings[-1])
    return None


def chapters(texts: Iterable[str]) -> Iterator[Chapter]:
    """The chapters of a story; what stands before the first heading is one without a title."""
    title, first, words, number = "", 1, 0, 0
    for number, text in enumerate(texts, 1):
        headings = _HEADING.findall(text)
        if headings and number > 1:
            yield Chapter(title=title, part=first, parts=number - first, words=words)
        if headings:
            title, first, words = str(headings[0]), number, 0
        words += len(text.split())
    if number:
        yield Chapter(title=title, part=first, parts=number + 1 - first, words=words)


def show(studio: View, book: Book, _prompt: Prompt | None) -> Table:
    """All chapters of the active branch."""
    found = chapters(part.text for part in studio.story.branch(book))
    rows = tuple((each.title or "(no title)", each.part, each.parts, each.words) for each in found)
    return Table(columns=("Chapter", "First part", "Parts", "Words"), rows=rows)
