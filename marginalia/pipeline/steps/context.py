"""The template context that the steps of a run share, how listeners' variables get into it, and rendering with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import anyio
import anyio.to_thread

from marginalia.pipeline.abandon import in_a_thread_of_its_own
from marginalia.pipeline.events import AfterPrepareConstantData, StoryChosen
from marginalia.pipeline.run import Run
from marginalia.prompt.context import Facts, Rendered, TemplateContext
from marginalia.prompt.macros.evaluator import UNKNOWN
from marginalia.prompt.macros.table import Invocation, MacroTable
from marginalia.values import NOTHING, Syntax

_LONG = 8_000
"""Characters of a template from which on rendering may take longer than the event loop should wait."""
MACRO_SECONDS = 5.0


def shared_context(run: Run, known: AfterPrepareConstantData | StoryChosen) -> TemplateContext:
    """The context of the run; made from what is known if a replaced step 2 left none."""
    if run.context is None:
        facts = Facts(
            book=known.book,
            book_name=known.book.name,
            turn=known.turn,
            limits=known.limits,
            now=run.ports.clock(),
        )
        run.context = TemplateContext(facts, known.variables, run.random)
    return run.context


def adopt(run: Run, known: AfterPrepareConstantData | StoryChosen) -> None:
    """Take over the variables as the listeners of *known* left them."""
    context = shared_context(run, known)
    context.local = dict(known.variables.local)
    context.shared = dict(known.variables.shared)


async def rendered(
    run: Run,
    source: str,
    *,
    context: TemplateContext,
    place: str,
    syntax: Syntax,
    data: Mapping[str, str | None] = NOTHING,
) -> Rendered:
    """Render a template with the run's macros; what it came to is also kept in ``run.templates``.

    A long one, or one in Jinja, in a thread, so that nobody's window stands still meanwhile; one that calls macros of
    extensions in a thread that is given up when they take too long.
    """
    job = partial(run.ports.render, source, data=data, place=place, syntax=syntax)
    lowered = source.lower()
    foreign = [name for name in _foreign(run.macros) if name in lowered]
    if foreign:
        text = await _with_foreign(run, job, context, foreign)
    elif syntax == "macros" and len(source) <= _LONG:
        text = job(context=context, macros=run.macros)
    else:
        text = await anyio.to_thread.run_sync(partial(job, context=context, macros=run.macros))
    run.templates[place] = text
    return text


@lru_cache(maxsize=16)
def _foreign(macros: MacroTable) -> tuple[str, ...]:
    """The names of the macros that came from extensions, in small letters."""
    return tuple(name.lower() for name, macro in macros.items() if macro.foreign)


async def _with_foreign(
    run: Run, job: Callable[..., Rendered], context: TemplateContext, names: Sequence[str]
) -> Rendered:
    """Render with a copy of the context, which a thread that was given up may go on changing."""
    copy = context.fork()
    try:
        with anyio.fail_after(MACRO_SECONDS):
            text = await in_a_thread_of_its_own(partial(job, context=copy, macros=run.macros))
    except TimeoutError:
        await run.warn(
            f"A template that calls {', '.join(names)} took longer than {MACRO_SECONDS:g} seconds. Macros of "
            f"extensions are printed as {UNKNOWN} in it; look at the extension that brings them.",
            "extensions",
        )
        return await anyio.to_thread.run_sync(
            partial(job, context=context, macros=_without_foreign(run.macros))
        )
    context.local, context.shared = copy.local, copy.shared
    context.random.setstate(copy.random.getstate())
    told = {(each.source, each.text) for each in run.troubles}
    for owner, sentence in copy.troubles:
        if (owner, sentence) not in told:
            run.trouble(sentence, owner)
    return text


@lru_cache(maxsize=16)
def _without_foreign(macros: MacroTable) -> MacroTable:
    return MacroTable(
        replace(macro, function=_unknown) if macro.foreign else macro for macro in macros.values()
    )


def _unknown(_: Invocation) -> str:
    return UNKNOWN
