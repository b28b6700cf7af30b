"""One web page with everything in it: it loads nothing, and runs nothing."""

from __future__ import annotations

import nh3

from marginalia.export.blocks import chapters, outline
from marginalia.export.manuscript import Manuscript
from marginalia.export.markup import markup
from marginalia.export.pages import page, safe
from marginalia.export.reading import read

_TAGS = {
    "p", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "br", "a",
    "h1", "h2", "h3", "h4", "h5", "h6",
}  # fmt: skip
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WHOLE = 1 << 60


def write(manuscript: Manuscript) -> bytes:
    """The story as HTML in UTF-8."""
    blocks = read(manuscript)
    lines = outline(chapters(blocks, longest=_WHOLE)) if manuscript.contents else ()
    # The title is the page's own first heading, so the story's move down by one.
    story = markup(blocks, deeper=1 if manuscript.title_page else 0)
    return page("page.html.jinja", manuscript=manuscript, lines=lines, story=safe(_cleaned(story))).encode()


def _cleaned(html: str) -> str:
    """The story's HTML once more through an allow-list: the second gate behind our own escaping."""
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}} | {name: {"id"} for name in _HEADINGS},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
