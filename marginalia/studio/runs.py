"""The runs of a studio: it owns them, whoever started or watches them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from marginalia.errors import Busy, InvalidInput, StoreError
from marginalia.pipeline.engine import Pipeline
from marginalia.pipeline.run import Run
from marginalia.studio.limits import HouseRules
from marginalia.values import Book, BookId

RETRY_SECONDS = 2.0


class Runs:
    """One run at a time per book, any number side by side. A run ends by itself, by ``stop``, or with the studio."""

    def __init__(
        self, pipeline: Pipeline, changed: Callable[[BookId], None], rules: HouseRules | None = None
    ) -> None:
        self._pipeline = pipeline
        self._rules = rules or HouseRules()
        self._changed = changed
        self._running: dict[BookId, tuple[Run, asyncio.Task[None]]] = {}
        self._saving: set[asyncio.Task[None]] = set()

    def of(self, book: BookId) -> Run | None:
        """The run that writes to *book* now."""
        found = self._running.get(book)
        return found[0] if found else None

    @property
    def busy(self) -> bool:
        """Whether any run is going on."""
        return bool(self._running)

    def refuse_second(self, book: Book) -> None:
        """Raise ``Busy`` when *book* is being written to, or as many others as the house allows."""
        if book.id in self._running:
            raise Busy(
                f"{book.name!r} is being written to already. Wait until that part is done, or stop it first."
            )
        self._rules.refuse_run(len(self._running))

    def start(self, run: Run) -> None:
        """Let *run* go on in the background of the running event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise InvalidInput(
                "A generation needs a running event loop: call generate() in a coroutine; any notebook cell is one."
            ) from None
        task = loop.create_task(self._drive(run, self._pipeline.drive(run)), name=f"generation {run.id}")
        self._running[run.book_id] = (run, task)
        self._changed(run.book_id)

    async def _drive(self, run: Run, driving: Coroutine[Any, Any, None]) -> None:
        try:
            await driving
        finally:
            self._running.pop(run.book_id, None)
            self._changed(run.book_id)
        if run.unsaved:
            saving = asyncio.get_running_loop().create_task(self._save_later(run))
            self._saving.add(saving)
            saving.add_done_callback(self._saving.discard)

    async def _save_later(self, run: Run) -> None:
        """The disk was full: the text stays in memory, and is stored as soon as there is room for it."""
        while run.unsaved:
            await asyncio.sleep(RETRY_SECONDS)
            with suppress(StoreError):
                await self._pipeline.save_again(run)
        self._changed(run.book_id)

    async def aclose(self) -> None:
        """Stop all runs and wait until what they hold is stored."""
        for run, _ in tuple(self._running.values()):
            run.stop()
        here = asyncio.get_running_loop()
        tasks = [task for _, task in tuple(self._running.values()) if task.get_loop() is here]
        await asyncio.gather(*tasks, return_exceptions=True)
        for saving in tuple(self._saving):
            saving.cancel()  # what was kept on the way is found at the next start
