"""Summaries as people use them: write one, merge several, take one away, see which are in use."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TypeAlias

import anyio.to_thread

from marginalia.pipeline.summarising import Draft, Hear, Summariser
from marginalia.store import SummaryShelf
from marginalia.story.overview import SummaryNode
from marginalia.story.parts import Part, Summary
from marginalia.story.summaries import Block
from marginalia.studio.limits import Turnstile
from marginalia.values import Book, BookId, PartId, SummaryId

BookLike: TypeAlias = Book | BookId
PartLike: TypeAlias = Part | PartId


class Summaries:
    """``studio.summaries``. What waits for a model is a coroutine: cancel it to stop, and nothing is kept."""

    def __init__(self, summariser: Summariser, shelf: SummaryShelf, *, most: int = 0) -> None:
        self._summariser = summariser
        self._shelf = shelf
        self._turnstile = Turnstile(most)

    async def create(self, book: BookLike, part: PartLike, *, listen: Hear | None = None) -> Summary:
        """Summarise *part* and everything before it, down to the next summary; *listen* hears it as it is written.

        Raises ``InvalidInput`` when the part has one already, ``ValidationProblem`` without model or
        protocol, ``ContextOverflow`` when the text is too long, ``ModelError`` when the provider fails, ``Busy``
        when as many are being written as the server allows.
        """
        return await self._write(book, partial(self._summariser.draft, _book(book), _part(part)), listen)

    async def merge(
        self, book: BookLike, newest: PartLike, oldest: PartLike, *, listen: Hear | None = None
    ) -> Summary:
        """Merge the summaries from *newest* back to *oldest* into one that hangs on *newest*.

        ``remove`` gives them back.
        """
        draft = partial(self._summariser.merge_draft, _book(book), _part(newest), _part(oldest))
        return await self._write(book, draft, listen)

    def of(self, part: PartLike) -> Summary | None:
        """The summary on a part."""
        return self._shelf.summary_for(_part(part))

    def remove(self, part: PartLike, *, unwind: bool = True) -> None:
        """Take the summary off a part; with *unwind* a meta summary gives back the one that it replaced."""
        self._shelf.remove(_part(part), unwind=unwind)

    def edit(self, part: PartLike, text: str) -> Summary:
        """Put another text in the summary on a part; it stays valid, and its tokens are counted again."""
        return self._shelf.replace_text(_part(part), text)

    def blocks(self, book: BookLike, leaf: PartLike | None = None) -> tuple[tuple[Block, bool], ...]:
        """The summaries in use on a branch, newest first, each with whether the story under it is unchanged."""
        return self._summariser.blocks(_book(book), None if leaf is None else _part(leaf))

    def overview(self, book: BookLike, leaf: PartLike | None = None) -> tuple[SummaryNode, ...]:
        """The summaries in use on a branch, oldest first, each with what it merged, what it saves, and why it is stale.

        An edit makes one stale at once; nothing is dropped before a generation would need it.
        """
        return self._shelf.overview(_book(book), self.blocks(book, leaf), leaf)

    async def remake(self, book: BookLike, leaf: PartLike | None = None) -> tuple[Summary, ...]:
        """Write the stale summaries of a branch anew, the oldest first, and no others; returns the new ones.

        A stale meta summary is unwound and merged again. One that cannot be written is put back, and what was
        raised goes on: the same as for :meth:`create`.
        """
        made: list[Summary] = []
        merges: list[tuple[PartId, PartId]] = []
        tried: set[SummaryId] = set()
        while stale := self._oldest_stale(book, leaf, tried):
            if stale.meta and stale.oldest_id is not None:
                merges.append((stale.part_id, stale.oldest_id))
                self._shelf.remove(stale.part_id)
                continue
            made.append(await self._replace(book, stale))
            tried.add(made[-1].id)
        for newest, oldest in reversed(merges):
            made.append(await self.merge(book, newest, oldest))
        return tuple(made)

    def draft(self, book: BookLike, part: PartLike) -> Draft:
        """What :meth:`create` would send, without sending it."""
        return self._summariser.draft(_book(book), _part(part))

    def merge_draft(self, book: BookLike, newest: PartLike, oldest: PartLike) -> Draft:
        """What :meth:`merge` would send, without sending it."""
        return self._summariser.merge_draft(_book(book), _part(newest), _part(oldest))

    def _oldest_stale(
        self, book: BookLike, leaf: PartLike | None, tried: Collection[SummaryId]
    ) -> Summary | None:
        blocks = reversed(self.blocks(book, leaf))
        return next((b.summary for b, valid in blocks if not valid and b.summary.id not in tried), None)

    async def _replace(self, book: BookLike, stale: Summary) -> Summary:
        self._shelf.remove(stale.part_id)
        try:
            return await self.create(book, stale.part_id)
        except BaseException:  # stopped or failed: the stale one is better than none
            self._shelf.attach(stale)
            raise

    async def _write(self, book: BookLike, make: partial[Draft], listen: Hear | None) -> Summary:
        with self._turnstile.summary():
            draft = await anyio.to_thread.run_sync(make)
            return await self._summariser.write(_book(book), draft, listen)


def _book(book: BookLike) -> BookId:
    return book.id if isinstance(book, Book) else book


def _part(part: PartLike) -> PartId:
    return part.id if isinstance(part, Part) else part
