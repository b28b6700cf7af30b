"""Making the receipt of a run: everything that decided about a prompt, and what the answer cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any

from marginalia.lore.verdicts import Verdict
from marginalia.pipeline.again import ASKED, Again, asked_note
from marginalia.pipeline.events import AfterPreparePayload
from marginalia.pipeline.ports import Ending
from marginalia.pipeline.run import Run
from marginalia.pipeline.sending import BEGINNING
from marginalia.prompt.cache import CACHE, FRAME_TOKENS
from marginalia.prompt.leftout import missing
from marginalia.prompt.receipt import MISSING, SHARES, EntryNote, Receipt
from marginalia.prompt.segments import Prompt
from marginalia.prompt.stages import Templates
from marginalia.prompt.timeline import TIMELINE
from marginalia.values import NewPart, Regenerate, Request

AGAIN = "again"
"""The key of a receipt's ``extra`` that names the part whose receipt was sent once more."""
_MOST_HITS = 20
_MOST_MISSING = 20


def receipt_of(run: Run, known: AfterPreparePayload, prompt: Prompt) -> Receipt:
    """The receipt as far as it is known before the answer. Of the lore, what was in and what nearly was is noted."""
    if run.again is not None:
        return _of_again(run, known, prompt, run.again)
    return Receipt(
        run_id=run.id,
        request=_request_name(known.request),
        created=run.ports.clock(),
        messages=prompt.messages,
        segments=prompt.segments,
        lore=tuple(_note(verdict) for verdict in prompt.lore if verdict.active or verdict.nearly),
        left_out=prompt.history.left_out,
        templates=_hashes(known.templates),
        versions={**run.ports.versions, "tokenizer": run.ports.tokenizer.name},
        seed=run.seed,
        provider=known.provider.name,
        model=known.provider.model,
        protocol=known.protocol.name,
        sampling=known.protocol.sampling,
        limits=known.limits,
        prompt_tokens=prompt_tokens(run, prompt),
        extra=_extra(known, prompt),
    )


def _of_again(run: Run, known: AfterPreparePayload, prompt: Prompt, again: Again) -> Receipt:
    """The receipt of what is sent once more: why it was in is why it was in then."""
    first = again.receipt
    return replace(
        first,
        run_id=run.id,
        request=_request_name(known.request),
        created=run.ports.clock(),
        messages=prompt.messages,
        segments=prompt.segments,
        versions=run.ports.versions,
        provider=known.provider.name,
        model=known.provider.model,
        usage=None,
        finish_reason="",
        timings={},
        prompt_tokens=prompt_tokens(run, prompt),
        extra={**_kept(first), ASKED: asked_note(known.provider), AGAIN: again.part.id},
    )


def _kept(first: Receipt) -> Mapping[str, Any]:
    return {name: first.extra[name] for name in (SHARES, MISSING) if name in first.extra}


def _note(verdict: Verdict) -> EntryNote:
    hits = ((hit.source, hit.start, hit.end) for hit in verdict.hits) if verdict.active else ()
    return EntryNote(
        entry_id=verdict.entry.id,
        name=verdict.entry.name,
        active=verdict.active,
        reason=verdict.reason,
        hits=tuple(islice(hits, _MOST_HITS)),
    )


def _extra(known: AfterPreparePayload, prompt: Prompt) -> Mapping[str, Any]:
    """What the inspector shows of a part beside its messages, and what asking in the same way once more needs."""
    shares = [
        [each.kind, each.label, each.tokens, each.detail] for each in prompt.budget.shares if each.tokens > 0
    ]
    left = [[each.name, each.tokens, each.needs, each.reason] for each in missing(prompt, _MOST_MISSING)]
    return {SHARES: shares, MISSING: left, ASKED: asked_note(known.provider)}


def completed(receipt: Receipt, run: Run, ending: Ending | None) -> Receipt:
    """The receipt with what is known when the answer has ended, however it did."""
    beginning = run.stash.get(BEGINNING)
    if beginning is not None:
        receipt = replace(receipt, extra={**receipt.extra, CACHE: beginning.note})
    timings = {"total": time.monotonic() - run.started}
    receipt = replace(receipt, extra={**receipt.extra, TIMELINE: _timeline(run, ending)})
    if run.first_token_after is not None:
        timings["first_token"] = run.first_token_after
    if ending is None:
        return replace(receipt, timings=timings)
    return replace(receipt, timings=timings, usage=ending.usage, finish_reason=ending.finish_reason)


def _timeline(run: Run, ending: Ending | None) -> Mapping[str, Any]:
    """The timeline as it is when the part is stored: what comes after that is not in it."""
    ended = "stopped" if run.stopped else "complete" if ending is not None else "failed"
    return run.recorder.timeline(run.first_token_after, ended=ended).note


def prompt_tokens(run: Run, prompt: Prompt) -> int:
    """The tokens of all messages: their contents and a fixed overhead for each (J-29)."""
    count = run.ports.tokenizer.count
    return sum(count(message.content) + FRAME_TOKENS for message in prompt.messages)


def _hashes(templates: Templates) -> Mapping[str, str]:
    texts = {"master_template": templates.master_template, "user_prompt": templates.user_prompt}
    return {name: sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for name, text in texts.items()}


def _request_name(request: Request) -> str:
    if isinstance(request, NewPart):
        return "new"
    return "regenerate" if isinstance(request, Regenerate) else "swipe"
