"""What python-docx has no call for: links, bookmarks, fields. Plain XML elements, made and put in place here."""

from __future__ import annotations

from typing import Any, Protocol, cast

from docx.oxml import parser
from docx.oxml.ns import qn
from docx.styles.style import ParagraphStyle
from docx.text.paragraph import Paragraph
from docx.text.run import Run


class Element(Protocol):
    """As much of an XML element as is used here; the library's own types are unknown to a type checker."""

    text: str | None

    def append(self, element: Element, /) -> None:
        """Add a child."""
        ...

    def set(self, name: str, value: str, /) -> None:
        """Set an attribute."""
        ...


def link(paragraph: Paragraph, run: Run, *, address: str = "", anchor: str = "") -> None:
    """Make *run*, the last of *paragraph*, lead to a relationship's *address* or to an *anchor* in the document."""
    made = _element("w:hyperlink", {"r:id": address} if address else {"w:anchor": anchor})
    _of_paragraph(paragraph).append(made)
    made.append(_of_run(run))


def bookmark(paragraph: Paragraph, number: int, name: str) -> None:
    """An empty bookmark at the end of *paragraph* as it is now; *number* is its own in the document."""
    _of_paragraph(paragraph).append(_element("w:bookmarkStart", {"w:id": str(number), "w:name": name}))
    _of_paragraph(paragraph).append(_element("w:bookmarkEnd", {"w:id": str(number)}))


def field_mark(paragraph: Paragraph, kind: str) -> None:
    """The ``begin``, ``separate`` or ``end`` of a field."""
    _of_run(paragraph.add_run()).append(_element("w:fldChar", {"w:fldCharType": kind}))


def field_code(paragraph: Paragraph, code: str) -> None:
    """What a field computes."""
    element = _element("w:instrText", {})
    element.text = code
    _of_run(paragraph.add_run()).append(element)


def _of_paragraph(paragraph: Paragraph) -> Element:
    return cast("Element", cast("Any", paragraph.paragraph_format).element)


def _of_run(run: Run) -> Element:
    return cast("Element", cast("Any", run.font).element)


def _element(tag: str, attributes: dict[str, str]) -> Element:
    element = cast("Element", cast("Any", parser).OxmlElement(tag))
    for name, value in attributes.items():
        element.set(qn(name), value)
    return element


def right_to_left(style: ParagraphStyle) -> None:
    """Let paragraphs of *style*, and of those that build on it, begin at the right."""
    properties = cast("Any", style.element).get_or_add_pPr()
    after = ("w:adjustRightInd", "w:spacing", "w:ind", "w:jc", "w:outlineLvl", "w:rPr")  # the schema's order
    properties.insert_element_before(_element("w:bidi", {}), *after)
