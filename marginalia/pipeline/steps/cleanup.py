"""Step 8, CLEANUP: always the last; what came is kept, what did not is taken back."""

from __future__ import annotations

from dataclasses import replace

from marginalia.pipeline.events import BeforeCleanup
from marginalia.pipeline.receipts import completed
from marginalia.pipeline.run import Run
from marginalia.pipeline.states import Outcome, RunState
from marginalia.story.parts import Part
from marginalia.values import Regenerate, Swipe


async def cleanup(run: Run, known: BeforeCleanup) -> Outcome:
    """Finish the part, keep its partial text, or undo step 6, by the state that was reached (specification, step 8)."""
    if known.state is RunState.NOT_SUCCESSFUL:
        part = await _withdraw(run)
    elif known.state is RunState.PARTIAL_SUCCESS:
        part = await keep(run, partial=True)
    else:
        part = known.part
    return Outcome(state=known.state, part=part, error=known.error, stopped=known.stopped)


async def keep(run: Run, *, partial: bool) -> Part | None:
    """Store the part as it is now, with exact counts and its completed receipt."""
    if run.answer_so_far is None:
        return None
    part = run.answer_so_far.counted(partial=partial)
    if run.ending is not None:
        part = replace(part, finish_reason=run.ending.finish_reason)
    receipt = completed(run.receipt, run, run.ending) if run.receipt else None
    return await run.ports.archive.close_part(part, receipt)


async def _withdraw(run: Run) -> Part | None:
    """No text arrived: the new part goes, a swiped or regenerated one is as it was. Gives the part to show."""
    if run.opened is None:
        return None
    await run.ports.archive.withdraw(run.opened)
    if isinstance(run.request, Regenerate | Swipe):
        return run.ports.library.part(run.request.part)
    return None
