"""Step 4, PREPARE_CONTENT: which part of the story goes into the prompt, and the rendered system prompt."""

from __future__ import annotations

from collections.abc import Mapping

import anyio.lowlevel
import anyio.to_thread

from marginalia.pipeline.events import (
    AfterManuscriptConcatenation,
    AfterPrepareContent,
    BeforePrepareContent,
    BeforeSummaries,
    onward,
)
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import trimmed_branch
from marginalia.pipeline.steps.context import adopt, rendered, shared_context
from marginalia.prompt.budget import Budget, ContextTooSmall, Costs, choose_parts
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.payload import joined
from marginalia.prompt.stages import MESSAGE_TOKENS, Passage
from marginalia.story.summaries import Chain


async def prepare_content(run: Run, known: BeforePrepareContent) -> AfterPrepareContent:
    """Summaries, then the parts that fit, then the master template (specification, step 4)."""
    adopt(run, known)
    chain = run.chain or Chain()
    await _without_outdated(run, chain)
    offered = await run.emit(onward(known, BeforeSummaries, summaries=_summaries(chain)))
    adopt(run, offered)
    context = shared_context(run, offered)
    estimated = context.fork()
    estimate = await _render_master(run, estimated, offered)
    chosen = await run.emit(await _choose(run, offered, chain, estimate))
    adopt(run, chosen)
    chronicle = tuple(chosen.chronicle)
    if _same_inputs(offered, chosen) and context.variables == offered.variables:
        context.local, context.shared = estimated.local, estimated.shared
        run.random.setstate(estimated.random.getstate())
        final = estimate
    else:
        final = await _render_master(run, context, chosen)
    return onward(
        chosen,
        AfterPrepareContent,
        chronicle=chronicle,
        system_prompt=final.text,
        system_spans=final.spans,
        variables=context.variables,
    )


async def _without_outdated(run: Run, chain: Chain) -> None:
    """Outdated summaries are removed, then the writer is asked; they stay removed whatever the answer (B1 58)."""
    if not chain.dropped:
        return
    tree = run.manuscript.tree
    names = ", ".join(f"#{len(tree.branch(part))} (part {part})" for part in chain.dropped_parts)
    if run.preview:
        run.trouble(
            f"The story was changed under the summaries of {names}: they are not used any more.", "summaries"
        )
        return
    await run.ports.archive.drop_summaries(run.book_id, [summary.id for summary in chain.dropped])
    question = (
        f"The story was changed since it was summarised in {names}. These summaries were removed, and what they "
        "stood for is sent in full as far as it fits. Go on without them?"
    )
    if not await run.ask(question):
        run.stop()
        await anyio.lowlevel.checkpoint()


def _summaries(chain: Chain) -> tuple[Passage, ...]:
    blocks = reversed(chain.blocks)
    return tuple(Passage(text=block.summary.text, part=block.summary.part_id) for block in blocks)


async def _render_master(
    run: Run, context: TemplateContext, known: BeforeSummaries | AfterManuscriptConcatenation
) -> Rendered:
    templates = known.templates
    data: Mapping[str, str | None] = {
        "backgroundLore": known.lore.background,
        "summaries": joined(known.summaries or ()),
        "narrativePov": templates.pov,
        "narrativeTense": templates.tense,
        "style": templates.style,
        **known.lore.slots,
    }
    return await rendered(
        run,
        templates.master_template,
        context=context,
        data=data,
        place="master_template",
        syntax=templates.syntax,
    )


async def _choose(
    run: Run, known: BeforeSummaries, chain: Chain, estimate: Rendered
) -> AfterManuscriptConcatenation:
    """The parts that fit beside everything else; a context too small for the rest ends the run."""
    branch = trimmed_branch(run.manuscript.tree, known.book.active_leaf, known.request)
    costs = _costs(run, known, estimate)
    counted = run.ports.tokenizer
    empty = Budget(limits=known.limits, costs=costs, branch_parts=len(branch), counted=counted.name)
    if not empty.fits:
        raise ContextTooSmall(empty)
    start = costs.base + costs.all_reserved
    cut = choose_parts(run.manuscript.tree, branch, chain.stop, start, known.limits)
    texts = await anyio.to_thread.run_sync(run.ports.library.texts, cut.sent)
    budget = Budget(
        limits=known.limits,
        costs=costs,
        story=cut.story,
        sent_parts=len(cut.sent),
        branch_parts=len(branch),
        needed=cut.needed,
        counted=counted.name,
    )
    chronicle = tuple(Passage(text=texts.get(part, ""), part=part) for part in cut.sent)
    return onward(
        known,
        AfterManuscriptConcatenation,
        summaries=tuple(known.summaries or ()),
        chronicle=chronicle,
        budget=budget,
    )


def _costs(run: Run, known: BeforeSummaries, estimate: Rendered) -> Costs:
    count = run.ports.tokenizer.count
    printed = {span.name for span in estimate.spans}
    before_user = count(known.lore.before_user) if known.lore.before_user else 0
    return Costs(
        system=count(estimate.text),
        lore=count(known.lore.background or "") if "backgroundLore" in printed else 0,
        summaries=count(joined(known.summaries or ())) if "summaries" in printed else 0,
        jailbreak=count(known.templates.jailbreak) if known.templates.jailbreak else 0,
        user_lore=before_user,
        request=known.user_prompt_tokens - before_user,
        reserved=known.reserved_tokens,
        inserts=sum(count(insert.text) + MESSAGE_TOKENS for insert in known.inserts),
    )


def _same_inputs(before: BeforeSummaries, after: AfterManuscriptConcatenation) -> bool:
    """Whether the master template would be rendered from what it was estimated with.

    So that the estimate is the text (J-25).
    """
    return (
        before.templates == after.templates
        and before.lore is after.lore
        and tuple(before.summaries or ()) == after.summaries
    )
