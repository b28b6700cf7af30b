"""Step 5, PREPARE_PAYLOAD: the chat messages, and where each stretch of them came from."""

from __future__ import annotations

from marginalia.pipeline.events import AfterPreparePayload, BeforePreparePayload, onward
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import trimmed_branch
from marginalia.prompt.payload import Material, build_payload
from marginalia.values import PartId


async def prepare_payload(run: Run, known: BeforePreparePayload) -> AfterPreparePayload:
    """Build the messages in the specification's order, with inserts at their depths."""
    material = Material(
        jailbreak=known.templates.jailbreak,
        system_prompt=known.system_prompt,
        system_spans=known.system_spans,
        lore=known.lore,
        summaries=known.summaries,
        chronicle=known.chronicle,
        numbers=_numbers(run, known),
        user_prompt=known.user_prompt,
        inserts=known.inserts,
    )
    messages, segments = build_payload(material, run.ports.tokenizer.count)
    return onward(known, AfterPreparePayload, messages=messages, segments=segments)


def _numbers(run: Run, known: BeforePreparePayload) -> tuple[int, ...]:
    """The number of each passage's part on the branch, counted from 1; 0 for a made-up one."""
    branch = trimmed_branch(run.manuscript.tree, known.book.active_leaf, known.request)
    wanted = {passage.part for passage in known.chronicle if passage.part is not None}
    numbers: dict[PartId, int] = {}  # only the end that is sent is walked, the branch may be long
    for at in range(len(branch) - 1, -1, -1):
        if len(numbers) == len(wanted):
            break
        if branch[at] in wanted:
            numbers[branch[at]] = at + 1
    return tuple(numbers.get(passage.part, 0) if passage.part else 0 for passage in known.chronicle)
