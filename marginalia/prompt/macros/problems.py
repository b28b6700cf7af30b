"""What is wrong with a template, and where."""

from __future__ import annotations

from marginalia.errors import TemplateError

MAX_DEPTH = 60
"""How deep tags and blocks may stand inside each other."""


class Mistake(TemplateError):
    """A template that cannot be compiled; ``line`` and ``column`` count from 1 and point at the tag that is wrong."""

    def __init__(self, text: str, *, line: int, column: int) -> None:
        super().__init__(f"Line {line}, column {column}: {text}")
        self.text = text
        self.line = line
        self.column = column


def position(source: str, offset: int) -> tuple[int, int]:
    """Line and column of the character at *offset*, both counted from 1."""
    before = source.rfind("\n", 0, offset)
    return source.count("\n", 0, offset) + 1, offset - before


def mistake(source: str, offset: int, text: str) -> Mistake:
    """A mistake at the character *offset* of *source*."""
    line, column = position(source, offset)
    return Mistake(text, line=line, column=column)
