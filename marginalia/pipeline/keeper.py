"""Keeps the growing text on disk: never more than a second behind, never a write per chunk."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from marginalia.errors import StoreError
from marginalia.pipeline.ports import Archive
from marginalia.story.parts import Part

INTERVAL_SECONDS = 0.6


class Keeper:
    """Writes a checkpoint of *current* soon after :meth:`touch`, at most every 0.6 seconds.

    A failing write (a full disk) is passed to *trouble* once; the text stays in memory and is tried again
    with the next chunk.
    """

    def __init__(
        self, archive: Archive, current: Callable[[], Part], trouble: Callable[[StoreError], None]
    ) -> None:
        self._archive = archive
        self._current = current
        self._trouble = trouble
        self._dirty = anyio.Event()
        self._told = False
        self._running = anyio.CancelScope()

    def touch(self) -> None:
        """The text has grown."""
        self._dirty.set()

    async def run(self) -> None:
        """Keep writing until :meth:`end`."""
        with self._running:
            while True:
                await self._dirty.wait()
                self._dirty = anyio.Event()
                try:
                    await self._archive.checkpoint(self._current())
                except StoreError as error:
                    if not self._told:
                        self._told = True
                        self._trouble(error)
                await anyio.sleep(INTERVAL_SECONDS)

    def end(self) -> None:
        """There is nothing to keep any more; a write that has begun is left to the database."""
        self._running.cancel()
