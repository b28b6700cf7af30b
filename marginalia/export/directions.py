"""Letters that are read from the left and from the right, told apart before they are set.

The Unicode bidirectional algorithm (UAX 9) is fpdf2's; here the styles of a paragraph are laid over what it finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from fpdf.bidi import BidiParagraph, auto_detect_base_direction
from fpdf.enums import TextDirection

from marginalia.export.blocks import Run, words


def direction_of(runs: Sequence[Run]) -> TextDirection:
    """Where a paragraph begins: what its first letter with a direction says (UAX 9, rules P2 and P3)."""
    return auto_detect_base_direction(words(runs))


def in_one_direction(runs: Sequence[Run]) -> Iterator[tuple[Run, TextDirection]]:
    """The runs of a paragraph, cut so that the letters of each have one direction."""
    at = 0
    text = words(runs)
    levels = _levels(text, direction_of(runs))
    from_the_left = direction_of(runs) is TextDirection.LTR
    for run in runs:
        places = range(at, at + len(run.text))
        at += len(run.text)
        for level, found in groupby(places, key=levels.__getitem__):
            piece = "".join(text[place] for place in found)
            if from_the_left and level and level % 2 == 0:
                # A number among letters from the right: their order is turned as a whole, so it is turned before.
                yield replace(run, text=piece[::-1]), TextDirection.RTL
            else:
                yield replace(run, text=piece), TextDirection.RTL if level % 2 else TextDirection.LTR


def _levels(text: str, base: TextDirection) -> list[int]:
    """How deep each character lies in text of another direction: even numbers are read from the left."""
    levels: list[int] = []
    lowest = 0 if base is TextDirection.LTR else 1
    for line in text.split("\n"):
        of_line = [lowest] * (len(line) + 1)  # with the line's end
        for each in BidiParagraph(text=line, base_direction=base, preserve_bn_chars=True).get_characters():
            of_line[each.character_index] = each.embedding_level
        levels += of_line
    return levels
