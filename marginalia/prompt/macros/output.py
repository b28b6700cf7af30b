"""A text in the making, with the places where the template's own values stand in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from marginalia.prompt.context import Span

_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


class Output:
    """Texts written one after the other; remembers spans, and where line breaks are to be taken out."""

    __slots__ = ("length", "parts", "spans", "trims")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.spans: list[Span] = []
        self.trims: list[int] = []

    def write(self, text: str, name: str | None = None) -> None:
        """Add *text*; with a *name*, it is a value of the template's data."""
        self.parts.append(text)
        start = self.length
        self.length = start + len(text)
        if name and text:
            self.spans.append(Span(start, self.length, name))

    def write_trim(self) -> None:
        """Mark this place: the line breaks around it go when the text is finished."""
        self.trims.append(self.length)

    def write_output(self, other: Output) -> None:
        """Add all of *other*, with its marks."""
        shift = self.length
        self.parts.extend(other.parts)
        self.length += other.length
        self.spans.extend(Span(span.start + shift, span.end + shift, span.name) for span in other.spans)
        self.trims.extend(at + shift for at in other.trims)

    @property
    def text(self) -> str:
        """What was written."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def tidied(self) -> Output:
        """Without the indentation of the first line that is not blank, and without blanks at either end."""
        text = self.text
        cuts = _indentation(text)
        kept = _without(text, cuts)
        left = len(kept) - len(kept.lstrip())
        right = len(kept.rstrip())
        dedented = self.without(cuts) if cuts else self
        if left == 0 and right == len(kept):
            return dedented
        return dedented.without([(0, left), (max(right, left), len(kept))])

    def trimmed(self) -> Output:
        """Without the line breaks around the marked places."""
        if not self.trims:
            return self
        text = self.text
        cuts: list[tuple[int, int]] = []
        for at in self.trims:
            floor = cuts[-1][1] if cuts else 0
            if at < floor:
                continue
            start, end = _breaks(text, at, floor)
            cuts.append((start, end))
        result = self.without(cuts)
        result.trims = []
        return result

    def without(self, cuts: list[tuple[int, int]]) -> Output:
        """Without the ranges *cuts*, which are in order and do not overlap."""
        text = self.text
        ends = [end for _, end in cuts]
        gone = [0, *accumulate(end - start for start, end in cuts)]

        def moved(at: int) -> int:
            index = bisect_right(ends, at)
            inside = max(0, at - cuts[index][0]) if index < len(cuts) else 0
            return at - gone[index] - inside

        result = Output()
        result.write(_without(text, cuts))
        shifted = (Span(moved(span.start), moved(span.end), span.name) for span in self.spans)
        result.spans = [span for span in shifted if span.end > span.start]
        result.trims = [moved(at) for at in self.trims]
        return result


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in cuts:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return "".join(kept)


def _indentation(text: str) -> list[tuple[int, int]]:
    """The ranges that a dedent takes out; lines that are indented less lose what they have."""
    first = len(text) - len(text.lstrip())
    line = text.rfind("\n", 0, first) + 1
    match = _INDENT.match(text, line)
    if not match:
        return []
    width = match.end() - line
    return [(found.start(), min(found.end(), found.start() + width)) for found in _INDENT.finditer(text)]


def _breaks(text: str, at: int, floor: int) -> tuple[int, int]:
    """The run of line breaks around *at*, not before *floor*."""
    start = at
    while start > floor and text[start - 1] == "\n":
        start -= 2 if start - 2 >= floor and text[start - 2] == "\r" else 1
    end = at
    while text.startswith(("\n", "\r\n"), end):
        end += 1 if text[end] == "\n" else 2
    return start, end
