"""What the lore explorer looks with: the texts that are scanned, and the story again, part by part. Blocking calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from marginalia.errors import TemplateError
from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook
from marginalia.lore.collecting import in_order
from marginalia.lore.replay import replay
from marginalia.lore.scan import Scan
from marginalia.lore.timing import Timing
from marginalia.pipeline.steps.constants import turn_data
from marginalia.pipeline.steps.lorebook import TIMING, lore_budget
from marginalia.prompt.context import Facts, TemplateContext, Variables
from marginalia.prompt.rendering import Renders
from marginalia.prompt.templates import render
from marginalia.values import EntryId, Limits

if TYPE_CHECKING:
    from threading import Event

    from marginalia.lore.verdicts import Verdict
    from marginalia.pipeline.events import ProcessLorebooks
    from marginalia.pipeline.run import Run
    from marginalia.story.parts import Part
    from marginalia.studio import Studio
    from marginalia.values import Book, Prompts

Kind: TypeAlias = Literal["next", "end", "part", "asked", "pasted"]
_END = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is scanned: the next request, the story's end, a part's text, the request a part came of, a pasted text."""

    kind: Kind = "next"
    number: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the last preview saw of lore: enough to decide again with something changed, by the same dice."""

    book: Book
    lorebooks: tuple[FilledLorebook, ...]
    request: str
    memory: tuple[str, ...]
    seed: int
    limits: Limits

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The parts of a branch, oldest first, and the prompts that their requests were written with."""

    parts: tuple[Part, ...]
    prompts: Prompts
    render: Renders = render

    @classmethod
    def read(cls, studio: Studio, book: Book) -> History:
        """The active branch as it is stored now."""
        return cls(
            parts=studio.story.branch(book),
            prompts=studio.effective_prompts(book),
            render=studio.prompting.render,
        )

    def request(self, moment: Moment, number: int) -> str:
        """What part *number* was asked for with, rendered with the book's template as it is now.

        Macros of extensions are not called; a template that cannot be rendered leaves the four fields as they are.
        """
        part, before = self.parts[number - 1], self.parts[: number - 1]
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
            story=[each.text for each in before[-1:] if each.text.strip()],
            last_instructions=(before[-1].turn.instructions or "") if before else "",
        )
        variables = Variables(
            local=before[-1].variables if before else {}, shared=moment.book.global_variables
        )
        context = TemplateContext(facts, variables, Random(part.id))  # noqa: S311 - stories need dice, not secrets
        try:
            template, syntax = self.prompts.user_prompt, self.prompts.syntax_of("user_prompt")
            return self.render(template, context=context, data=data, place="user_prompt", syntax=syntax).text
        except TemplateError:
            return "\n".join(filter(None, data.values()))

    def scan(self, studio: Studio, moment: Moment, source: Source) -> Scan:
        """What entries look at for *source*."""
        asked = source.kind in {"part", "asked"} and 1 <= source.number <= len(self.parts)
        before = self.parts[: source.number - 1] if asked else self.parts
        texts = [part.text for part in reversed(before) if part.text.strip()]
        request = moment.request
        match source.kind:
            case "end":
                request = "\n\n".join(reversed(texts[:3]))[-_END:]
            case "pasted":
                request, texts = source.text, []
            case "part" if asked:
                request = self.parts[source.number - 1].text
            case "asked" if asked:
                request = self.request(moment, source.number)
            case _:
                pass
        return Scan(
            request=request,
            tags=moment.book.tags,
            story=texts,
            memory=moment.memory if source.kind == "next" else (),
            parts=len(before),
            timing=Timing.of(before[-1].attributes.get(TIMING) if before else None),
            seed=_seed(studio, self.parts[source.number - 1]) if asked else moment.seed,
            count=studio.tokenizer.count,
            budget=lore_budget(moment.book, moment.limits),
        )


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
    studio: Studio, moment: Moment, history: History, source: Source, draft: Entry | None
) -> tuple[Scan, tuple[Verdict, ...]]:
    """What was scanned, and the verdict on every entry."""
    scan = history.scan(studio, moment, source)
    return scan, activate(in_order(with_draft(moment.lorebooks, draft)), scan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An entry at a part of a map: whether it was in, whether it nearly was, and why."""

    row: int
    part: int
    active: bool
    nearly: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMap:
    """What lore would have done at every part: how often each entry was in, and the cells of the ``rows`` shown.

    ``fired`` counts by entry id, ``last`` is the last part with it; ``first`` and ``parts`` are the numbers of the
    first part shown and of the last.
    """

    rows: tuple[tuple[EntryId, str], ...]
    cells: tuple[Cell, ...]
    fired: dict[EntryId, int]
    last: dict[EntryId, int]
    first: int
    parts: int


def story_map(
    studio: Studio,
    moment: Moment,
    history: History,
    draft: Entry | None,
    *,
    shown: Sequence[EntryId],
    most: int,
    ended: Event,
) -> StoryMap | None:
    """The story again, from its first part to its last; ``None`` when *ended* was set meanwhile.

    ``shown`` are the entries that get cells, for the last *most* parts. Timed effects run through from the start.
    """
    candidates = in_order(with_draft(moment.lorebooks, draft))
    places = {candidate.entry.id: at for at, candidate in enumerate(candidates)}
    wanted = [(each, places[each]) for each in shown if each in places]
    total, cells = len(history.parts), list[Cell]()
    first = max(1, total - most + 1)
    fired, last = dict.fromkeys(places, 0), dict[EntryId, int]()
    for number, verdicts in enumerate(replay(candidates, _scans(studio, moment, history)), start=1):
        if ended.is_set():
            return None
        for verdict in verdicts:
            if verdict.active:
                fired[verdict.entry.id] += 1
                last[verdict.entry.id] = number
        if number >= first:
            cells += [_cell(row, number, verdicts[at]) for row, (_, at) in enumerate(wanted)]
    rows = tuple((each, candidates[at].entry.name) for each, at in wanted)
    return StoryMap(rows=rows, cells=tuple(cells), fired=fired, last=last, first=first, parts=total)


def _scans(studio: Studio, moment: Moment, history: History) -> Iterator[Scan]:
    for number in range(1, len(history.parts) + 1):
        scan = history.scan(studio, moment, Source(kind="asked", number=number))
        # Timed effects come from the replay itself: entries may have changed since the parts were written.
        yield replace(scan, timing=Timing()) if number == 1 else scan


def _cell(row: int, part: int, verdict: Verdict) -> Cell:
    return Cell(
        row=row,
        part=part,
        active=verdict.active,
        nearly=verdict.nearly,
        reason=verdict.reason.replace("*", ""),
    )


def _seed(studio: Studio, part: Part) -> int:
    """The dice that a part was written with; those of its own for one written by hand."""
    receipt = studio.story.receipt(part) if part.model else None
    return receipt.seed if receipt is not None else part.id
