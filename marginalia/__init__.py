"""Marginalia: write long fiction with a language model, and see exactly what it is sent, why, and what it costs.

::

    import marginalia as mg

    studio = mg.Studio()
    book = studio.books.all()[0]
    prompt = await studio.preview(book, mg.TurnInput(instructions="She reads the last entry."))
    run = studio.generate(book, mg.TurnInput(instructions="She reads the last entry."))
    async for chunk in run:
        print(chunk.text, end="")

Importing this loads neither the database nor the interface: names are looked up when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginalia.errors import (
        Busy,
        ContextOverflow,
        FormatError,
        InvalidInput,
        MarginaliaError,
        ModelError,
        NotFound,
        Refused,
        StoreError,
        TemplateError,
        ValidationProblem,
    )
    from marginalia.extensions.lore_tests import LoreTest
    from marginalia.lore.book import Entry, Insertion, Lorebook, Match, Pattern, RegexFilter, TextFilter, When
    from marginalia.models import TokenBudget, TurnInput
    from marginalia.pipeline import events, steps
    from marginalia.pipeline.hooks import Final, Subscription
    from marginalia.pipeline.listener import GenerationListener
    from marginalia.pipeline.run import Run, StashKey
    from marginalia.pipeline.states import Outcome, Phase, RunState
    from marginalia.prompt.budget import Budget, ContextTooSmall
    from marginalia.prompt.diff import Diff
    from marginalia.prompt.receipt import Receipt
    from marginalia.prompt.segments import Prompt
    from marginalia.prompt.stages import Insert
    from marginalia.prompt.timeline import Timeline
    from marginalia.story.parts import Part, Summary
    from marginalia.story.search import snippet
    from marginalia.studio import Studio
    from marginalia.studio.reruns import Rerun
    from marginalia.studio.wishes import WhatIf
    from marginalia.values import (
        Book,
        Limits,
        Message,
        NewPart,
        Prompts,
        Protocol,
        Provider,
        Regenerate,
        Sampling,
        Swipe,
        Turn,
    )

_HOMES: dict[str, str] = {
    "marginalia.errors": (
        "Busy ContextOverflow FormatError InvalidInput MarginaliaError ModelError "
        "NotFound Refused StoreError TemplateError ValidationProblem"
    ),
    "marginalia.extensions.lore_tests": "LoreTest",
    "marginalia.lore.book": "Entry Insertion Lorebook Match Pattern RegexFilter TextFilter When",
    "marginalia.models": "TokenBudget TurnInput",
    "marginalia.pipeline.hooks": "Final Subscription",
    "marginalia.pipeline.listener": "GenerationListener",
    "marginalia.pipeline.run": "Run StashKey",
    "marginalia.pipeline.states": "Outcome Phase RunState",
    "marginalia.prompt.budget": "Budget ContextTooSmall",
    "marginalia.prompt.diff": "Diff",
    "marginalia.prompt.receipt": "Receipt",
    "marginalia.prompt.segments": "Prompt",
    "marginalia.prompt.stages": "Insert",
    "marginalia.prompt.timeline": "Timeline",
    "marginalia.story.parts": "Part Summary",
    "marginalia.story.search": "snippet",
    "marginalia.studio": "Studio",
    "marginalia.studio.reruns": "Rerun",
    "marginalia.studio.wishes": "WhatIf",
    "marginalia.values": (
        "Book Limits Message NewPart Prompts Protocol Provider Regenerate Sampling Swipe Turn"
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = {"events": "marginalia.pipeline.events", "steps": "marginalia.pipeline.steps"}

__all__ = [
    "Book",
    "Budget",
    "Busy",
    "ContextOverflow",
    "ContextTooSmall",
    "Diff",
    "Entry",
    "Final",
    "FormatError",
    "GenerationListener",
    "Insert",
    "Insertion",
    "InvalidInput",
    "Limits",
    "LoreTest",
    "Lorebook",
    "MarginaliaError",
    "Match",
    "Message",
    "ModelError",
    "NewPart",
    "NotFound",
    "Outcome",
    "Part",
    "Pattern",
    "Phase",
    "Prompt",
    "Prompts",
    "Protocol",
    "Provider",
    "Receipt",
    "Refused",
    "Regenerate",
    "RegexFilter",
    "Rerun",
    "Run",
    "RunState",
    "Sampling",
    "StashKey",
    "StoreError",
    "Studio",
    "Subscription",
    "Summary",
    "Swipe",
    "TemplateError",
    "TextFilter",
    "Timeline",
    "TokenBudget",
    "Turn",
    "TurnInput",
    "ValidationProblem",
    "WhatIf",
    "When",
    "events",
    "snippet",
    "steps",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in _MODULES:
        found: Any = import_module(_MODULES[name])
    elif name in _HOME_OF:
        found = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"marginalia has no {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
