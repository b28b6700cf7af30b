"""Step 7, INFERENCE: ask the model and collect its answer, chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import anyio
import anyio.lowlevel

from marginalia.errors import StoreError
from marginalia.pipeline.answer import Answer
from marginalia.pipeline.events import (
    AfterInference,
    BeforeInference,
    ChunkReceived,
    ReasoningChunkReceived,
    onward,
)
from marginalia.pipeline.keeper import Keeper
from marginalia.pipeline.ports import Arrival, Call, Chunk, Ending, Progress
from marginalia.pipeline.receipts import prompt_tokens, receipt_of
from marginalia.pipeline.run import Run
from marginalia.pipeline.states import Phase, RunState


async def infer(run: Run, known: BeforeInference) -> AfterInference:
    """Send the messages and append what comes; a failure passes on with the text kept in the run."""
    await _check_size(run, known)
    kept_by = run.ports.stored_by or run.ports.tokenizer
    answer = run.answer_so_far = Answer(replace(known.part, prompt_tokens=_tokens(run)), kept_by)
    call = Call(
        provider=known.provider, protocol=known.protocol, limits=known.limits, messages=known.messages
    )
    run.enter(Phase.WAITING, "waiting for the model")
    async with run.ports.inference.stream(call) as arrivals:
        run.ending = await _collect_kept(run, known, answer, arrivals)
    await _explain(run, run.ending, answer)
    return onward(known, AfterInference, part=answer.part)


def _tokens(run: Run) -> int:
    return prompt_tokens(run, run.prompt) if run.prompt else 0


async def _check_size(run: Run, known: BeforeInference) -> None:
    """Store what is really sent if it was changed since step 6 (J-21), and warn when it may not fit.

    It is sent anyway.
    """
    if run.prompt is not None and run.receipt is not None and run.receipt.messages != run.prompt.messages:
        run.receipt = receipt_of(run, known, run.prompt)
        await run.ports.archive.store_receipt(known.part.id, run.receipt)
    tokens, limits = _tokens(run), known.limits
    if limits.context and tokens + limits.response > limits.context:
        await run.warn(
            f"The prompt has about {tokens} tokens; with {limits.response} for the answer that is more than the "
            f"context of {limits.context}. The model may lose its beginning or refuse it."
        )


async def _collect_kept(
    run: Run, known: BeforeInference, answer: Answer, arrivals: AsyncIterator[Arrival]
) -> Ending | None:
    """Collect the answer while a companion keeps it on disk."""
    full: list[StoreError] = []
    keeper = Keeper(run.ports.archive, lambda: answer.part, full.append)
    failure: Exception | None = None
    ending: Ending | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(keeper.run)
        try:
            ending = await _collect(run, known, answer, arrivals, keeper)
        except Exception as error:  # noqa: BLE001 - raised again below: a task group would wrap it in an ExceptionGroup
            failure = error
        keeper.end()
    for trouble in full:
        await run.warn(f"While it was written the text could not be kept on disk: {trouble}")
    if failure is not None:
        raise failure
    return ending


async def _collect(
    run: Run, known: BeforeInference, answer: Answer, arrivals: AsyncIterator[Arrival], keeper: Keeper
) -> Ending | None:
    """Pull: the next chunk is read only after the listeners of this one are done."""
    async for arrival in arrivals:
        if isinstance(arrival, Ending):
            return arrival
        if isinstance(arrival, Progress):
            run.enter(run.phase, arrival.text)
            continue
        if run.first_token_after is None:
            run.first_token_after = time.monotonic() - run.started
        if arrival.kind == "reasoning":
            await _think(run, known, answer, arrival)
        else:
            await _write(run, known, answer, arrival)
        run.recorder.beat(answer.tokens)
        keeper.touch()
        await anyio.lowlevel.checkpoint_if_cancelled()  # a callback may have stopped the run
    return None


async def _think(run: Run, known: BeforeInference, answer: Answer, chunk: Chunk) -> None:
    if run.heard(ReasoningChunkReceived):
        event = ReasoningChunkReceived(
            book=known.book, turn=known.turn, request=known.request, part=answer.part, chunk=chunk.text
        )
        chunk = Chunk("reasoning", (await run.emit(event)).chunk or "")
    answer.add_reasoning(chunk.text, run.ports.clock())
    run.enter(Phase.THINKING)
    run.arrived(chunk)
    if not run.tell.silent:
        await run.tell.reasoning(chunk.text, answer.part)


async def _write(run: Run, known: BeforeInference, answer: Answer, chunk: Chunk) -> None:
    if run.heard(ChunkReceived):
        event = ChunkReceived(
            book=known.book, turn=known.turn, request=known.request, part=answer.part, chunk=chunk.text
        )
        chunk = Chunk("text", (await run.emit(event)).chunk or "")
    answer.add_text(chunk.text, run.ports.clock())
    if answer.has_text:
        run.state = RunState.PARTIAL_SUCCESS
    run.enter(Phase.WRITING)
    run.arrived(chunk)
    if not run.tell.silent:
        await run.tell.response(chunk.text, answer.part)


async def _explain(run: Run, ending: Ending | None, answer: Answer) -> None:
    """Say what the writer would wonder about: an empty answer, or one that was cut."""
    reason = ending.finish_reason if ending else ""
    if not answer.has_text:
        thought = "thought, but wrote nothing" if answer.reasoning else "gave an empty answer"
        await run.warn(f"The model {thought}. Try again, or give the answer more tokens.")
    elif reason == "content_filter":
        await run.warn("The server's content filter ended the answer.")
