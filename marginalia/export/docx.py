"""A Word document, with Word's own styles for title, headings, quotes and lists, so that its reader can restyle it."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC

from docx import Document
from docx.document import Document as WordDocument
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.shared import Cm, Pt
from docx.styles.style import ParagraphStyle
from docx.text.paragraph import Paragraph as WordParagraph

from marginalia.export.blocks import (
    Block,
    Code,
    Heading,
    Line,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Run,
    chapters,
    outline,
)
from marginalia.export.docx_xml import bookmark, field_code, field_mark, link, right_to_left
from marginalia.export.manuscript import Manuscript
from marginalia.export.reading import HERE, read
from marginalia.values import counted

_WHOLE = 1 << 60
_FONT = "Georgia"
_MONOSPACE = "Courier New"
_DEEPEST_LIST = 3  # Word has three styles for lists in lists
_INDENT = Cm(0.75)
_PROPERTY = (
    255  # characters of a property of the document (ECMA-376, part 2); the title page has the whole title
)


def write(manuscript: Manuscript) -> bytes:
    """The story as DOCX."""
    document = Document()
    _set_up(document, manuscript)
    blocks = read(manuscript)
    if manuscript.title_page:
        document.add_paragraph(manuscript.title, style="Title")
        if manuscript.author:
            document.add_paragraph(manuscript.author, style="Subtitle")
    lines = outline(chapters(blocks, longest=_WHOLE)) if manuscript.contents else ()
    if lines:
        _contents(document, lines, apart=manuscript.title_page)
    _Writer(document, apart=manuscript.title_page or bool(lines)).write(
        counted(blocks, manuscript.progress, begin=HERE, end=0.9)
    )
    raw = io.BytesIO()
    document.save(raw)
    return raw.getvalue()


def _set_up(document: WordDocument, manuscript: Manuscript) -> None:
    about, made = document.core_properties, manuscript.made.astimezone(UTC).replace(tzinfo=None)
    said = (manuscript.title, manuscript.author, manuscript.language)
    about.title, about.author, about.language = (each[:_PROPERTY] for each in said)
    about.created = about.modified = made
    about.comments = about.last_modified_by = ""
    normal = document.styles["Normal"]
    if isinstance(normal, ParagraphStyle):
        normal.font.name, normal.font.size = _FONT, Pt(11)
        normal.paragraph_format.space_after = Pt(6)
        if manuscript.right_to_left:
            right_to_left(normal)
    section = document.sections[0]
    section.left_margin = section.right_margin = Cm(2.8)


def _contents(document: WordDocument, lines: Iterable[Line], *, apart: bool) -> None:
    """A table of contents that Word can bring up to date, already filled for programs that do not."""
    entries = list(_flat(lines, 0))
    for number, (line, depth) in enumerate(entries):
        paragraph = document.add_paragraph()
        paragraph.paragraph_format.left_indent = _INDENT * depth
        if number == 0:
            paragraph.paragraph_format.page_break_before = apart
            field_mark(paragraph, "begin")
            field_code(paragraph, r'TOC \o "1-6" \n \h')
            field_mark(paragraph, "separate")
        link(paragraph, paragraph.add_run(line.title), anchor=line.anchor)
        if number == len(entries) - 1:
            field_mark(paragraph, "end")


def _flat(lines: Iterable[Line], depth: int) -> Iterable[tuple[Line, int]]:
    for line in lines:
        yield line, depth
        yield from _flat(line.under, depth + 1)


class _Writer:
    """Adds blocks to a document; *apart* lets the story begin on a page of its own."""

    def __init__(self, document: WordDocument, *, apart: bool) -> None:
        self._document = document
        self._apart = apart
        self._bookmarks = 0

    def write(self, blocks: Iterable[Block]) -> None:
        """Add *blocks* one after the other."""
        for block in blocks:
            self._add(block, "Normal", 0)

    def _add(self, block: Block, style: str, depth: int) -> None:
        match block:
            case Paragraph():
                self._runs(self._paragraph(style, depth), block.runs)
            case Heading():
                self._heading(block)
            case Quote():
                for each in block.blocks:
                    self._add(each, "Quote", depth)
            case Listing():
                self._listing(block, depth)
            case Code():
                self._runs(self._paragraph(style, depth), [Run(text=block.text, code=True)])
            case Rule():
                paragraph = self._paragraph("Normal", 0)
                paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
                paragraph.add_run("* * *")

    def _heading(self, heading: Heading) -> None:
        paragraph = self._paragraph(f"Heading {heading.level}", 0)
        self._bookmarks += 1
        bookmark(paragraph, self._bookmarks, heading.anchor)
        self._runs(paragraph, heading.runs)

    def _listing(self, listing: Listing, depth: int) -> None:
        """Bullets by Word's style; numbers as text, since Word's would go on counting from one list to the next."""
        level = min(depth, _DEEPEST_LIST - 1)
        bullets = "List Bullet" if level == 0 else f"List Bullet {level + 1}"
        for number, item in enumerate(listing.items):
            first, *rest = item or (Paragraph(runs=()),)
            if listing.start is None:
                self._add(first, bullets, 0)
            elif isinstance(first, Paragraph):
                mark = Run(text=f"{listing.start + number}. ")
                self._add(Paragraph(runs=(mark, *first.runs)), "Normal", depth + 1)
            else:
                self._add(first, "Normal", depth + 1)
            for block in rest:
                self._add(block, "Normal", depth + 1)

    def _paragraph(self, style: str, depth: int) -> WordParagraph:
        # A paragraph has the normal style without being given it, and giving it costs a search through all styles.
        paragraph = self._document.add_paragraph(style=None if style == "Normal" else style)
        if depth:
            paragraph.paragraph_format.left_indent = _INDENT * depth
        if self._apart:
            paragraph.paragraph_format.page_break_before = True
            self._apart = False
        return paragraph

    def _runs(self, paragraph: WordParagraph, runs: Iterable[Run]) -> None:
        for run in runs:
            styled = paragraph.add_run(run.text)
            styled.bold, styled.italic = run.bold or None, run.italic or None
            styled.font.strike = run.strike or None
            if run.code:
                styled.font.name = _MONOSPACE
            if run.link:
                styled.font.underline = True
                address = paragraph.part.relate_to(run.link, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
                link(paragraph, styled, address=address)
