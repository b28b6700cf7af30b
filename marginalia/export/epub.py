"""EPUB 3, written here: the format is a zip of a few XHTML files, and the one library for it is under the AGPL.

What epubcheck finds wrong is a fault of ours; a test asks it.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import UTC
from uuid import NAMESPACE_URL, UUID, uuid5

from marginalia.export.blocks import Chapter, Line, chapters, outline
from marginalia.export.manuscript import Manuscript
from marginalia.export.markup import markup
from marginalia.export.pages import page, safe
from marginalia.export.reading import HERE, read
from marginalia.values import counted

_LONGEST = 120_000  # characters of one file; readers lay out a whole file at once
_STAMP = (1980, 1, 1, 0, 0, 0)  # the same story is the same file


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    id: str
    name: str
    title: str
    chapter: Chapter


def write(manuscript: Manuscript) -> bytes:
    """The story as EPUB 3, a file per chapter."""
    told = chapters(read(manuscript), longest=_LONGEST) or (Chapter(heading=None, blocks=()),)
    files = tuple(_file(number, chapter, manuscript) for number, chapter in enumerate(told, 1))
    lines = outline(told)
    contents = {
        "META-INF/container.xml": page("container.xml.jinja"),
        "EPUB/package.opf": _package(manuscript, files, lines),
        "EPUB/nav.xhtml": page("nav.xhtml.jinja", manuscript=manuscript, lines=lines, files=files),
        "EPUB/style.css": page("book.css"),
    }
    if manuscript.title_page:
        contents["EPUB/title.xhtml"] = page("title.xhtml.jinja", manuscript=manuscript)
    for file in counted(files, manuscript.progress, begin=HERE):
        story = safe(markup(file.chapter.blocks) or "<p></p>")
        text = page("chapter.xhtml.jinja", manuscript=manuscript, title=file.title, story=story)
        contents[f"EPUB/{file.name}"] = text
    return _zipped(contents)


def _file(number: int, chapter: Chapter, manuscript: Manuscript) -> _File:
    title = manuscript.title if chapter.heading is None else chapter.heading.title
    return _File(id=f"chapter-{number}", name=f"chapter-{number:04}.xhtml", title=title, chapter=chapter)


def _package(manuscript: Manuscript, files: tuple[_File, ...], lines: tuple[Line, ...]) -> str:
    return page(
        "package.opf.jinja",
        manuscript=manuscript,
        files=files,
        lines=lines,
        identifier=_identifier(manuscript).urn,
        modified=f"{manuscript.made.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def _identifier(manuscript: Manuscript) -> UUID:
    """The book's own UUID, or one made of its title and author: a second export is the same book."""
    try:
        return UUID(manuscript.identifier)
    except ValueError:
        return uuid5(
            NAMESPACE_URL, f"marginalia:{manuscript.identifier or manuscript.title}:{manuscript.author}"
        )


def _zipped(contents: dict[str, str]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        # The container format wants this member first and uncompressed (EPUB 3.3, section 4.2.6).
        archive.writestr(zipfile.ZipInfo("mimetype", _STAMP), "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _STAMP), text.encode(), zipfile.ZIP_DEFLATED)
    return raw.getvalue()
