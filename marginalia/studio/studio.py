"""The composition root: one object that opens the store, the models and the extensions, and owns the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import anyio.to_thread

from marginalia.extensions.api import Extension
from marginalia.extensions.lore_tests import LoreTests
from marginalia.extensions.manager import Extensions
from marginalia.lore.calm import without_collections
from marginalia.pipeline.beacon import Beacon
from marginalia.pipeline.defaults import default_prompts
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.listener import GenerationListener
from marginalia.pipeline.ports import Manuscript, Ports
from marginalia.pipeline.run import Run
from marginalia.pipeline.summarising import Summariser
from marginalia.prompt.rendering import Rendering
from marginalia.prompt.segments import Prompt
from marginalia.prompt.tokens import Tokenizer
from marginalia.store import Change, plant_sample
from marginalia.store.writing import WritingDays
from marginalia.studio.copies import DatabaseCopies
from marginalia.studio.extended import ExtendedLore, ExtendedStories
from marginalia.studio.faces import announce, end_notebook, mimebundle
from marginalia.studio.foundation import Foundation
from marginalia.studio.inspecting import HoldsTurn, Inspector
from marginalia.studio.limits import HouseRules
from marginalia.studio.lore_exploring import LoreExploring
from marginalia.studio.names import BookLike, book_id, folder_of
from marginalia.studio.prompting import Prompting
from marginalia.studio.reruns import Reruns
from marginalia.studio.runs import Runs
from marginalia.studio.shelf import BACKUPS, Bookshelf
from marginalia.studio.stories import StoryImports
from marginalia.studio.summaries import Summaries
from marginalia.studio.tuning import Tuning
from marginalia.studio.versions import versions
from marginalia.values import BookId, Limits, NewPart, Prompts, Request, Turn, resolve_limits


class Studio(Tuning):
    """Books, lore, models and the pipeline in one place.

    ``Studio()`` opens the database in the user's home (``MARGINALIA_HOME``, else the platform's folder for
    user data) and, the first time, puts a sample book there; ``Studio(":memory:")`` keeps nothing.
    Repositories and ``story`` are plain functions, fast and local; what waits for a model is a coroutine.
    Close it with ``close``, ``aclose``, or as a context manager.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        clock: Callable[[], datetime] | None = None,
        seed: int | None = None,
        user: str = "local",
        extensions: Iterable[Extension] | None = None,
        rules: HouseRules | None = None,
    ) -> None:
        foundation = Foundation.open(
            path, user=user, tokenizer=tokenizer, clock=clock, seed=seed, rules=rules
        )
        self._build(foundation, user, extensions)

    def for_user(self, user: str) -> Studio:
        """The studio of another user on the same database: books, lore, keys, runs and settings of their own.

        It shares the file and the bundled model with this one, which is to be closed last.
        """
        if user == self._foundation.user:
            return self
        self._foundation.shared.set()
        studio = object.__new__(Studio)
        studio._build(self._foundation, user, None)
        return studio

    def _build(self, foundation: Foundation, user: str, extensions: Iterable[Extension] | None) -> None:
        self._foundation = foundation
        self.user, self.path, self.tokenizer = user, foundation.path, foundation.tokenizer
        self._store = foundation.store_of(user)
        self._beacons = dict[BookId, Beacon]()
        self.pipeline = Pipeline()
        self._runs = Runs(self.pipeline, lambda book: self._beacon(book).flash(), foundation.rules)
        self._furnish()
        if extensions is None:
            self.extensions.discover()
        else:
            self.extensions.install(extensions)
        self._connect()
        self._unsubscribe = self._store.on_change(self._stored)
        announce()
        if foundation.home:
            plant_sample(self._store)

    def _furnish(self) -> None:
        """The repositories, and what extensions add to them."""
        folder, store = self._foundation.folder, self._store
        backups = None if folder is None else folder / BACKUPS
        made_by = versions(self.tokenizer)["marginalia"]
        self.books = Bookshelf(
            store,
            made_by=made_by,
            folder=backups,
            apart=folder_of(self.user),
            writing=lambda book: self.running(book) is not None,
        )
        self.copies = DatabaseCopies(store, backups, made_by=made_by, owner=store is self._foundation.store)
        self.writing = WritingDays(store.desk)
        self.import_story = StoryImports(store).import_file
        self.providers, self.protocols, self.settings = store.providers, store.protocols, store.settings
        self.extensions = Extensions(self.pipeline, books=self.books, settings=self.settings)
        self.lorebooks = ExtendedLore(store, self.extensions, LoreExploring(store, self._new_run))
        self.story = ExtendedStories(store, self.extensions)

    def _connect(self) -> None:
        """The models, and everything that runs the pipeline."""
        store = self._store
        self.keys = self._foundation.keys_of(self.user)
        rules = self._foundation.rules
        self._rendering = Rendering(self._foundation.shared.is_set, while_long=without_collections)
        self.models = self._foundation.models(store, self.keys)
        self.counting = self._foundation.counting(store, self.models)
        self._ports = Ports(
            library=store.library,
            archive=store.archive,
            inference=self.counting.inference,
            tokenizer=self.tokenizer,
            clock=self._foundation.clock,
            versions=versions(self.tokenizer),
            macros=self.extensions.macros,
            render=self._rendering.render,
            measures=self.counting,
        )
        summariser = Summariser(self._ports, store.summaries)
        self.summaries = Summaries(
            summariser,
            store.summaries,
            most=rules.summaries,
            changed=lambda book: self._beacon(book).flash(),
        )
        self.prompting = Prompting(
            store, self.pipeline, self._ports, summariser, rendering=self._rendering, new_run=self._new_run
        )
        self.lore_tests = LoreTests(self.books, self.lorebooks, self.story, self.preview)
        self.inspector = Inspector(store, self.pipeline, self.models, self.counting, new_run=self._new_run)
        self.what_if = self.inspector.what_if
        self.reruns = Reruns(store, self.pipeline, self._new_run, self._runs)
        self.rerun = self.reruns.start

    # Generating.

    async def preview(
        self, book: BookLike, turn: Turn | HoldsTurn | None = None, *, request: Request | None = None
    ) -> Prompt:
        """The prompt that :meth:`generate` would send now, with the reason for every piece of it. Changes nothing.

        It is built by the same steps, with the same dice. Raises what would end a generation before it is
        sent: ``Refused``, ``TemplateError``; :class:`~marginalia.prompt.budget.ContextTooSmall` carries the
        numbers.
        """
        manuscript = await anyio.to_thread.run_sync(self._store.library.manuscript, book_id(book))
        run = self._new_run(manuscript, turn, request, preview=True)
        return await self.pipeline.preview(run)

    def generate(
        self,
        book: BookLike,
        turn: Turn | HoldsTurn | None = None,
        *,
        request: Request | None = None,
        listener: GenerationListener | None = None,
        attended: bool = False,
    ) -> Run:
        """Write the next part, another version of one, or a part anew; returns at once, the run goes on by itself.

        Needs a running event loop. Raises ``Busy`` when the book is being written to already. Questions go to
        *listener*; one that it does not answer waits for ``run.answer`` if the run is *attended*, and is a no
        otherwise.
        """
        manuscript = self._store.library.manuscript(book_id(book))
        self._runs.refuse_second(manuscript.book)
        run = self._new_run(manuscript, turn, request, listener=listener, attended=attended)
        self._runs.start(run)
        return run

    @property
    def busy(self) -> bool:
        """Whether anything is being written, in whatever book."""
        return self._runs.busy

    def running(self, book: BookLike) -> Run | None:
        """The run that writes to *book* now, if there is one."""
        return self._runs.of(book_id(book))

    # Looking.

    def limits(self, book: BookLike) -> Limits:
        """The token limits of a book: its protocol's where set, else its provider's, else 0."""
        manuscript = self._store.library.manuscript(book_id(book))
        return resolve_limits(manuscript.provider, manuscript.protocol)

    def effective_prompts(self, book: BookLike) -> Prompts:
        """The prompts a book really uses: its own, else the user's, else the built-in ones."""
        manuscript = self._store.library.manuscript(book_id(book))
        return manuscript.book.prompts.over(manuscript.defaults, default_prompts())

    def version(self, book: BookLike) -> int:
        """How often *book* has changed since the studio opened; see :meth:`changed`."""
        return self._beacon(book_id(book)).version

    async def changed(self, book: BookLike, after: int = 0) -> int:
        """Wait until something of *book* changed since version *after*.

        An edit, a run that starts or ends, in whatever window.
        """
        return await self._beacon(book_id(book)).after(after)

    # Ending.

    async def aclose(self) -> None:
        """Stop all runs, keep what they hold, end the bundled model, close the database.

        A guest's studio (:meth:`for_user`) leaves the model and the database to the others.
        """
        await self._runs.aclose()
        await self.summaries.aclose()
        if self._store is self._foundation.store:
            await self.models.aclose()
        await anyio.to_thread.run_sync(self.close)

    def close(self) -> None:
        """Close the database. Runs that are still going should be stopped first: see :meth:`aclose`."""
        end_notebook(self)
        self._rendering.close()
        self.extensions.close()
        self._unsubscribe()
        if self._store is self._foundation.store:
            self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Studio {str(self.path)!r} ({len(self.books.all())} books)>"

    def _repr_mimebundle_(self, **_: object) -> Mapping[str, Any]:
        return mimebundle(self)

    def _new_run(
        self,
        manuscript: Manuscript,
        turn: Turn | HoldsTurn | None,
        request: Request | None,
        *,
        listener: GenerationListener | None = None,
        attended: bool = False,
        preview: bool = False,
    ) -> Run:
        frozen = turn if isinstance(turn, Turn) else turn.freeze() if turn is not None else Turn()
        manuscript, ports = self.counting.prepared(manuscript, self._ports)
        return Run(
            manuscript,
            frozen,
            request or NewPart(),
            run_id=self._foundation.dice.new_uid(),
            seed=self._foundation.dice.seed_of(manuscript.book.id, used=not preview),
            ports=ports,
            hooks=self.pipeline.hooks,
            listener=listener,
            attended=attended,
            preview=preview,
        )

    def _beacon(self, book: BookId) -> Beacon:
        return self._beacons.setdefault(book, Beacon())

    def _stored(self, change: Change) -> None:
        beacons = (
            [self._beacon(change.book_id)] if change.book_id is not None else list(self._beacons.values())
        )
        for beacon in beacons:
            beacon.flash()
