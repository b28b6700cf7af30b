"""A turn in a small book, for templates to look at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random

from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.values import Limits, Turn

FACTS = Facts(
    book_id="book-1",
    book_name="Tides",
    book_description="A sea story.",
    turn=Turn(
        scene_setting="Harbour, dusk",
        pov_character="Alice",
        present_characters="Alice, Bob",
        instructions="Continue the chase.",
    ),
    pov="third person",
    tense="past",
    style="terse",
    model="local-7b",
    limits=Limits(context=8192, response=512),
    story=("The bell rang once.", "The bell rang twice."),
    last_instructions="Ring the bell.",
    summary="Alice reached the harbour.",
    now=datetime(2026, 3, 15, 14, 30, 45, tzinfo=UTC),
)


def new_context(
    facts: Facts = FACTS, *, seed: int = 1, shared: Mapping[str, str] | None = None, **local: str
) -> TemplateContext:
    """A context of its own; variables of the branch may be given."""
    return TemplateContext(facts, Variables(local=local, shared=shared or {}), Random(seed))
