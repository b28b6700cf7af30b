"""What is put around steps 1, 3 and 4 so that a book may have a stable layout, or fewer parts than would fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from marginalia.pipeline.events import (
    AfterPrepareContent,
    AfterPrepareGeneration,
    AfterProcessLorebook,
    BeforePrepareContent,
    BeforePrepareGeneration,
    BeforeProcessLorebook,
)
from marginalia.pipeline.run import Run
from marginalia.pipeline.slots import Step, Wrapper
from marginalia.pipeline.steps.constants import trimmed_branch
from marginalia.prompt.cache import SHORTEST_MOVED
from marginalia.prompt.layout import in_blocks, in_front, is_stable, late, newest
from marginalia.values import Provider

MOST_PARTS = "most_parts"
"""The key in a book's ``settings`` that limits how many parts are sent; 0 or nothing: as many as fit."""
REUSE = "n_cache_reuse"
"""llama.cpp's parameter of a request: text that only moved is kept, in pieces of at least so many tokens; 0: none."""


def late_lore(
    step: Step[BeforeProcessLorebook, AfterProcessLorebook],
) -> Step[BeforeProcessLorebook, AfterProcessLorebook]:
    """Step 3 with the lore that comes and goes before the request, for books that want it there."""

    async def process(run: Run, known: BeforeProcessLorebook) -> AfterProcessLorebook:
        made = await step(run, known)
        if not is_stable(made.book.settings):
            return made
        lore = late(made.lore)
        if lore is made.lore:
            return made
        prompt, tokens = in_front(made.user_prompt, made.lore, lore, run.ports.tokenizer.count)
        return replace(made, lore=lore, user_prompt=prompt, user_prompt_tokens=tokens)

    return process


def steady_story(
    step: Step[BeforePrepareContent, AfterPrepareContent],
) -> Step[BeforePrepareContent, AfterPrepareContent]:
    """Step 4 with old parts leaving in blocks, and with no more parts than wanted, for books that say so."""

    async def prepare(run: Run, known: BeforePrepareContent) -> AfterPrepareContent:
        made = await step(run, known)
        tree, chronicle, budget = run.manuscript.tree, made.chronicle, made.budget
        if is_stable(made.book.settings):
            branch = trimmed_branch(tree, made.book.active_leaf, made.request)
            stop = run.chain.stop if run.chain is not None else None
            chronicle, budget = in_blocks(chronicle, budget, tree, branch, stop)
        most = made.book.settings.get(MOST_PARTS)
        if isinstance(most, int) and most > 0:
            chronicle, budget = newest(chronicle, budget, tree, most)
        return made if chronicle == made.chronicle else replace(made, chronicle=chronicle, budget=budget)

    return prepare


def moved_kept(
    can: Callable[[Provider], bool],
) -> Wrapper[BeforePrepareGeneration, AfterPrepareGeneration]:
    """A wrapper of step 1 that has servers which *can* keep what moved do so, for books with a stable layout."""

    def wrap(
        step: Step[BeforePrepareGeneration, AfterPrepareGeneration],
    ) -> Step[BeforePrepareGeneration, AfterPrepareGeneration]:
        async def prepare(run: Run, known: BeforePrepareGeneration) -> AfterPrepareGeneration:
            made = await step(run, known)
            provider = asked_to_keep(made.provider, made.book.settings, can)
            return made if provider is made.provider else replace(made, provider=provider)

        return prepare

    return wrap


def asked_to_keep(
    provider: Provider, settings: Mapping[str, Any], can: Callable[[Provider], bool]
) -> Provider:
    """*provider* as it is asked for a book with these *settings*; what it was given by hand is left alone."""
    if REUSE in provider.additional_parameters or not is_stable(settings) or not can(provider):
        return provider
    return replace(provider, additional_parameters={**provider.additional_parameters, REUSE: SHORTEST_MOVED})


def keeps_what_moved(provider: Provider) -> bool:
    """Whether *provider* is asked to keep what only moved."""
    least = provider.additional_parameters.get(REUSE)
    return isinstance(least, int) and least > 0
