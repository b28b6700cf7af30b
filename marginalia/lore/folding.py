"""How texts and keys are made comparable, and the way back to the places in the text itself.

Filters of the specification compare character by character (spec/semantics.md, B1 45). Keys compare as NFC and
case-folded, with curly apostrophes and every kind of blank made plain, so that *café* is found however it was typed.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cached_property

import regex

_BLANKS_AND_APOSTROPHES = str.maketrans(
    {
        **dict.fromkeys("\t\n\r\u00a0\u2007\u2009\u200a\u202f\u3000\u2028\u2029", " "),
        **dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"),
    }
)
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_CLUSTER = regex.compile(r"\X")
# Hangul has blanks between words but hangs its particles onto them, so a border after a Korean name would never hold.
_BORDERED = regex.compile(
    r"[^\W\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\u30fc]"
)


class _SimpleFold(dict[int, int]):
    """Maps each character to one character: upper case, then lower case, where that is a single character."""

    def __missing__(self, code: int) -> int:
        upper = chr(code).upper()
        lower = (upper if len(upper) == 1 else chr(code)).lower()
        # The capital I with a dot is the only character whose lower case is longer than one character.
        folded = self[code] = ord(lower[0])
        return folded


_simple = _SimpleFold()


def clean(text: str) -> str:
    """The text with lone surrogates, which no matcher takes, replaced one for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def simple_fold(text: str) -> str:
    """The text without upper and lower case, character for character: places stay what they are."""
    return text.lower() if text.isascii() else text.translate(_simple)


def plain(text: str) -> str:
    """The text in NFC, with plain blanks and apostrophes; upper and lower case stay."""
    return unicodedata.normalize("NFC", text).translate(_BLANKS_AND_APOSTROPHES)


def fold(text: str) -> str:
    """The text as keys are compared with it."""
    return plain(text).casefold()


def whole_word(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]`` does not continue as a word on either side; ``start < end``.

    A key that begins or ends with something that is no letter needs no border there, nor does a script without blanks.
    """
    left = start > 0 and _joined(text[start - 1], text[start])
    right = end < len(text) and _joined(text[end - 1], text[end])
    return not left and not right


class _Bordered(dict[str, bool]):
    """Whether a character is part of words that have borders."""

    def __missing__(self, character: str) -> bool:
        found = self[character] = _BORDERED.match(character) is not None
        return found


_bordered = _Bordered()


def _joined(left: str, right: str) -> bool:
    return _bordered[left] and _bordered[right]


class Folded:
    """A text and its folded form; ``back`` gives the place in the text for a place in the folded form."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = None if unicodedata.is_normalized("NFC", text) else _CLUSTER.findall(text)
        self.folded = fold(text) if self._pieces is None else "".join(map(fold, self._pieces))

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The place in the text that ``folded[start:end]`` came from; ``start < end``."""
        if self._pieces is None and len(self.folded) == len(self.text):
            return start, end
        return self._first(start), self._last(end - 1)

    def _first(self, at: int) -> int:
        folded, origin, whole = self._anchor(at)
        return origin if whole else origin + at - folded

    def _last(self, at: int) -> int:
        folded, origin, whole = self._anchor(at)
        return origin + whole if whole else origin + at - folded + 1

    def _anchor(self, at: int) -> tuple[int, int, int]:
        starts, anchors = self._anchors
        return anchors[bisect_right(starts, at) - 1]

    @cached_property
    def _anchors(self) -> tuple[list[int], list[tuple[int, int, int]]]:
        """From where on (folded place, place in the text) both run side by side.

        A third figure other than 0 is the length of a piece of the text that only goes as a whole.
        """
        anchors = [(0, 0, 0)]
        at = origin = 0
        for piece in self._pieces or self.text:
            length = 1 if piece.isascii() and len(piece) == 1 else len(fold(piece))
            if length != 1 or len(piece) != 1:
                anchors += [(at, origin, len(piece)), (at + length, origin + len(piece), 0)]
            at += length
            origin += len(piece)
        return [anchor[0] for anchor in anchors], anchors
