"""Searching texts: queries of words, "phrases" and ``*``, and the excerpt that shows a match.

The rules are those of spec/semantics.md, B1 99. Case and the kind of white space make no difference, accents do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from unicodedata import normalize

_TERM = re.compile(r"[\"“”„]([^\"“”„]*)[\"“”„]?|([^\s\"“”„]+)")
_PIECE = re.compile(r"\s+|\S[\u0300-\u036f]*")
_LONGEST = 400  # characters of a match that an excerpt shows; a wildcard can span a whole part
_ASCII_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
_BLANKS = (
    f"{_ASCII_BLANKS}\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: terms that must all occur, each as the pieces between its wildcards, folded."""

    terms: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Words and quoted phrases; a quotation mark that is not closed runs to the end. A blank text finds nothing."""
        found = (phrase or word for phrase, word in _TERM.findall(text))
        return cls(tuple(_pieces(term) for term in found if term.strip()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def matches(self, folded: str) -> bool:
        """Whether every term occurs in a text, which is folded already."""
        return bool(self.terms) and all(_find(pieces, folded) is not None for pieces in self.terms)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the terms stand in *text*: pairs of start and end, in order, without overlaps."""
        folded, places = _mapped(text)
        found: list[tuple[int, int]] = []
        for pieces in self.terms:
            at = 0
            while any(pieces) and (place := _find(pieces, folded, at)) is not None:
                found.append((places[place[0]][0], places[place[1] - 1][1]))
                at = place[1]
        return _apart(sorted(found))


def fold(text: str) -> str:
    """*text* as it is searched: case-folded, composed, every run of white space one blank."""
    plain = text.isascii()
    for blank in _ASCII_BLANKS if plain else _BLANKS:
        if blank in text:  # looking first is a lot cheaper than splitting and joining a whole book
            text = text.replace(blank, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    text = text.strip(" ")
    return text.lower() if plain else normalize("NFC", text).casefold()


def snippet(text: str, query: str, radius: int = 60) -> str:
    """The first match of the first term of *query* in *text*, with up to *radius* characters around it, on one line.

    An ellipsis stands where text was cut off; the answer is empty when the term does not occur.
    """
    parsed = Query.parse(query)
    line = normalize("NFC", " ".join(text.split()))
    found = _locate(parsed.terms[0], line) if parsed else None
    if found is None:
        return ""
    start, end = max(found[0] - radius, 0), min(found[1], found[0] + _LONGEST) + radius
    cut = line[start:end].strip()
    return f"{ELLIPSIS if start else ''}{cut}{ELLIPSIS if end < len(line) else ''}"


def _pieces(term: str) -> tuple[str, ...]:
    folded = re.sub(r"\s+", " ", normalize("NFC", term).casefold())
    return tuple(folded.split("*"))


def _find(pieces: tuple[str, ...], folded: str, at: int = 0) -> tuple[int, int] | None:
    """The first place where the pieces follow each other: its start and its end."""
    start = end = folded.find(pieces[0], at)
    if start < 0:
        return None
    end += len(pieces[0])
    for piece in pieces[1:]:
        place = folded.find(piece, end)
        if place < 0:
            return None
        end = place + len(piece)
    return start, end


def _locate(pieces: tuple[str, ...], line: str) -> tuple[int, int] | None:
    """Where the pieces stand in *line*, which is composed and has single blanks only."""
    folded = line.casefold()
    found = _find(pieces, folded)
    if found is None or len(folded) == len(line):
        return found
    # A few letters become two when they are folded, so that the places shift.
    origins = [at for at, letter in enumerate(line) for _ in letter.casefold()]
    origins.append(len(line))
    return origins[found[0]], origins[max(found[1] - 1, 0)] + 1


def _mapped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """*text* folded, and for every character of that the stretch of *text* that it came from."""
    folded: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _PIECE.finditer(text):
        piece = " " if match[0].isspace() else normalize("NFC", match[0]).casefold()
        folded.append(piece)
        places.extend([match.span()] * len(piece))
    return "".join(folded), places


def _apart(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
