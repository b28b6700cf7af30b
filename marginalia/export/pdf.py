"""PDF in the size of a paperback, with real text, bookmarks and page numbers."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any, cast

from fpdf import FPDF
from fpdf.enums import TextDirection
from fpdf.fonts import TTFFont
from fpdf.outline import OutlineSection
from fpdf.text_region import Paragraph as PdfParagraph

from marginalia.export.blocks import Block, Code, Heading, Listing, Paragraph, Quote, Rule, Run, headings
from marginalia.export.directions import direction_of, in_one_direction
from marginalia.export.fonts import (
    FAMILY,
    STYLES,
    fallbacks,
    missing,
    needs_shaping,
    set_alone,
    with_plain_blanks,
)
from marginalia.export.manuscript import Manuscript
from marginalia.export.reading import HERE, read
from marginalia.values import counted

_PAPER = (148.0, 210.0)  # millimetres
_SIZE = 10.5
_LEADING = 1.45
_MARGIN = 18.0  # millimetres
_INDENT = 4.5
_DEEPEST = 60.0  # millimetres of indent: half a line is left, however deep quotes and lists are
_HEADINGS = (17.0, 14.0, 12.5, 11.5, 11.0, 10.5)
_LINE_OF_CONTENTS = 6.2
_FOOT = _MARGIN + 4
_LINES_OF_CONTENTS = int((_PAPER[1] - _MARGIN - _FOOT) / _LINE_OF_CONTENTS)  # on one page


def write(manuscript: Manuscript) -> bytes:
    """The story as PDF.

    Raises ``InvalidInput`` when no font on this machine has all of its characters; other formats need no font.
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
        # As many pages as it takes: those that the library would add later on have no numbers in the contents.
        needed = 1 + (len(titles) - 1) // _LINES_OF_CONTENTS
        pages.insert_toc_placeholder(_contents, pages=needed, reset_page_indices=False)
    else:
        pages.add_page()
    pages.story(counted(blocks, manuscript.progress, begin=HERE, end=0.9))
    return bytes(pages.output())


