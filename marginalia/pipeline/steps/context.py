"""The template context that the steps of a run share, how listeners' variables get into it, and rendering with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import anyio.to_thread

from marginalia.pipeline.events import AfterPrepareConstantData, StoryChosen
from marginalia.pipeline.run import Run
from marginalia.prompt.context import Facts, Rendered, TemplateContext
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.templates import render
from marginalia.values import NOTHING, Syntax

_LONG = 8_000
"""Characters of a template from which on rendering may take longer than the event loop should wait."""


def shared_context(run: Run, known: AfterPrepareConstantData | StoryChosen) -> TemplateContext:
    """The context of the run; made from what is known if a replaced step 2 left none."""
    if run.context is None:
        facts = Facts(book_name=known.book.name, turn=known.turn, limits=known.limits, now=run.ports.clock())
        run.context = TemplateContext(facts, known.variables, run.random)
    return run.context


def adopt(run: Run, known: AfterPrepareConstantData | StoryChosen) -> None:
    """Take over the variables as the listeners of *known* left them."""
    context = shared_context(run, known)
    context.local = dict(known.variables.local)
    context.shared = dict(known.variables.shared)


async def rendered(
    source: str,
    *,
    context: TemplateContext,
    place: str,
    syntax: Syntax,
    macros: MacroTable,
    data: Mapping[str, str | None] = NOTHING,
) -> Rendered:
    """Render a template; a long one, or one in Jinja, in a thread, so that nobody's window stands still meanwhile."""
    if syntax == "macros" and len(source) <= _LONG:
        return render(source, context=context, data=data, place=place, syntax=syntax, macros=macros)
    job = partial(render, source, context=context, data=data, place=place, syntax=syntax, macros=macros)
    return await anyio.to_thread.run_sync(job)
