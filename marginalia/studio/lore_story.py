"""What lore is tried with: the texts that are scanned, and the story again, part by part. Blocking calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, Literal, TypeAlias

from marginalia.errors import TemplateError
from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook
from marginalia.lore.collecting import Candidate, in_order
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from marginalia.lore.verdicts import Verdict
from marginalia.pipeline.events import ProcessLorebooks
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import turn_data
from marginalia.pipeline.steps.lorebook import TIMING, lore_budget
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.rendering import Renders
from marginalia.prompt.templates import render
from marginalia.story.parts import Part, Summary
from marginalia.story.summaries import collect_blocks
from marginalia.values import Book, Limits, PartId, Prompts

Kind: TypeAlias = Literal["next", "end", "part", "asked", "pasted"]
_END = 4_000
_CERTAIN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is scanned: the next request, the story's end, a part's text, the request a part came of, a pasted text."""

    kind: Kind = "next"
    number: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a turn sees of lore: enough to decide again with something changed, by the same dice.

    ``count`` counts tokens and ``render`` renders templates as they are for the prompt of that turn.
    """

    book: Book
    lorebooks: tuple[FilledLorebook, ...]
    request: str
    memory: tuple[str, ...]
    seed: int
    limits: Limits
    count: Callable[[str], int]
    counter: object = None
    render: Renders = render

    @classmethod
    def of(cls, run: Run, known: ProcessLorebooks) -> Moment:
        """The moment of a preview, as its event tells it."""
        return cls(
            book=known.book,
            lorebooks=tuple(known.lorebooks),
            request=known.user_prompt,
            memory=tuple(block.summary.text for block in run.chain.blocks) if run.chain else (),
            seed=run.seed,
            limits=known.limits,
            count=run.ports.tokenizer.count,
            counter=getattr(run.ports.tokenizer, "alike", None),
            render=run.ports.render,
        )


@dataclass(frozen=True, kw_only=True)
class History:
    """The parts of a branch, oldest first; the prompts that requests are written with; the summaries by their parts.

    ``dice`` gives the seed that a part was written with. What was rendered is remembered, so keep a history as long as
    the story stays as it is.
    """

    parts: tuple[Part, ...]
    prompts: Prompts
    summaries: Mapping[PartId, Summary]
    dice: Callable[[Part], int]
    _requests: dict[int, str] = field(default_factory=dict[int, str], repr=False)

    def request(self, moment: Moment, number: int) -> str:
        """What part *number* was asked for with, rendered with the book's template as it is now.

        Macros of extensions are not called; a template that cannot be rendered leaves the four fields as they are.
        """
        if number not in self._requests:
            self._requests[number] = self._rendered(moment, number)
        return self._requests[number]

    def scan(self, moment: Moment, source: Source, *, dice: bool = True) -> Scan:
        """What entries look at for *source*; without *dice*, what chance decides is left open."""
        asked = source.kind in {"part", "asked"} and 1 <= source.number <= len(self.parts)
        before = source.number - 1 if asked else len(self.parts)
        texts = self._newest_first(before)
        request, memory = moment.request, tuple[str, ...]()
        match source.kind:
            case "next":
                memory = moment.memory
            case "end":
                request = "\n\n".join(reversed(texts[:3]))[-_END:]
            case "pasted":
                request, texts = source.text, ()
            case "part" if asked:
                request = self.parts[source.number - 1].text
            case "asked" if asked:
                request, memory = self.request(moment, source.number), self._memory(before)
            case _:
                pass
        return Scan(
            request=request,
            tags=moment.book.tags,
            story=texts,
            memory=memory,
            parts=before,
            timing=Timing.of(self.parts[before - 1].attributes.get(TIMING) if before else None),
            seed=self.dice(self.parts[source.number - 1]) if asked and dice else moment.seed,
            count=moment.count,
            counter=moment.counter,
            budget=lore_budget(moment.book, moment.limits),
        )

    def scans(self, moment: Moment, candidates: Sequence[Candidate]) -> Iterator[Scan]:
        """The turn of every part, oldest first. Timed effects are the replay's: entries may have changed since."""
        dice = any(each.entry.when.chance < _CERTAIN or each.entry.when.groups for each in candidates)
        for number in range(1, len(self.parts) + 1):
            scan = self.scan(moment, Source(kind="asked", number=number), dice=dice)
            yield replace(scan, timing=Timing()) if number == 1 else scan

    @cached_property
    def _texts(self) -> tuple[Sequence[str], Sequence[int]]:
        """The texts that are not blank, newest first, and how many of them come after the first so many parts."""
        texts, after = list[str](), [0]
        for part in reversed(self.parts):
            texts += [part.text] if part.text.strip() else []
            after.append(len(texts))
        return texts, after[::-1]

    def _newest_first(self, parts: int) -> Sequence[str]:
        texts, after = self._texts
        return Tail(texts, after[parts])

    def _memory(self, parts: int) -> tuple[str, ...]:
        """The summaries that stood for the story when there were so many parts."""
        if not self.summaries:
            return ()
        branch = [part.id for part in self.parts[:parts]]
        on = {part: self.summaries[part] for part in branch if part in self.summaries}
        return tuple(block.summary.text for block in collect_blocks(branch, on)) if on else ()

    def _rendered(self, moment: Moment, number: int) -> str:
        part, last = self.parts[number - 1], self.parts[number - 2] if number > 1 else None
        data = turn_data(part.turn)
        facts = Facts(
            book_id=moment.book.uid or str(moment.book.id),
            book_name=moment.book.name,
            book_description=moment.book.description,
            turn=part.turn,
            pov=self.prompts.pov or "",
            tense=self.prompts.tense or "",
            style=self.prompts.style or "",
            limits=moment.limits,
            story=[last.text] if last is not None and last.text.strip() else [],
            last_instructions=(last.turn.instructions or "") if last is not None else "",
        )
        variables = Variables(
            local=last.variables if last is not None else {}, shared=moment.book.global_variables
        )
        context = TemplateContext(facts, variables, Random(part.id))  # noqa: S311 - stories need dice, not secrets
        template, syntax = self.prompts.user_prompt, self.prompts.syntax
        try:
            made = moment.render(template, context=context, data=data, place="user_prompt", syntax=syntax)
        except TemplateError:
            return "\n".join(filter(None, data.values()))
        return made.text