class _Pages(FPDF):
    """A document that knows how to set blocks."""

    def __init__(self, manuscript: Manuscript) -> None:
        super().__init__(format=_PAPER)
        self.set_margin(_MARGIN)
        self.set_auto_page_break(auto=True, margin=_FOOT)
        self.set_title(manuscript.title)
        self.set_author(manuscript.author)
        self.set_lang(manuscript.language)
        self.set_creation_date(manuscript.made.astimezone(UTC))
        self.set_producer("Marginalia")
        self._titled = manuscript.title_page
        self._depth = -1
        self._shaped = False

    def use_fonts(self, manuscript: Manuscript) -> None:
        """Load the book's font, and what is needed for characters that it lacks."""
        for style, path in STYLES.items():
            self.add_font(FAMILY, style, path)
        needed = {*manuscript.title, *manuscript.author, "*", "•"}.union(*map(set, manuscript.texts))
        self._shaped = needs_shaping(needed)
        self.set_text_shaping(self._shaped)
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
                self._block(block, indent=0.0, first=first)
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
        self._paragraph(heading.runs, size=size, align="L", leading=1.25)
        self.ln(size * 0.2)

    def _block(self, block: Block, *, indent: float, first: bool = True) -> None:
        match block:
            case Paragraph():
                self._paragraph(block.runs, indent=indent, lead=0.0 if first or indent else _INDENT)
            case Heading():
                self._paragraph(block.runs, size=_SIZE + 1, indent=indent, above=2, below=1)
            case Quote():
                for each in block.blocks:
                    self._block(each, indent=indent + _INDENT * 2)
            case Listing():
                self._listing(block, indent)
            case Code():
                runs = [Run(text=block.text)]
                self._paragraph(runs, size=_SIZE - 1.5, indent=indent, above=1, below=1)
            case Rule():
                self._paragraph([Run(text="* * *")], align="C", above=3, below=3)

    def _listing(self, listing: Listing, indent: float) -> None:
        for number, item in enumerate(listing.items):
            mark = "•  " if listing.start is None else f"{listing.start + number}.  "
            first, *rest = item or (Paragraph(runs=()),)
            if isinstance(first, Paragraph):
                first = Paragraph(runs=(Run(text=mark), *first.runs))
            for block in (first, *rest):
                self._block(block, indent=indent + _INDENT)

    def _paragraph(
        self,
        runs: Sequence[Run],
        *,
        size: float = _SIZE,
        indent: float = 0.0,
        lead: float = 0.0,
        above: float = 0.0,
        below: float = 0.0,
        align: str = "J",
        leading: float = _LEADING,
    ) -> None:
        """Set a paragraph; one that begins at the right is ragged at the left and stands apart from the one before.

        Justified, its last line would be set at the left, and so would be the indent of its first.
        """
        left, right = self.l_margin, self.r_margin
        if self._shaped and direction_of(runs) is TextDirection.RTL:
            right += min(indent, _DEEPEST)
            above, lead, align = above or lead / 2, 0.0, align if align == "C" else "R"
        else:
            left += min(indent, _DEEPEST)
        with (
            self.text_columns(
                text_align=align, line_height=leading, l_margin=left, r_margin=right
            ) as columns,
            columns.paragraph(first_line_indent=lead, top_margin=above, bottom_margin=below) as paragraph,
        ):
            self._runs(paragraph, runs, size)

    def _runs(self, paragraph: PdfParagraph, runs: Sequence[Run], size: float) -> None:
        if not self._shaped:
            for run in runs:
                self._run(paragraph, replace(run, text=set_alone(run.text)), size)
            return
        shaping = cast("dict[str, Any]", self.text_shaping)
        shaping["paragraph_direction"] = direction_of(runs)
        for run, direction in in_one_direction(runs):
            shaping["fragment_direction"] = direction
            self._run(paragraph, run, size)

    def _run(self, paragraph: PdfParagraph, run: Run, size: float) -> None:
        self._font(bold=run.bold, italic=run.italic, size=size - 1 if run.code else size)
        self.strikethrough = run.strike
        paragraph.write(with_plain_blanks(run.text), link=run.link or None)
        self.strikethrough = False

    def _font(self, *, bold: bool = False, italic: bool = False, size: float) -> None:
        self.set_font(FAMILY, f"{'B' * bold}{'I' * italic}", size)

    def _add_in_all_styles(self, family: str, path: Path) -> None:
        for style in STYLES:
            self.add_font(family, style, path)


def _contents(pages: FPDF, sections: list[OutlineSection]) -> None:
    """The lines of the table of contents, each leading to its page; titles from the right stand there."""
    pages.set_font(FAMILY, "", _SIZE)
    for section in sections:
        indent = _INDENT * section.level
        target = pages.add_link(page=section.page_number)
        number = str(section.page_number)
        beside = pages.get_string_width(number) + 4
        room = pages.epw - indent - beside
        title = _cut(pages, section.name, room)
        if direction_of([Run(text=title)]) is TextDirection.RTL:
            pages.cell(beside, _LINE_OF_CONTENTS, number, link=target)
            pages.cell(room, _LINE_OF_CONTENTS, title, align="R", link=target, new_x="LMARGIN", new_y="NEXT")
        else:
            pages.set_x(pages.l_margin + indent)
            pages.cell(room, _LINE_OF_CONTENTS, title, link=target)
            pages.cell(
                beside, _LINE_OF_CONTENTS, number, align="R", link=target, new_x="LMARGIN", new_y="NEXT"
            )


def _cut(pages: FPDF, text: str, room: float) -> str:
    if pages.get_string_width(text) <= room:
        return text
    kept = bisect(range(len(text)), room, key=lambda length: pages.get_string_width(f"{text[:length]}…"))
    return f"{text[: max(kept - 1, 0)]}…"
