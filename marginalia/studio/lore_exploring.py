"""Lore tried out: the verdicts on any text or turn, with any lorebook; and over the whole branch of a book."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from marginalia.errors import TemplateError
from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook, Lorebook
from marginalia.lore.collecting import collect, in_order
from marginalia.lore.replay import replay
from marginalia.lore.scan import Scan
from marginalia.pipeline.defaults import default_prompts
from marginalia.pipeline.events import AfterStaticTemplateData
from marginalia.pipeline.ports import Manuscript
from marginalia.pipeline.run import Run
from marginalia.pipeline.steps.constants import effective_templates, template_context, turn_data
from marginalia.pipeline.steps.lorebook import turn_scan
from marginalia.prompt.segments import LoreList
from marginalia.store import Store
from marginalia.story.parts import Part
from marginalia.story.summaries import summaries_on
from marginalia.story.tree import StoryTree
from marginalia.studio.inspecting import HoldsTurn, NewRun
from marginalia.studio.lore_replay import Replay
from marginalia.studio.lore_story import History, Moment
from marginalia.studio.names import BookLike, book_id
from marginalia.values import Book, BookId, Limits, LorebookId, NewPart, Provider, Turn, resolve_limits
from marginalia.values import Protocol as SamplingProtocol

World: TypeAlias = Lorebook | LorebookId | int | FilledLorebook | Iterable[Entry]
Looked: TypeAlias = "str | Turn | HoldsTurn"


class Activated(LoreList):
    """The verdict on every entry, in the order of a prompt; in a notebook a table. ``scan`` is what was looked at."""

    scan: Scan
    _over: Callable[[BookLike], Replay]

    @classmethod
    def of(
        cls, lorebooks: tuple[FilledLorebook, ...], scan: Scan, over: Callable[[BookLike], Replay]
    ) -> Activated:
        """The verdicts on the entries of *lorebooks*; *over* replays them."""
        made = cls(activate(in_order(lorebooks), scan))
        made.scan, made._over = scan, over
        return made

    def replay(self, book: BookLike) -> Replay:
        """The same entries over every part of *book*'s active branch."""
        return self._over(book)


class LoreExploring:
    """Reads, and changes nothing. Nothing here asks listeners of extensions: entries are decided as they are stored."""

    def __init__(self, store: Store, new_run: NewRun) -> None:
        self._store = store
        self._new_run = new_run

    def activate(self, world: World, looked_at: Looked, book: BookLike | None = None) -> Activated:
        """See :meth:`LoreShelf.activate`."""
        lorebooks = self.lorebooks(world)
        run = self._run(looked_at, book)
        request = looked_at if isinstance(looked_at, str) else self._rendered(run)
        scan = turn_scan(run, run.manuscript.book, run.request, request, self._limits(run))
        return Activated.of(lorebooks, scan, lambda book: self._replayed(lorebooks, book))

    def replay(self, book: BookLike, world: World | None = None) -> Replay:
        """See :meth:`LoreShelf.replay`."""
        record = self._store.books.get(book_id(book))
        root = record.lorebook_id if world is None else world
        return self._replayed(() if root is None else self.lorebooks(root), record)

    def lorebooks(self, world: World) -> tuple[FilledLorebook, ...]:
        """*world* and what is below it, as a book would use it. Raises ``NotFound``."""
        if isinstance(world, FilledLorebook):
            return (world,)
        if isinstance(world, Lorebook | int):
            root = self._store.lorebooks.get(world).id
            return collect(root, self._store.library.filled_lorebook)
        return (FilledLorebook(lorebook=Lorebook(), entries=tuple(world)),)

    def history(self, book: BookLike) -> History:
        """The active branch of a book as it is stored now. Raises ``NotFound``."""
        manuscript = self._store.library.manuscript(book_id(book))
        record, tree = manuscript.book, manuscript.tree
        branch = tree.branch(record.active_leaf)
        return History(
            parts=self._store.story.branch(record),
            prompts=record.prompts.over(manuscript.defaults, default_prompts()),
            summaries=summaries_on(tree, branch, manuscript.summaries),
            dice=self._seed,
        )

    def moment(
        self, book: BookLike, lorebooks: tuple[FilledLorebook, ...], turn: Turn | None = None
    ) -> Moment:
        """What a *turn* of *book* would see of *lorebooks*; without one, with an empty request. Raises ``NotFound``.

        A template that cannot be rendered leaves what was typed as it is.
        """
        run = self._run(turn or "", book)
        try:
            request = self._rendered(run) if turn is not None else ""
        except TemplateError:
            request = "\n".join(filter(None, turn_data(run.turn).values()))
        return Moment(
            book=run.manuscript.book,
            lorebooks=lorebooks,
            request=request,
            memory=tuple(block.summary.text for block in run.chain.blocks) if run.chain else (),
            seed=run.seed,
            limits=self._limits(run),
            count=run.ports.tokenizer.count,
            counter=getattr(run.ports.tokenizer, "alike", None),
            render=run.ports.render,
        )

    def _replayed(self, lorebooks: tuple[FilledLorebook, ...], book: BookLike) -> Replay:
        moment, history = self.moment(book, lorebooks), self.history(book)
        candidates = in_order(lorebooks)
        return Replay.of(replay(candidates, history.scans(moment, candidates)))

    def _run(self, looked_at: Looked, book: BookLike | None) -> Run:
        """A preview that was not started, with the context that templates have in it."""
        if book is not None:
            manuscript = self._store.library.manuscript(book_id(book))
        else:
            manuscript = Manuscript(book=Book(id=BookId(0)), tree=StoryTree())
        turn = Turn() if isinstance(looked_at, str) else looked_at
        run = self._new_run(manuscript, turn, NewPart(), preview=True)
        run.context = template_context(run, self._known(run))
        return run

    def _known(self, run: Run) -> AfterStaticTemplateData:
        record, provider = run.manuscript.book, run.manuscript.provider or Provider()
        return AfterStaticTemplateData(
            book=record,
            turn=run.turn,
            request=run.request,
            provider=provider,
            protocol=run.manuscript.protocol or SamplingProtocol(),
            limits=self._limits(run),
            templates=effective_templates(record, provider, run),
        )

    def _rendered(self, run: Run) -> str:
        """The request that a turn is rendered to, as step 2 does it."""
        templates = self._known(run).templates
        if run.context is None:
            return ""
        made = run.ports.render(
            templates.user_prompt,
            context=run.context,
            data=turn_data(run.turn),
            place="user_prompt",
            syntax=templates.syntax,
            macros=run.macros,
        )
        return made.text

    def _limits(self, run: Run) -> Limits:
        return resolve_limits(run.manuscript.provider, run.manuscript.protocol)

    def _seed(self, part: Part) -> int:
        """The dice that a part was written with; those of its own for one written by hand."""
        receipt = self._store.story.receipt(part) if part.model else None
        return receipt.seed if receipt is not None else part.id
