"""The template context that the steps of a run share, and how listeners' variables get into it."""

from __future__ import annotations

from marginalia.pipeline.events import AfterPrepareConstantData, StoryChosen
from marginalia.pipeline.run import Run
from marginalia.prompt.context import Facts, TemplateContext


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
