"""Splits and trims what stands in a tag. Only the template's own text is looked at, never what a macro will print."""

from __future__ import annotations

from marginalia.prompt.macros.scanner import Piece

_ESCAPED_COMMA = "\\,"


def trimmed(pieces: list[Piece]) -> list[Piece]:
    """*pieces* without blanks at the edges of the written text."""
    result = list(pieces)
    if result and isinstance(result[0], str):
        result[0] = result[0].lstrip()
    if result and isinstance(result[-1], str):
        result[-1] = result[-1].rstrip()
    return [piece for piece in result if piece != ""]


def split(pieces: list[Piece], separator: str, most: int = 0) -> list[list[Piece]]:
    """*pieces* cut at *separator* into at most *most* lists (0: any number), each trimmed."""
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        if not isinstance(piece, str):
            parts[-1].append(piece)
            continue
        room = -1 if most == 0 else most - len(parts)
        first, *others = piece.split(separator, room) if room else [piece]
        parts[-1].append(first)
        parts.extend([other] for other in others)
    return [trimmed(part) for part in parts]


def choices(pieces: list[Piece]) -> list[list[Piece]]:
    """The choices written in *pieces*: separated by ``::``, or else by commas; a backslash keeps a comma as text."""
    parts = split(pieces, "::")
    if len(parts) > 1:
        return parts
    hidden = [piece.replace(_ESCAPED_COMMA, "\x00") if isinstance(piece, str) else piece for piece in pieces]
    return [_with_commas(part) for part in split(hidden, ",")]


def _with_commas(pieces: list[Piece]) -> list[Piece]:
    return [piece.replace("\x00", ",") if isinstance(piece, str) else piece for piece in pieces]


def words(pieces: list[Piece]) -> str | None:
    """The text of *pieces*, stripped, when there are no tags in it."""
    if not pieces:
        return ""
    first = pieces[0]
    return first.strip() if len(pieces) == 1 and isinstance(first, str) else None


def after(pieces: list[Piece], count: int) -> list[Piece]:
    """*pieces* without the first *count* characters, which stand in its first text."""
    first = pieces[0]
    if not isinstance(first, str):
        return pieces
    rest = first[count:]
    return [rest, *pieces[1:]] if rest else pieces[1:]
