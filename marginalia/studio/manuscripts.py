"""The story of a studio: the store's, and how it leaves as a book to read."""

from __future__ import annotations

from marginalia.export import Manuscript, chosen, export
from marginalia.store import Store
from marginalia.store.story import Story
from marginalia.story.parts import Part
from marginalia.values import Book, BookId, PartId, Progress, untold


class Manuscripts(Story):
    """``studio.story``: everything that ``store.Story`` does, and the active branch as a file."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.desk)

    def export(
        self,
        book: Book | BookId,
        format: str = "epub",  # noqa: A002 - what callers call it
        *,
        leaf: Part | PartId | None = None,
        first: int | None = None,
        last: int | None = None,
        title: str | None = None,
        author: str | None = None,
        language: str = "en",
        title_page: bool = True,
        contents: bool | None = None,
        breaks: bool = False,
        progress: Progress = untold,
    ) -> bytes:
        """The active branch (or the one down to *leaf*) as Markdown, text, HTML, EPUB, DOCX or PDF.

        *first* and *last* count the parts that have text, from 1. The title is the book's name unless given;
        *contents* adds a table of contents where the story has headings (left out: with a title page), *breaks* a scene
        break between parts. Nothing but the story is in it. Takes up to some seconds for a long
        book, a PDF in letters that join up to some minutes; *progress* is told how far it is, and ends it with what it
        raises. See :data:`marginalia.export.FORMATS`.

        Raises:
            InvalidInput: there is no such format, range or language, or no font for a PDF of this story.
            NotFound: there is no such book.
        """
        record = self._read(book, lambda _session, record, _pages: record)
        manuscript = Manuscript(
            title=record.name if title is None else title,
            author=author or "",
            texts=chosen((part.text for part in self.branch(record, leaf)), first, last),
            made=self._desk.clock(),
            identifier=record.uid,
            language=language,
            title_page=title_page,
            contents=title_page if contents is None else contents,
            breaks=breaks,
            progress=progress,
        )
        return self._written(manuscript, format)

    def _written(self, manuscript: Manuscript, key: str) -> bytes:
        """The file of *manuscript* in the format with that key."""
        return export(manuscript, key)
