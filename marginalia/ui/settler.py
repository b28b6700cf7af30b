"""Rendering an answer while it grows: what is complete is rendered once, only its end again and again."""

from __future__ import annotations

import re

from marginalia.ui.safe import plain, safe

_BREAK = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_CONTINUED = re.compile(r"[ \t]*(?:[-*+>]|\d+[.)])[ \t]|[ \t]{2,}\S")
_LONG_TAIL = 8_000


class Settler:
    """Turns a growing text into settled HTML and the HTML of its unfinished end.

    A blank line settles what stands before it, except inside a fence or between the items of a list, which Markdown
    reads together. One call costs what has come since the last one, and the end.
    """

    def __init__(self) -> None:
        self._settled = 0

    @property
    def settled(self) -> int:
        """How many characters are rendered for good."""
        return self._settled

    def feed(self, text: str) -> tuple[str, str]:
        """The HTML to append for good, and the HTML of the end, for *text*: all that has come up to now."""
        tail = text[self._settled :]
        cut = _last_safe_break(tail)
        fresh = safe(tail[:cut]) if cut else ""
        self._settled += cut
        return fresh, _tail_html(tail[cut:])


def _last_safe_break(tail: str) -> int:
    """Where *tail* can be cut: behind the last blank line that ends a block for certain; 0 if nowhere."""
    for found in reversed(list(_BREAK.finditer(tail))):
        rest = tail[found.end() :]
        if not rest or _CONTINUED.match(rest) or len(_FENCE.findall(tail[: found.start()])) % 2:
            continue
        return found.end()
    return 0


def _tail_html(tail: str) -> str:
    """A very long unfinished block is shown as plain text, so that a tick stays cheap; it is rendered at the end."""
    return safe(tail) if len(tail) <= _LONG_TAIL else f"<p>{plain(tail)}</p>"
