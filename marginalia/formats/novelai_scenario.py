"""NovelAI's ``.scenario``: its lorebook, and what it says about a story. Fields: research/others.md, 3.1."""

from __future__ import annotations

from dataclasses import replace

from marginalia.formats.base import BookFields, Note, Shelf
from marginalia.formats.codec import Codec
from marginalia.formats.coerce import Json, obj, one_line, rows, text
from marginalia.formats.novelai import again, shelf_of, write


def _read_scenario(document: Json, file: str) -> Shelf:
    scenario = obj(document)
    name = one_line(text(scenario.get("title"))) or file or "NovelAI scenario"
    shelf = shelf_of(obj(scenario.get("lorebook")), name, "novelai_scenario", "NovelAI scenario", document)
    memory, note, *_ = (*(text(obj(each).get("text")) for each in rows(scenario.get("context"))), "", "")
    notes = list(shelf.notes)
    if rows(scenario.get("ephemeralContext")):
        notes.append(Note(remarks=("its ephemeral context is kept with the lorebook and does nothing here",)))
    fields = BookFields(
        name=name,
        description=text(scenario.get("description")),
        first_message=text(scenario.get("prompt")),
        memory=memory,
        authors_note=note,
    )
    return replace(
        shelf, book_fields=fields, notes=notes, story_too=bool(text(scenario.get("prompt")).strip())
    )


NOVELAI_SCENARIO = Codec(
    id="novelai_scenario",
    title="NovelAI scenario",
    sees=lambda document: "scenarioVersion" in obj(document),
    read=_read_scenario,
    path=lambda _: ("lorebook", "entries"),
    write=write,
    again=again,
    ending="scenario",
)
