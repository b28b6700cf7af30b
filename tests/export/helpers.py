"""A story with everything that a story can have, and what stands around it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from marginalia.export import Manuscript

MADE = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
TEXTS = (
    (
        "# The *Ford*\n\nA *thin* moon over **black** water; `ink`.\n\nThen <script>x()</script> & silence.\n"
        "A second line.\n\n> Hush\n>\n> - deep\n\n- oar\n- net\n  3. one\n  4. two\n\n---\n\n"
        "[road](http://x.example/?a=1&b=2), ~~gone~~, ***both***"
    ),
    "## Größe\n\nGröße zählt. Ж Ω “quotes” — dash\x0b\x00",
    "# Second chapter\n\nShe waits.\n\n```\ncode  x\n```",
)


def manuscript(*texts: str, **fields: Any) -> Manuscript:
    given: dict[str, Any] = {"title": "Salt & <Road>", "author": "A. Writer", "made": MADE} | fields
    return Manuscript(texts=texts or TEXTS, **given)
