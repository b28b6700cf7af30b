"""PDF in the size of a paperback, with real text, bookmarks and page numbers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

from fpdf import FPDF
from fpdf.fonts import TTFFont
from fpdf.outline import OutlineSection
from fpdf.text_region import Paragraph as PdfParagraph
from fpdf.text_region import TextColumns

from marginalia.export.blocks import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Run, headings
from marginalia.export.fonts import FAMILY, STYLES, fallbacks, missing, refuse_unset
from marginalia.export.manuscript import Manuscript
from marginalia.export.reading import read

_PAPER = (148.0, 210.0)  # millimetres
_SIZE = 10.5
_LEADING = 1.45
_MARGIN = 18.0  # millimetres
_INDENT = 4.5
_HEADINGS = (17.0, 14.0, 12.5, 11.5, 11.0, 10.5)
_LINES_OF_CONTENTS = 22  # on one page


def write(manuscript: Manuscript) -> bytes:
    """The story as PDF.

    Raises ``InvalidInput`` when no font on this machine has all of its characters, and for scripts whose letters join
    or run from right to left; other formats need no font and take every script.
    """
    pages = _Pages(manuscript)
    try:
        return _written(pages, manuscript)
    finally:
        pages.close_fonts()


def _written(pages: _Pages, manuscript: Manuscript) -> bytes:
    blocks = read(manuscript)
    pages.use_fonts(manuscript)
    titles = [heading.title for heading in headings(blocks)] if manuscript.contents else []
    if manuscript.title_page:
        pages.title_page(manuscript)
    if titles:
        pages.add_page()
        needed = 1 + (len(titles) - 1) // _LINES_OF_CONTENTS
        pages.insert_toc_placeholder(
            _contents, pages=needed, allow_extra_pages=True, reset_page_indices=False
        )
    else:
        pages.add_page()
    pages.story(blocks)
    return bytes(pages.output())


class _Pages(FPDF):
    """A document that knows how to set blocks."""

    def __init__(self, manuscript: Manuscript) -> None:
        super().__init__(format=_PAPER)
        self.set_margin(_MARGIN)
        self.set_auto_page_break(auto=True, margin=_MARGIN + 4)
        self.set_title(manuscript.title)
        self.set_author(manuscript.author)
        self.set_lang(manuscript.language)
        self.set_creation_date(manuscript.made.astimezone(UTC))
        self.set_producer("Marginalia")
        self._titled = manuscript.title_page
        self._depth = -1

    def use_fonts(self, manuscript: Manuscript) -> None:
        """Load the book's font, and what is needed for characters that it lacks."""
        for style, path in STYLES.items():
            self.add_font(FAMILY, style, path)
        needed = {*manuscript.title, *manuscript.author, "*", "•"}.union(*map(set, manuscript.texts))
        refuse_unset(needed)
        lacking = missing(needed, STYLES[""])
        others: list[str] = []
        for number, path in enumerate(fallbacks(lacking)):
            others.append(f"other-{number}")
            self._add_in_all_styles(others[-1], path)
        self.set_fallback_fonts(others, exact_match=False)

    def close_fonts(self) -> None:
        """Close the files of the fonts, which the library leaves open."""
        for font in self.fonts.values():
            if isinstance(font, TTFFont):
                font.ttfont.close()

    def title_page(self, manuscript: Manuscript) -> None:
        """A page with title and author."""
        self.add_page()
        self.set_y(self.h * 0.32)
        self._font(size=22)
        self.multi_cell(0, 10, manuscript.title, align="C", new_x="LMARGIN", new_y="NEXT")
        self.ln(4)
        self._font(size=13)
        self.multi_cell(0, 7, manuscript.author, align="C", new_x="LMARGIN", new_y="NEXT")

    def story(self, blocks: Iterable[Block]) -> None:
        """Set *blocks* from here on."""
        first = True  # a paragraph after a heading or a break has no indent
        for block in blocks:
            if isinstance(block, Heading):
                self._heading(block)
            else:
                with self.text_columns(text_align="J", line_height=_LEADING) as columns:
                    self._block(columns, block, indent=0.0, first=first)
            first = not isinstance(block, Paragraph)

    def footer(self) -> None:
        """The number of the page, except under a title."""
        if self._titled and self.page_no() == 1:
            return
        self.set_y(-_MARGIN)
        self._font(size=8.5)
        self.cell(0, 5, str(self.page_no()), align="C")

    def _heading(self, heading: Heading) -> None:
        size = _HEADINGS[heading.level - 1]
        if self.will_page_break(size * 1.6):  # never alone at the foot of a page
            self.add_page()
        self.ln(size * 0.35)
        if heading.title:
            # A bookmark may not skip a level that has none above it.
            self._depth = min(heading.level - 1, self._depth + 1)
            self.start_section(heading.title, level=self._depth)
        with self.text_columns(text_align="L", line_height=1.25) as columns, columns.paragraph() as paragraph:
            self._runs(paragraph, heading.runs, size=size)
        self.ln(size * 0.2)

    def _block(self, columns: TextColumns, block: Block, *, indent: float, first: bool = True) -> None:
        match block:
            case Paragraph():
                lead = 0.0 if first or indent else _INDENT
                with columns.paragraph(indent=indent, first_line_indent=lead) as paragraph:
                    self._runs(paragraph, block.runs)
            case Heading():
                with columns.paragraph(indent=indent, top_margin=2, bottom_margin=1) as paragraph:
                    self._runs(paragraph, block.runs, size=_SIZE + 1)
            case Quote():
                for each in block.blocks:
                    self._block(columns, each, indent=indent + _INDENT * 2)
            case Listing():
                self._listing(columns, block, indent)
            case Code():
                with columns.paragraph(indent=indent, top_margin=1, bottom_margin=1) as paragraph:
                    self._runs(paragraph, [Run(text=block.text)], size=_SIZE - 1.5)
            case Rule():
                with columns.paragraph(text_align="C", top_margin=3, bottom_margin=3) as paragraph:  # type: ignore[arg-type]
                    self._runs(paragraph, [Run(text="* * *")])

    def _listing(self, columns: TextColumns, listing: Listing, indent: float) -> None:
        for number, item in enumerate(listing.items):
            mark = "•  " if listing.start is None else f"{listing.start + number}.  "
            first, *rest = item or (Paragraph(runs=()),)
            if isinstance(first, Paragraph):
                first = Paragraph(runs=(Run(text=mark), *first.runs))
            for block in (first, *rest):
                self._block(columns, block, indent=indent + _INDENT)

    def _runs(self, paragraph: PdfParagraph, runs: Iterable[Run], *, size: float = _SIZE) -> None:
        for run in runs:
            self._font(bold=run.bold, italic=run.italic, size=size - 1 if run.code else size)
            self.strikethrough = run.strike
            paragraph.write(run.text, link=run.link or None)
            self.strikethrough = False

    def _font(self, *, bold: bool = False, italic: bool = False, size: float) -> None:
        self.set_font(FAMILY, f"{'B' * bold}{'I' * italic}", size)

    def _add_in_all_styles(self, family: str, path: Path) -> None:
        for style in STYLES:
            self.add_font(family, style, path)


def _contents(pages: FPDF, sections: list[OutlineSection]) -> None:
    """The lines of the table of contents, each leading to its page."""
    pages.set_font(FAMILY, "", _SIZE)
    for section in sections:
        indent = _INDENT * section.level
        target = pages.add_link(page=section.page_number)
        pages.set_x(pages.l_margin + indent)
        number = str(section.page_number)
        room = pages.epw - indent - pages.get_string_width(number) - 4
        pages.cell(room, 6.2, _cut(pages, section.name, room), link=target)
        pages.cell(0, 6.2, number, align="R", link=target, new_x="LMARGIN", new_y="NEXT")


def _cut(pages: FPDF, text: str, room: float) -> str:
    if pages.get_string_width(text) <= room:
        return text
    while text and pages.get_string_width(f"{text}…") > room:
        text = text[:-1]
    return f"{text}…"
