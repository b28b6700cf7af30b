"""What differs between two texts of a part, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal["same", "removed", "added"]

_LINES = re.compile(r"[^\n]*\n+|[^\n]+")
_WORDS = re.compile(r"[^\S\n]*(?:\w+|[^\w\s])|\n+|[^\S\n]+")
_MOST = 25_000_000  # pairs to compare; beyond that a passage counts as replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of text that both texts have, or only the older (``removed``) or the newer one (``added``)."""

    kind: ChangeKind
    text: str


def differences(older: str, newer: str) -> tuple[Piece, ...]:
    """The two texts as pieces in their order: all but the added ones are *older*, all but the removed ones are *newer*.

    Paragraphs are compared first, then the words of those that differ.
    """
    pieces: list[Piece] = []
    for same, before, after in _stretches(_LINES.findall(older), _LINES.findall(newer)):
        if same:
            _add(pieces, "same", "".join(before))
        else:
            _compare_words(pieces, "".join(before), "".join(after))
    return tuple(pieces)


def _compare_words(pieces: list[Piece], older: str, newer: str) -> None:
    for same, gone, come in _stretches(_WORDS.findall(older), _WORDS.findall(newer)):
        if same:
            _add(pieces, "same", "".join(gone))
        else:
            _add(pieces, "removed", "".join(gone))
            _add(pieces, "added", "".join(come))


def _stretches(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """Stretches that are the same in both, and between them what is not; equal ends are cut off at little cost."""
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    tail = next((at for at in range(least - head) if before[-1 - at] != after[-1 - at]), least - head)
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    if head:
        yield True, before[:head], after[:head]
    if len(left) * len(right) > _MOST:
        yield False, left, right
    else:
        for tag, start, stop, other, end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            yield tag == "equal", left[start:stop], right[other:end]
    if tail:
        yield True, before[len(before) - tail :], after[len(after) - tail :]


def _add(pieces: list[Piece], kind: ChangeKind, text: str) -> None:
    if not text:
        return
    if pieces and pieces[-1].kind == kind:
        pieces[-1] = Piece(kind=kind, text=pieces[-1].text + text)
    else:
        pieces.append(Piece(kind=kind, text=text))
