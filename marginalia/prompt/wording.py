"""Two versions of a text compared word by word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

Fate: TypeAlias = Literal["same", "added", "removed"]

_PIECES = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
_MOST = 1_500
"""Words on either side up to which their order is compared; what is longer counts as replaced, in one piece."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of text that both versions have, or only the newer (``added``), or only the older one (``removed``)."""

    fate: Fate
    text: str


def compared(before: str, after: str) -> tuple[Stretch, ...]:
    """*before* and *after* as one text, in stretches.

    The same and added ones together are *after*, the same and removed ones *before*.
    """
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    pieces: list[tuple[Fate, str]] = [
        ("same", "".join(old[:head])),
        *_middle(old[head:old_end], new[head:new_end]),
        ("same", "".join(old[old_end:])),
    ]
    return tuple(_joined(piece for piece in pieces if piece[1]))


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
        min(len(old), len(new)),
    )


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Fate, str]]:
    if max(len(old), len(new)) > _MOST:
        yield "removed", "".join(old)
        yield "added", "".join(new)
        return
    for what, i, j, k, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            yield "same", "".join(old[i:j])
        else:
            yield "removed", "".join(old[i:j])
            yield "added", "".join(new[k:end])


def _joined(pieces: Iterable[tuple[Fate, str]]) -> Iterator[Stretch]:
    """Neighbours of one fate as one stretch; what was removed stands before what was added in its place."""
    texts: dict[Fate, list[str]] = {}
    for fate, text in pieces:
        if texts and (fate == "same") != ("same" in texts):
            yield from _flushed(texts)
            texts = {}
        texts.setdefault(fate, []).append(text)
    yield from _flushed(texts)


def _flushed(texts: Mapping[Fate, Sequence[str]]) -> Iterator[Stretch]:
    order: tuple[Fate, ...] = ("same", "removed", "added")
    for fate in order:
        if fate in texts:
            yield Stretch(fate, "".join(texts[fate]))
