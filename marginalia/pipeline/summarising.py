"""Writing summaries with a model.

Of the parts up to one, and of several summaries at once (spec/semantics.md, B1 58 to 69).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeAlias

import anyio.to_thread

from marginalia.errors import (
    ContextOverflow,
    InvalidInput,
    ModelError,
    ModelErrorKind,
    NotFound,
    ValidationProblem,
)
from marginalia.pipeline.defaults import default_prompts
from marginalia.pipeline.ports import Call, Chunk, Manuscript, Ports
from marginalia.pipeline.steps.constants import LazyStory
from marginalia.pipeline.steps.prepare import MISSING_MODEL, MISSING_PROTOCOL
from marginalia.prompt.context import Facts, Rendered, TemplateContext, Variables
from marginalia.prompt.payload import SEPARATOR
from marginalia.story.parts import Part, Summary
from marginalia.story.summaries import (
    Block,
    collect_blocks,
    hash_of,
    joined_summaries,
    merge_range,
    summaries_on,
)
from marginalia.values import BookId, Limits, Message, PartId, Prompts, Provider, SummaryId, resolve_limits

Hear: TypeAlias = Callable[[str], object]


class SummaryStore(Protocol):
    """Where summaries are kept; each call is one transaction."""

    def attach(self, summary: Summary) -> Summary:
        """Hang a summary on its part, over the one that it replaces, if any; gives it with its id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A summary that is about to be written: what is sent, what it will cover, and the one it will replace."""

    messages: tuple[Message, ...]
    parts: tuple[PartId, ...]
    merged: tuple[Summary, ...] = ()
    source_hash: str
    replaced: Summary | None = None
    oldest: PartId | None = None


class Summariser:
    """Asks the book's model for summaries."""

    def __init__(self, ports: Ports, store: SummaryStore) -> None:
        self._ports = ports
        self._store = store

    def draft(self, book: BookId, part: PartId, *, seed: int = 0) -> Draft:
        """What a summary of *part* and everything before it, down to the next summary, would send.

        Raises ``InvalidInput`` when the part has a summary already, ``ValidationProblem`` without model or
        protocol, and ``ContextOverflow`` with both numbers when the text does not fit.
        """
        manuscript = self._ports.library.manuscript(book)
        branch = manuscript.tree.branch(part)
        on = summaries_on(manuscript.tree, branch, manuscript.summaries)
        if part in on:
            raise InvalidInput(f"Part {part} has a summary already; remove it first to write another.")
        parts = _down_to_next(branch, on)
        texts = self._ports.library.texts(parts)
        text = SEPARATOR.join(texts.get(each, "") for each in reversed(parts))
        spent = sum(manuscript.tree[each].tokens + 1 for each in parts)
        data = {"text": text, "summaries": joined_summaries(collect_blocks(branch, on))}
        messages = self._messages(manuscript, self._ports.library.part(part), data, spent, seed)
        return Draft(messages=messages, parts=parts, source_hash=hash_of(parts, on, texts, meta=False))

    def merge_draft(self, book: BookId, newest: PartId, oldest: PartId, *, seed: int = 0) -> Draft:
        """What merging the summaries from *newest* back to *oldest* would send.

        Raises ``InvalidInput`` if they cannot be merged.
        """
        manuscript = self._ports.library.manuscript(book)
        branch = manuscript.tree.branch(newest)
        on = summaries_on(manuscript.tree, branch, manuscript.summaries)
        blocks = merge_range(branch, on, newest, oldest)
        if not blocks:
            raise InvalidInput(
                "These summaries cannot be merged: both ends need a summary on the same branch, the second end must "
                "be older, and there must be at least two to merge."
            )
        return self._merge(manuscript, on, blocks, seed)

    def blocks(self, book: BookId, leaf: PartId | None = None) -> tuple[tuple[Block, bool], ...]:
        """The summaries in use on a branch, newest first, each with whether its story is unchanged."""
        manuscript = self._ports.library.manuscript(book)
        branch = manuscript.tree.branch(manuscript.book.active_leaf if leaf is None else leaf)
        on = summaries_on(manuscript.tree, branch, manuscript.summaries)
        valid = self._ports.verifier.valid
        texts = self._ports.library.texts
        return tuple(
            (block, valid(block, on, manuscript.tree, texts)) for block in collect_blocks(branch, on)
        )

    async def write(self, book: BookId, draft: Draft, listen: Hear | None = None) -> Summary:
        """Ask the model and keep what it answers; *listen* hears it piece by piece.

        Stopped (cancelled) or failed, nothing is kept.
        """
        text = await self._answer(book, draft.messages, listen)
        if not text.strip():
            raise ModelError(
                ModelErrorKind.UNKNOWN, "The model gave an empty summary; nothing was changed. Try again."
            )
        summary = Summary(
            id=draft.replaced.id if draft.replaced else SummaryId(0),
            part_id=draft.parts[0],
            text=text,
            source_hash=draft.source_hash,
            tokens=self._ports.tokenizer.count(text),
            oldest_id=draft.oldest,
            replaced=draft.replaced,
            created=self._ports.clock(),
        )
        return await anyio.to_thread.run_sync(self._store.attach, summary)

    async def _answer(self, book: BookId, messages: tuple[Message, ...], listen: Hear | None) -> str:
        manuscript = self._ports.library.manuscript(book)
        if manuscript.provider is None or manuscript.protocol is None:
            raise ValidationProblem(MISSING_MODEL if manuscript.provider is None else MISSING_PROTOCOL)
        limits = resolve_limits(manuscript.provider, manuscript.protocol)
        call = Call(
            provider=manuscript.provider, protocol=manuscript.protocol, limits=limits, messages=messages
        )
        pieces: list[str] = []
        async with self._ports.inference.stream(call) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Chunk) and arrival.kind == "text":
                    pieces.append(arrival.text)
                    if listen:
                        listen(arrival.text)
        return "".join(pieces)

    def _merge(
        self, manuscript: Manuscript, on: Mapping[PartId, Summary], blocks: Sequence[Block], seed: int
    ) -> Draft:
        parts = tuple(part for block in blocks for part in block.parts)
        merged = tuple(block.summary for block in reversed(blocks))
        data = {"summaryBlocks": SEPARATOR.join(summary.text for summary in merged)}
        spent = sum(summary.tokens + 1 for summary in merged)
        texts = self._ports.library.texts(parts)
        return Draft(
            messages=self._messages(
                manuscript, self._ports.library.part(parts[0]), data, spent, seed, meta=True
            ),
            parts=parts,
            merged=merged,
            source_hash=hash_of(parts, on, texts, meta=True),
            replaced=blocks[0].summary,
            oldest=blocks[-1].summary.part_id,
        )

    def _messages(
        self,
        manuscript: Manuscript,
        part: Part,
        data: Mapping[str, str],
        spent: int,
        seed: int,
        *,
        meta: bool = False,
    ) -> tuple[Message, ...]:
        """A single system message: jailbreak, empty line, rendered prompt (B1 64), refused when too long (B1 65)."""
        provider = manuscript.provider
        if provider is None:
            raise ValidationProblem(MISSING_MODEL)
        limits = resolve_limits(provider, manuscript.protocol)
        # The frame is measured apart, so that a text that is too long is refused before it is rendered.
        frame = self.rendered(manuscript, part, dict.fromkeys(data, ""), meta=meta, seed=seed)
        measures = self._ports.measures
        count = (self._ports.tokenizer if measures is None else measures.tokenizer(provider)).count
        spent = spent if measures is None else measures.scaled(provider, spent)
        self._refuse_overflow(count(frame.text) + spent, limits)
        text = self.rendered(manuscript, part, data, meta=meta, seed=seed).text
        if provider.needs_jailbreak and provider.jailbreak and provider.jailbreak.strip():
            text = provider.jailbreak + SEPARATOR + text
        self._refuse_overflow(count(text), limits)
        return (Message(role="system", content=text),)

    def rendered(
        self,
        manuscript: Manuscript,
        part: Part,
        data: Mapping[str, str],
        *,
        meta: bool = False,
        seed: int = 0,
    ) -> Rendered:
        """The summary prompt of a book, or its prompt for merging, with *data* in it; changes nothing (B1 69)."""
        prompts = manuscript.book.prompts.over(manuscript.defaults, default_prompts())
        name = "meta_summary_prompt" if meta else "summary_prompt"
        limits = resolve_limits(manuscript.provider or Provider(), manuscript.protocol)
        return self._ports.render(
            getattr(prompts, name) or "",
            context=self._context(manuscript, part, prompts, limits, seed),
            data={**_lore(part), **data},
            place="summary",
            syntax=prompts.syntax_of(name),
            macros=self._ports.macros(),
        )

    def _refuse_overflow(self, tokens: int, limits: Limits) -> None:
        if tokens > limits.prompt:
            raise ContextOverflow(tokens, limits.prompt)

    def _context(
        self, manuscript: Manuscript, part: Part, prompts: Prompts, limits: Limits, seed: int
    ) -> TemplateContext:
        """The context of a summary prompt; its type is ``quiet``, and what it changes is thrown away (B1 69)."""
        branch = manuscript.tree.branch(part.id)
        facts = Facts(
            book=manuscript.book,
            book_id=manuscript.book.uid or str(manuscript.book.id),
            book_name=manuscript.book.name,
            book_description=manuscript.book.description,
            turn=part.turn,
            pov=prompts.pov or "",
            tense=prompts.tense or "",
            style=prompts.style or "",
            model=manuscript.provider.model if manuscript.provider else "",
            limits=limits,
            generation_type="quiet",
            story=LazyStory(manuscript.tree, branch, self._ports.library),
            last_instructions=part.turn.instructions or "",
            last_time=part.request_time,
            now=self._ports.clock(),
        )
        variables = Variables(local=part.variables, shared=manuscript.book.global_variables)
        return TemplateContext(facts, variables, Random(seed))  # noqa: S311 - stories need dice, not secrets


def _lore(part: Part) -> dict[str, str]:
    return {"backgroundLore": part.background_lore}


def _down_to_next(branch: Sequence[PartId], on: Mapping[PartId, Summary]) -> tuple[PartId, ...]:
    """The last part of *branch* and those before it, newest first, down to the next one with a summary."""
    parts: list[PartId] = []
    for part in reversed(branch):
        if part in on:
            break
        parts.append(part)
    if not parts:
        raise NotFound("There is no story to summarise here.")
    return tuple(parts)
