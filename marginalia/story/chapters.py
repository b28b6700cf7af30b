"""The headings of a story, for a table of contents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from marginalia.story.outline import first_words

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<words>.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading: in which part of the branch it stands (counted from 1), its level from 1, its words."""

    number: int
    level: int
    words: str


def headings(texts: Iterable[str]) -> tuple[Heading, ...]:
    """The headings of parts in their order.

    Every Markdown heading counts, and a short line of its own that a part begins with, as in the outline; what stands
    in a block of code does not.
    """
    return tuple(each for number, text in enumerate(texts, 1) for each in _of_part(number, text))


def _of_part(number: int, text: str) -> Iterable[Heading]:
    if "#" not in text:
        words, heading = first_words(text)
        return (Heading(number=number, level=1, words=words),) if heading else ()
    found: list[Heading] = []
    code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            code = not code
        matched = None if code else _HEADING.fullmatch(line)
        if matched and matched["words"]:
            found.append(Heading(number=number, level=len(matched["marks"]), words=matched["words"]))
    words, heading = first_words(text)
    if heading and not (found and found[0].words == words):
        found.insert(0, Heading(number=number, level=1, words=words))
    return found
