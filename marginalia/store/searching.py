"""Searching a story on all its branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginalia.store.folded import Folded
from marginalia.store.memory import Key
from marginalia.store.reading import Reading, part_id
from marginalia.store.rows import home_of, pages_of, part_in, texts_in
from marginalia.store.tables import BOOKS
from marginalia.story.search import Query, fold, snippet
from marginalia.values import PartId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from marginalia.store.pages import Pages
    from marginalia.store.session import Session
    from marginalia.story.parts import Part
    from marginalia.values import Book, BookId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A part that was found, and whether it is on the branch that is read now."""

    part: PartId
    on_branch: bool


class Searching(Reading):
    """Finding parts by what they say."""

    def search(self, book: Book | BookId, query: str) -> tuple[Hit, ...]:
        """The parts of all branches in whose text every word and "phrase" of *query* occurs, in the order of creation.

        ``*`` stands for any characters; case makes no difference. A blank query finds nothing.
        """
        parsed = Query.parse(query)

        def work(session: Session, record: Book, pages: Pages) -> tuple[Hit, ...]:
            found = set(_matching(session, record.id, pages, parsed)) if parsed else set[PartId]()
            branch = frozenset(pages.tree.branch(record.active_leaf)) if found else frozenset[PartId]()
            nodes = sorted((pages.tree[part] for part in found), key=lambda node: (node.created, node.id))
            return tuple(Hit(part=node.id, on_branch=node.id in branch) for node in nodes)

        return self._read(book, work)

    def prepare_search(self, book: Book | BookId) -> None:
        """Read the texts of a book, so that the first search is as fast as the next."""
        self._read(book, lambda session, record, pages: _folded(session, record.id, _versions(pages)))

    def excerpts(
        self, book: Book | BookId, parts: Iterable[Part | PartId], query: str, *, radius: int = 60
    ) -> Mapping[PartId, str]:
        """For each of *parts* the stretch around the first match of the first term; see :func:`snippet`."""
        wanted = [part_id(part) for part in parts]

        def work(session: Session, _record: Book, pages: Pages) -> Mapping[PartId, str]:
            texts = texts_in(session, pages, wanted)
            return {part: snippet(texts[part], query, radius) for part in wanted if part in texts}

        return self._read(book, work)

    def leaf_for(self, part: Part | PartId) -> Part:
        """The leaf whose branch shows a part that was found; nothing is activated.

        The active one if the part is on its branch, else the nearest end below the part, the newest of equally near.
        """
        number = part_id(part)

        def work(session: Session) -> Part:
            book = BOOKS.mine(session, home_of(session, number), self._desk.user)
            pages = pages_of(session, book.id)
            return part_in(session, pages, pages.tree.end_near(number, book.active_leaf))

        return self._desk.database.read(work)


def _matching(session: Session, book: BookId, pages: Pages, query: Query) -> Iterator[PartId]:
    at = _versions(pages)
    kept = _folded(session, book, at)
    for number, text in kept.of(list(at), lambda numbers: _texts(session, numbers)):
        if query.matches(text):
            yield at[number]
    for part, draft in pages.drafts.items():
        if query.matches(fold(draft.part.text)):
            yield part


def _versions(pages: Pages) -> dict[int, PartId]:
    """The parts by their present version, but those that are being written."""
    return {version: part for version, part in pages.tree.versions().items() if part not in pages.drafts}


def _folded(session: Session, book: BookId, versions: Mapping[int, PartId]) -> Folded:
    def filled() -> Folded:
        folded = Folded()
        for _ in folded.of(list(versions), lambda numbers: _texts(session, numbers)):
            pass
        return folded

    return session.recall(Key("folded", book), filled)


def _texts(session: Session, versions: Sequence[int]) -> list[tuple[int, str]]:
    # Read past the memory of texts: a whole book there would push out what is needed for writing.
    rows = session.rows("SELECT id, text FROM part_text WHERE id IN (SELECT unnest(?))", list(versions))
    return [(row[0], row[1]) for row in rows]