class Tail(Sequence[str]):
    """The texts from some place on, without a copy of them for every part."""

    def __init__(self, texts: Sequence[str], start: int) -> None:
        self._texts = texts
        self._start = start

    def __len__(self) -> int:
        return len(self._texts) - self._start

    def __getitem__(self, index: int | slice) -> Any:  # noqa: ANN401 - a text, or several for a slice
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return self._texts[self._start + range(len(self))[index]]


def with_draft(lorebooks: Sequence[FilledLorebook], draft: Entry | None) -> tuple[FilledLorebook, ...]:
    """The lorebooks as they would be with *draft* saved; one without an id is added to the first."""
    if draft is None or not lorebooks:
        return tuple(lorebooks)
    if not draft.id:
        first, *rest = lorebooks
        return (replace(first, entries=(*first.entries, draft)), *rest)
    return tuple(
        replace(each, entries=tuple(draft if entry.id == draft.id else entry for entry in each.entries))
        if each.lorebook.id == draft.lorebook_id
        else each
        for each in lorebooks
    )


def decide(
    moment: Moment, history: History, source: Source, draft: Entry | None
) -> tuple[Scan, tuple[Verdict, ...]]:
    """What was scanned, and the verdict on every entry."""
    scan = history.scan(moment, source)
    return scan, activate(in_order(with_draft(moment.lorebooks, draft)), scan)
