"""Trying prompts that are not stored anywhere: what their templates come to in an open book. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from marginalia.errors import MarginaliaError
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.ports import Manuscript, Ports
from marginalia.pipeline.run import Run
from marginalia.pipeline.summarising import Summariser
from marginalia.prompt.budget import ContextTooSmall
from marginalia.prompt.context import Rendered
from marginalia.prompt.payload import SEPARATOR
from marginalia.story.summaries import collect_blocks, joined_summaries, summaries_on
from marginalia.values import PartId, Prompts

MOST_TOKENS = 20_000
"""How much of the story a summary prompt is tried with."""
_STAND_INS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a template comes to: its text (``None`` when it could not be rendered), its size in tokens, and a remark.

    ``problem`` says why there is no text, or why the prompt around it could not be sent.
    """

    rendered: Rendered | None
    tokens: int = 0
    note: str = ""
    problem: str = ""


async def try_template(pipeline: Pipeline, run: Run, name: str) -> Trial:
    """What the master template or the user prompt of *run*, a preview, comes to: the steps themselves render it."""
    note = problem = ""
    try:
        await pipeline.preview(run)
    except ContextTooSmall as error:
        note = str(error)
    except MarginaliaError as error:
        problem = str(error)
    rendered = run.templates.get(name)
    tokens = run.ports.tokenizer.count(rendered.text) if rendered is not None else 0
    return Trial(rendered=rendered, tokens=tokens, note=note, problem=problem)


class SummaryTrials:
    """Tries the prompts for summaries with the last parts, and with the summaries, of a book."""

    def __init__(self, ports: Ports, summariser: Summariser) -> None:
        self._ports = ports
        self._summariser = summariser

    def trial(self, manuscript: Manuscript, prompts: Prompts, *, meta: bool, seed: int = 0) -> Trial:
        """What the prompt would be if the end of the story were summarised now. Reads the store: not for a loop."""
        manuscript = replace(manuscript, book=replace(manuscript.book, prompts=prompts))
        branch = manuscript.tree.branch(manuscript.book.active_leaf)
        if not branch:
            return Trial(rendered=None, problem="The story has no part yet: there is nothing to summarise.")
        try:
            data, note = self._summaries(manuscript, branch) if meta else self._story(manuscript, branch)
            part = self._ports.library.part(branch[-1])
            rendered = self._summariser.rendered(manuscript, part, data, meta=meta, seed=seed)
        except MarginaliaError as error:
            return Trial(rendered=None, problem=str(error))
        return Trial(rendered=rendered, tokens=self._ports.tokenizer.count(rendered.text), note=note)

    def _story(self, manuscript: Manuscript, branch: Sequence[PartId]) -> tuple[dict[str, str], str]:
        """The parts that a summary of the last one would cover, or as many of them as are enough to see."""
        on = summaries_on(manuscript.tree, branch, manuscript.summaries)
        parts: list[PartId] = []
        spent = 0
        for part in reversed(branch):
            spent += manuscript.tree[part].tokens
            if parts and (part in on or spent > MOST_TOKENS):
                break
            parts.append(part)
        texts = self._ports.library.texts(parts)
        which = (
            f"part {len(branch)}"
            if len(parts) == 1
            else f"parts {len(branch) - len(parts) + 1} to {len(branch)}"
        )
        older = [block for block in collect_blocks(branch, on) if not set(block.parts) & set(parts)]
        text = SEPARATOR.join(texts.get(each, "") for each in reversed(parts))
        return {"text": text, "summaries": joined_summaries(older)}, f"With {which}."

    def _summaries(self, manuscript: Manuscript, branch: Sequence[PartId]) -> tuple[dict[str, str], str]:
        """The summaries in use, oldest first; where there is none, the last parts stand for them."""
        on = summaries_on(manuscript.tree, branch, manuscript.summaries)
        texts = [block.summary.text for block in reversed(collect_blocks(branch, on))]
        note = f"With {len(texts):,} summaries." if len(texts) > 1 else "With the one summary there is."
        if not texts:
            last = branch[-_STAND_INS:]
            stored = self._ports.library.texts(last)
            texts = [stored.get(each, "") for each in last]
            note = "There are no summaries yet: the last parts stand for them."
        return {"summaryBlocks": SEPARATOR.join(texts)}, note
