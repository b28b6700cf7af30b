"""A story as a file that other people can read: Markdown, text, HTML, EPUB, DOCX, PDF.

::

    data = export(Manuscript(title="The Lighthouse", texts=texts, made=now), "epub")

Every format works offline and puts in nothing but the story: no prompts, reasoning, summaries or receipts. Markdown in
the parts becomes real headings, emphasis and lists; HTML in them is text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from marginalia.errors import InvalidInput
from marginalia.export.manuscript import Manuscript, chosen

__all__ = ["FORMATS", "Format", "Manuscript", "chosen", "export", "format_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file: how it is asked for, what people call it, how its files end, and its media type."""

    key: str
    name: str
    suffix: str
    media_type: str


class _Writer(Protocol):
    """What a format's module has."""

    def write(self, manuscript: Manuscript) -> bytes: ...


FORMATS: Mapping[str, Format] = {
    each.key: each
    for each in (
        Format(key="md", name="Markdown", suffix=".md", media_type="text/markdown; charset=utf-8"),
        Format(key="txt", name="Plain text", suffix=".txt", media_type="text/plain; charset=utf-8"),
        Format(key="html", name="Web page", suffix=".html", media_type="text/html; charset=utf-8"),
        Format(key="epub", name="EPUB", suffix=".epub", media_type="application/epub+zip"),
        Format(
            key="docx",
            name="Word document",
            suffix=".docx",
            media_type="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        Format(key="pdf", name="PDF", suffix=".pdf", media_type="application/pdf"),
    )
}
_ALSO = {"markdown": "md", "text": "txt", "word": "docx", "htm": "html"}
# Their libraries take a third of a second to load, so each is loaded when it is first asked for.
_WRITERS: Mapping[str, str] = {
    "md": "marginalia.export.markdown",
    "txt": "marginalia.export.text",
    "html": "marginalia.export.html",
    "epub": "marginalia.export.epub",
    "docx": "marginalia.export.docx",
    "pdf": "marginalia.export.pdf",
}


def format_named(name: str) -> Format:
    """The format with that key, name or suffix, whatever its case; raises ``InvalidInput``."""
    key = name.strip().lower().removeprefix(".")
    found = FORMATS.get(_ALSO.get(key, key))
    if found is None:
        raise InvalidInput(f"A story cannot be exported as {name!r}; choose one of {', '.join(FORMATS)}.")
    return found


def export(manuscript: Manuscript, format: str) -> bytes:  # noqa: A002 - what callers call it
    """The file of *manuscript*; raises ``InvalidInput`` for an unknown format."""
    writer = cast("_Writer", import_module(_WRITERS[format_named(format).key]))
    return writer.write(manuscript)
