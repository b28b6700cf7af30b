"""Nothing that somebody typed or a model wrote runs, loads or styles anything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.ui.safe import plain, safe

HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '<svg onload="alert(1)"></svg>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<details open ontoggle=alert(1)>x</details>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "<a href='javascript:alert(1)'>x</a>",
    "<form action='http://x'><button>x</button></form>",
    "<p style='position:fixed'>x</p>",
    "<style>*{display:none}</style>",
    "<math><mtext></p><img src=x onerror=alert(1)></math>",
    "&lt;img src=x onerror=alert(1)&gt;",
    "&amp;lt;script&amp;gt;",
    "```html\n<script>alert(1)</script>\n```",
    '```"><img src=x onerror=alert(1)>\nx\n```',
    "![x](http://elsewhere.example/pixel.png)",
    "<link rel=stylesheet href=http://elsewhere.example/x.css>",
    "<base href=http://elsewhere.example/>",
    "> <script>alert(1)</script>",
]
TAG = re.compile(r"<\s*/?\s*([a-z0-9]+)([^>]*)>", re.IGNORECASE)
ALLOWED = {
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


def harmless(html: str) -> bool:
    return all(
        name.lower() in ALLOWED
        and not re.search(r"\bon\w+\s*=|style\s*=|javascript:|data:", rest, re.IGNORECASE)
        for name, rest in TAG.findall(html)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(text: str) -> None:
    assert harmless(safe(text))


@given(
    st.lists(st.sampled_from([*HOSTILE, "\n\n", "*", "`", ">", "<", '"', "word "]), max_size=12).map("".join)
)
def test_no_mixture_of_hostile_texts_does_anything(text: str) -> None:
    assert harmless(safe(text))


def test_prose_keeps_its_emphasis_paragraphs_and_lines() -> None:
    assert safe("She *ran*.\n\nHe did **not**.\nStill.") == (
        "<p>She <em>ran</em>.</p>\n<p>He did <strong>not</strong>.<br>\nStill.</p>\n"
    )


def test_a_link_tells_nobody_where_it_came_from() -> None:
    assert 'rel="noopener noreferrer nofollow"' in safe("[x](https://example.org)")


def test_plain_text_shows_exactly_its_characters() -> None:
    assert plain('<b a="1">&') == "&lt;b a=&quot;1&quot;&gt;&amp;"
