"""Step 3, PROCESS_LOREBOOK: which entries are called, and their payloads rendered and put where they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio.lowlevel
import anyio.to_thread

from marginalia.errors import TemplateError
from marginalia.lore.activation import activate
from marginalia.lore.book import FilledLorebook
from marginalia.lore.collecting import Candidate, collect, in_order
from marginalia.lore.inserting import inserts
from marginalia.lore.listening import overruled
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from marginalia.lore.verdicts import Verdict
from marginalia.pipeline.events import (
    AfterProcessLorebook,
    BeforeProcessLorebook,
    ProcessActivatedEntries,
    ProcessLorebookEntry,
    ProcessLorebooks,
    onward,
)
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import LazyStory, trimmed_branch
from marginalia.pipeline.steps.context import adopt, rendered, shared_context
from marginalia.prompt.payload import SEPARATOR
from marginalia.prompt.stages import Insert, Lore, Placed
from marginalia.story.summaries import joined_summaries
from marginalia.values import Book, Limits, Request

TIMING = "lore.timing"
"""The attribute of a part that holds the timed state of lore as it is after it."""

_MANY = 300
_AT_ONCE = 50


async def process_lorebook(run: Run, known: BeforeProcessLorebook) -> AfterProcessLorebook:
    """Collect, order, activate, render, insert (specification, step 3). A book without lorebook has no lore at all."""
    adopt(run, known)
    root = known.book.lorebook_id
    if root is None:
        return _onward(run, known, Lore(), known.inserts)
    found = await anyio.to_thread.run_sync(collect, root, run.ports.library.filled_lorebook)
    offered = await run.emit(onward(known, ProcessLorebooks, lorebooks=found))
    candidates = await _offer_entries(run, offered)
    verdicts = await _activate(run, known, candidates)
    activated = tuple(verdict.entry for verdict in verdicts if verdict.active)
    chosen = await run.emit(onward(offered, ProcessActivatedEntries, activated=activated, verdicts=verdicts))
    adopt(run, chosen)
    verdicts = overruled(chosen.verdicts, chosen.activated)
    order = tuple(verdict for verdict in verdicts if verdict.active)
    texts = await _render_all(run, order)
    if len(order) > _MANY:
        lore, more = await anyio.to_thread.run_sync(_placed, verdicts, order, texts)
    else:
        lore, more = _placed(verdicts, order, texts)
    return _onward(run, chosen, lore, (*chosen.inserts, *more))


def _onward(
    run: Run, known: BeforeProcessLorebook, lore: Lore, all_inserts: tuple[Insert, ...]
) -> AfterProcessLorebook:
    """Put the lore that goes before the user prompt in front of it; its tokens are the sum of both counts (B1 47)."""
    count = run.ports.tokenizer.count
    prompt, tokens = known.user_prompt, count(known.user_prompt)
    if lore.before_user:
        prompt = lore.before_user + SEPARATOR + prompt
        tokens += count(lore.before_user)
    return onward(
        known,
        AfterProcessLorebook,
        lore=lore,
        inserts=all_inserts,
        user_prompt=prompt,
        user_prompt_tokens=tokens,
        variables=shared_context(run, known).variables,
    )


async def _offer_entries(run: Run, known: ProcessLorebooks) -> tuple[Candidate, ...]:
    """Every entry, as the listeners of its event leave it.

    Without listeners nothing is touched, so that caches hold.
    """
    lorebooks: Sequence[FilledLorebook] = tuple(known.lorebooks)
    candidates = in_order(lorebooks)
    if not run.heard(ProcessLorebookEntry):
        return candidates
    changed: list[Candidate] = []
    for candidate in candidates:
        event = onward(known, ProcessLorebookEntry, entry=candidate.entry, lorebook=candidate.lorebook.name)
        answer = await run.emit(event)
        same = answer.entry is candidate.entry
        changed.append(candidate if same else replace(candidate, entry=answer.entry))
    unchanged = all(old is new for old, new in zip(candidates, changed, strict=True))
    return candidates if unchanged else tuple(changed)


async def _activate(
    run: Run, known: BeforeProcessLorebook, candidates: Sequence[Candidate]
) -> tuple[Verdict, ...]:
    prompt, limits = known.user_prompt, known.limits
    scan = await anyio.to_thread.run_sync(turn_scan, run, known.book, known.request, prompt, limits)
    if len(candidates) > _MANY:
        return await anyio.to_thread.run_sync(activate, candidates, scan)
    return activate(candidates, scan)


def turn_scan(run: Run, book: Book, request: Request, user_prompt: str, limits: Limits) -> Scan:
    """What lore looks at in a run: its request, the branch that is continued, memory. Reads the newest part."""
    branch = trimmed_branch(run.manuscript.tree, book.active_leaf, request)
    story = LazyStory(run.manuscript.tree, branch, run.ports.library)
    state: Mapping[str, int] | None = None
    if branch:
        state = run.ports.library.part(branch[-1]).attributes.get(TIMING)
    return Scan(
        request=user_prompt,
        tags=book.tags,
        story=_NewestFirst(story),
        memory=tuple(block.summary.text for block in run.chain.blocks) if run.chain else (),
        parts=len(branch),
        timing=Timing.of(state),
        seed=run.seed,
        count=run.ports.tokenizer.count,
        counter=getattr(run.ports.tokenizer, "alike", None),
        budget=lore_budget(book, limits),
    )


def lore_budget(book: Book, limits: Limits) -> int:
    """What all lore together may have, in tokens; 0 is no limit.

    The book sets ``lore_tokens`` or ``lore_share`` (percent of the context); the smaller one counts.
    """
    tokens = book.settings.get("lore_tokens") or 0
    share = int(limits.context * (book.settings.get("lore_share") or 0) / 100)
    wanted = [number for number in (tokens, share) if isinstance(number, int) and number > 0]
    return min(wanted, default=0)


class _NewestFirst(Sequence[str]):
    """The story from its end, read only as far as somebody looks."""

    def __init__(self, story: Sequence[str]) -> None:
        self._story = story

    def __len__(self) -> int:
        return len(self._story)

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:  # type: ignore[override]
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]  # type: ignore[misc]
        return self._story[len(self._story) - 1 - range(len(self))[index]]


async def _render_all(run: Run, order: Sequence[Verdict]) -> list[str]:
    """The rendered payloads, in order, with one shared set of variables.

    What does not render is used as it is (B1 16).
    """
    context, blocks = run.context, run.chain.blocks if run.chain else ()
    # Known in lore, too; the lore itself is only being made.
    data = {"backgroundLore": None, "summaries": joined_summaries(blocks)}
    texts: list[str] = []
    for at, verdict in enumerate(order):
        if at % _AT_ONCE == _AT_ONCE - 1:
            await (
                anyio.lowlevel.checkpoint()
            )  # thousands of entries may be in, and other people's pages are to go on
        entry = verdict.entry
        if context is None or not entry.payload.strip():
            texts.append("")
            continue
        try:
            place = f"lore/{entry.uid or entry.name}"
            payload = await rendered(
                run, entry.payload, context=context, place=place, syntax=entry.syntax, data=data
            )
            texts.append(payload.text)
        except TemplateError as error:
            texts.append(entry.payload)
            await run.warn(
                f"The lore entry {entry.name!r} could not be rendered and is used as it is: {error}",
                entry.name,
            )
    return texts


def _placed(
    verdicts: Sequence[Verdict], order: Sequence[Verdict], texts: Sequence[str]
) -> tuple[Lore, tuple[Insert, ...]]:
    text_of = {id(verdict): text for verdict, text in zip(order, texts, strict=True)}
    places = inserts(order)
    background, placed = joined_payloads(places.lore_block, text_of)
    before_user, placed_before = joined_payloads(places.before_user_prompt, text_of)
    deep = tuple(
        Insert(
            text=text,
            owner=", ".join(verdict.entry.name for verdict in each.verdicts),
            role=each.role,
            depth=each.depth,
            reason="; ".join(verdict.reason for verdict in each.verdicts),
        )
        for each in places.at_depth
        if (text := joined_payloads(each.verdicts, text_of)[0])
    )
    lore = Lore(
        background=background,
        before_user=before_user,
        verdicts=tuple(verdicts),
        placed=placed,
        placed_before_user=placed_before,
        slots={name: joined_payloads(each, text_of)[0] for name, each in places.slots},
    )
    return lore, deep


def joined_payloads(
    verdicts: Sequence[Verdict], text_of: Mapping[int, str]
) -> tuple[str, tuple[Placed, ...]]:
    """One block of payloads.

    Each that is not blank is followed by an empty line, the whole is trimmed at both ends (B1 46).
    """
    pieces = [(verdict, text_of[id(verdict)]) for verdict in verdicts if text_of[id(verdict)].strip()]
    whole = "".join(text + SEPARATOR for _, text in pieces)
    block = whole.strip()
    at = -(len(whole) - len(whole.lstrip()))
    placed: list[Placed] = []
    for verdict, text in pieces:
        start, end = max(0, at), min(at + len(text), len(block))
        entry = verdict.entry
        placed.append(Placed(entry_id=entry.id, name=entry.name, reason=verdict.reason, start=start, end=end))
        at += len(text) + len(SEPARATOR)
    return block, tuple(placed)
