"""Step 6, GENERATE_NEW_MESSAGE: the part that will receive the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread

from marginalia.lore.timing import Timing
from marginalia.pipeline.events import AfterGenerateNewMessage, BeforeGenerateNewMessage, onward
from marginalia.pipeline.ports import Opening
from marginalia.pipeline.receipts import receipt_of
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import trimmed_branch
from marginalia.pipeline.steps.lorebook import TIMING
from marginalia.values import PartId, Swipe

STORE_SECONDS = 10.0


async def generate_new_message(run: Run, known: BeforeGenerateNewMessage) -> AfterGenerateNewMessage:
    """Create the part, or clear the one that is regenerated, and make it the active leaf (specification, step 6)."""
    if run.prompt is None:
        raise RuntimeError("step 6 came before the prompt was built")
    run.receipt = receipt_of(run, known, run.prompt)
    opening = Opening(
        book=known.book.id,
        request=known.request,
        parent=_parent(run, known),
        turn=known.turn,
        model=known.provider.name,
        protocol=known.protocol.name,
        variables=known.variables.local,
        shared_variables=known.variables.shared,
        background_lore=known.lore.background or "",
        attributes=await _timing(run, known),
        request_time=run.ports.clock(),
        receipt=run.receipt,
    )
    # A stop in the middle must never leave a part that nobody knows of.
    with anyio.fail_after(STORE_SECONDS, shield=True):
        run.opened = await run.ports.archive.open_part(opening)
    return onward(known, AfterGenerateNewMessage, part=run.opened.part, original=run.opened.original)


def _parent(run: Run, known: BeforeGenerateNewMessage) -> PartId | None:
    """Below the active leaf; for a swipe, below the parent of the part that was asked for (B1 76)."""
    if isinstance(known.request, Swipe):
        return run.manuscript.tree[known.request.part].parent_id
    return known.book.active_leaf


async def _timing(run: Run, known: BeforeGenerateNewMessage) -> Mapping[str, Any]:
    """The timed state of lore after this part."""
    if run.again is not None:
        kept = run.again.part.attributes.get(TIMING)
        return {TIMING: kept} if kept else {}
    branch = trimmed_branch(run.manuscript.tree, known.book.active_leaf, known.request)
    before: Mapping[str, Any] | None = None
    if branch:
        last = await anyio.to_thread.run_sync(run.ports.library.part, branch[-1])
        before = last.attributes.get(TIMING)
    state = Timing.of(before).next_state(known.lore.verdicts, len(branch))
    return {TIMING: state} if state or before else {}
