"""Step 5, PREPARE_PAYLOAD: the chat messages, and where each stretch of them came from."""

from __future__ import annotations

from marginalia.pipeline.events import AfterPreparePayload, BeforePreparePayload, onward
from marginalia.pipeline.run import Run
from marginalia.prompt.payload import Material, build_payload


async def prepare_payload(run: Run, known: BeforePreparePayload) -> AfterPreparePayload:
    """Build the messages in the specification's order, with inserts at their depths."""
    branch = (
        run.manuscript.tree.branch(known.chronicle[-1].part)
        if known.chronicle and known.chronicle[-1].part
        else ()
    )
    numbers = {part: number for number, part in enumerate(branch, start=1)} if known.chronicle else {}
    material = Material(
        jailbreak=known.templates.jailbreak,
        system_prompt=known.system_prompt,
        system_spans=known.system_spans,
        lore=known.lore,
        summaries=known.summaries,
        chronicle=known.chronicle,
        numbers=tuple(numbers.get(passage.part, 0) if passage.part else 0 for passage in known.chronicle),
        user_prompt=known.user_prompt,
        inserts=known.inserts,
    )
    messages, segments = build_payload(material, run.ports.tokenizer.count)
    return onward(known, AfterPreparePayload, messages=messages, segments=segments)
