"""Markdown: the parts as they were written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from marginalia.export.blocks import Line, chapters, outline
from marginalia.export.manuscript import Manuscript
from marginalia.export.reading import read

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+\-.!|~&])")
_SCENE_BREAK = "* * *"
_WHOLE = 1 << 60


def write(manuscript: Manuscript) -> bytes:
    """The story as Markdown in UTF-8."""
    pieces: list[str] = []
    if manuscript.title_page:
        pieces.append(f"# {_escaped(manuscript.title)}")
        if manuscript.author:
            pieces.append(f"*{_escaped(manuscript.author)}*")
    lines = outline(chapters(read(manuscript), longest=_WHOLE)) if manuscript.contents else ()
    if lines:
        pieces.append("\n".join(_contents(lines)))
    if pieces:
        pieces.append(_SCENE_BREAK)
    between = f"\n\n{_SCENE_BREAK}\n\n" if manuscript.breaks else "\n\n"
    pieces.append(between.join(text.strip("\n") for text in manuscript.texts))
    return ("\n\n".join(pieces) + "\n").encode()


def _contents(lines: Iterable[Line], depth: int = 0) -> Iterable[str]:
    for line in lines:
        yield f"{'  ' * depth}- {_escaped(line.title)}"
        yield from _contents(line.under, depth + 1)


def _escaped(text: str) -> str:
    """*text* so that Markdown shows exactly its characters."""
    return _SPECIAL.sub(r"\\\1", text)
