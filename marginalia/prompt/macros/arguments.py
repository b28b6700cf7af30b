"""Splits and trims what stands in a tag. Only the template's own text is looked at, never what a macro will print."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
"""What stands between texts: tags, or nodes."""

_ESCAPED_COMMA = "\\,"


def trimmed(pieces: list[str | T]) -> list[str | T]:
    """*pieces* without blanks at the edges of the written text."""
    result = list(pieces)
    if result and isinstance(result[0], str):
        result[0] = result[0].lstrip()
    if result and isinstance(result[-1], str):
        result[-1] = result[-1].rstrip()
    return [piece for piece in result if piece != ""]


def split(pieces: list[str | T], separator: str, most: int = 0) -> list[list[str | T]]:
    """*pieces* cut at *separator* into at most *most* lists (0: any number), each trimmed."""
    parts: list[list[str | T]] = [[]]
    for piece in pieces:
        if not isinstance(piece, str):
            parts[-1].append(piece)
            continue
        room = -1 if most == 0 else most - len(parts)
        first, *others = piece.split(separator, room) if room else [piece]
        parts[-1].append(first)
        parts.extend([other] for other in others)
    return [trimmed(part) for part in parts]


def choices(pieces: list[str | T]) -> list[list[str | T]]:
    """The choices written in *pieces*: separated by ``::``, or else by commas, where ``\\,`` stands for a comma."""
    parts = split(pieces, "::")
    if len(parts) > 1:
        return parts
    hidden = [piece.replace(_ESCAPED_COMMA, "\x00") if isinstance(piece, str) else piece for piece in pieces]
    return [_with_commas(part) for part in split(hidden, ",")]


def _with_commas(pieces: list[str | T]) -> list[str | T]:
    return [piece.replace("\x00", ",") if isinstance(piece, str) else piece for piece in pieces]


def words(pieces: list[str | T]) -> str | None:
    """The text of *pieces*, stripped, when there are no tags in it."""
    if not pieces:
        return ""
    first = pieces[0]
    return first.strip() if len(pieces) == 1 and isinstance(first, str) else None


def after(pieces: list[str | T], count: int) -> list[str | T]:
    """*pieces* without the first *count* characters, which stand in its first text."""
    first = pieces[0]
    if not isinstance(first, str):
        return pieces
    rest = first[count:]
    return [rest, *pieces[1:]] if rest else pieces[1:]
