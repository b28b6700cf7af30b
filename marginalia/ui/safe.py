"""The one gate between texts of people or models and the page.

Markdown is rendered without HTML and without images (an image from afar would tell its server what is being read), then
cleaned again by an allow-list. Everything a page shows as HTML has come through :func:`safe` or :func:`plain`.
"""

from __future__ import annotations

from html import escape

import nh3
from markdown_it import MarkdownIt

_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough"]).disable("image")
)
_TAGS = {
    "p",
    "em",
    "strong",
    "s",
    "blockquote",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "br",
    "code",
    "pre",
    "a",
}
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def safe(markdown: str) -> str:
    """HTML of *markdown* that runs nothing, loads nothing and styles nothing, whatever the text holds."""
    return nh3.clean(
        _MARKDOWN.render(markdown),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )


def plain(text: str) -> str:
    """*text* as HTML that shows exactly its characters."""
    return escape(text, quote=True)
