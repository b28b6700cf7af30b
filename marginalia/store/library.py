"""The reading side of the pipeline: books, parts, texts and lore as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.errors import NotFound
from marginalia.pipeline.ports import Manuscript
from marginalia.store.lorebooks import find_filled
from marginalia.store.rows import home_of, pages_of, part_in, texts_in
from marginalia.store.settings import prompts_of
from marginalia.store.tables import BOOKS, PROTOCOLS, PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from marginalia.lore.book import FilledLorebook
    from marginalia.store.desk import Desk
    from marginalia.store.session import Session
    from marginalia.store.tables import R, Table
    from marginalia.story.parts import Part
    from marginalia.values import BookId, LorebookId, PartId


class StoredLibrary:
    """``pipeline.ports.Library`` over the database; what was read once is in memory until it changes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def manuscript(self, book: BookId) -> Manuscript:
        """The book as it is now, with the shape of its story; raises ``NotFound``."""

        def work(session: Session) -> Manuscript:
            record = BOOKS.mine(session, book, self._desk.user)
            pages = pages_of(session, book)
            return Manuscript(
                book=record,
                tree=pages.tree,
                provider=self._mine(session, PROVIDERS, record.provider_id),
                protocol=self._mine(session, PROTOCOLS, record.protocol_id),
                defaults=prompts_of(session, self._desk.user),
                summaries=pages.summaries,
            )

        return self._desk.database.read(work)

    def part(self, part: PartId) -> Part:
        """One part with everything in it; raises ``NotFound``."""

        def work(session: Session) -> Part:
            book = BOOKS.mine(session, home_of(session, part), self._desk.user)
            return part_in(session, pages_of(session, book.id), part)

        return self._desk.database.read(work)

    def texts(self, parts: Sequence[PartId]) -> Mapping[PartId, str]:
        """The texts of *parts*, which are of one book as a rule; what is not there is missing in the answer."""

        def work(session: Session) -> Mapping[PartId, str]:
            found: dict[PartId, str] = {}
            left = list(parts)
            while left:
                texts = self._texts_beside(session, left)
                found |= texts
                left = [part for part in left[1:] if part not in found]
            return found

        return self._desk.database.read(work)

    def filled_lorebook(self, lorebook: LorebookId) -> FilledLorebook | None:
        """A lorebook with its entries, the same object until something changes in it; ``None`` when it is deleted."""
        return self._desk.database.read(lambda session: find_filled(session, lorebook, self._desk.user))

    def _texts_beside(self, session: Session, parts: Sequence[PartId]) -> dict[PartId, str]:
        """The texts of those of *parts* that are in the first one's book."""
        try:
            book = BOOKS.mine(session, home_of(session, parts[0]), self._desk.user)
        except NotFound:
            return {}
        return texts_in(session, pages_of(session, book.id), parts)

    def _mine(self, session: Session, table: Table[R], record: int | None) -> R | None:
        found = table.find(session, record)
        return found if found is not None and found.owner == self._desk.user else None
