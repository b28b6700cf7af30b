"""Telling reasoning from text when a server sends both as text, and putting halves of characters together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["reasoning", "text"]
Piece: TypeAlias = tuple[Kind, str]

# What opens reasoning at the start of an answer, and what closes it. The last two are the raw channel marks of a
# model whose server does not read them.
_ANALYSIS = "<|channel|>analysis<|message|>"
_FINAL = "<|channel|>final<|message|>"
_START = "<|start|>assistant"
_CLOSERS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "[THINK]": "[/THINK]",
    _ANALYSIS: "<|end|>",
    _START + _ANALYSIS: "<|end|>",
}
_DROPPED = (_FINAL, _START + _FINAL)
_OPENERS = (*_CLOSERS, *_DROPPED)
CLOSING_TAG = "</think>"


class Thinking:
    """Divides the text of an answer into reasoning and text while it arrives, wherever the tags are cut.

    A tag counts only at the very start of the answer (after white space, or after other reasoning), so that a story
    may speak of ``<think>``. White space around the reasoning is dropped; without a tag not a character is changed or
    moved to another piece. *inside* is for servers whose template opened the tag already.
    """

    __slots__ = ("_after", "_closer", "_held", "_silent", "_state", "_tail")

    def __init__(self, *, inside: bool = False) -> None:
        self._state: Literal["start", "inside", "text"] = "inside" if inside else "start"
        self._closer = CLOSING_TAG
        self._held: list[str] = []
        self._tail = ""
        self._after = False
        self._silent = True

    def feed(self, text: str) -> Iterator[Piece]:
        """What can be told of *text*, and of what was held back before it."""
        if self._state == "text":
            yield "text", text
        elif self._state == "inside":
            yield from self._reason(text)
        else:
            self._held.append(text)
            yield from self._look()

    def flush(self) -> Iterator[Piece]:
        """What was held back, at the end of the answer."""
        if self._state == "inside":
            yield from self._shown(self._tail.rstrip())
        yield from self._release()
        self._tail = ""

    def _look(self) -> Iterator[Piece]:
        begun = "".join(self._held).lstrip()
        opener = next((each for each in _OPENERS if begun.startswith(each)), None)
        if opener is None:
            if begun and not any(each.startswith(begun) for each in _OPENERS):
                self._state = "text"
                yield from self._release()
            return
        self._held.clear()
        rest = begun.removeprefix(opener)
        if opener in _DROPPED:
            self._state = "text"
        else:
            self._state, self._closer = "inside", _CLOSERS[opener]
        if rest:
            yield from self.feed(rest)

    def _release(self) -> Iterator[Piece]:
        held, self._held = self._held, []
        for text in held:
            # White space between the reasoning and the text belongs to neither.
            shown = text.lstrip() if self._after else text
            if shown:
                self._after = False
                yield "text", shown

    def _reason(self, text: str) -> Iterator[Piece]:
        text = self._tail + text
        before, closer, rest = text.partition(self._closer)
        if closer:
            self._state, self._after, self._tail = "start", True, ""
            yield from self._shown(before.rstrip())
            self._silent = True
            if rest:
                yield from self.feed(rest)
            return
        end = len(text) - _overlap(text, self._closer)
        shown = text[:end].rstrip()
        self._tail = text[len(shown) :]
        yield from self._shown(shown)

    def _shown(self, text: str) -> Iterator[Piece]:
        """Reasoning without the white space in front of its first word."""
        shown = text.lstrip() if self._silent else text
        if shown:
            self._silent = False
            yield "reasoning", shown


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of *text* may be the beginning of *tag*."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)


def late_split(text: str) -> tuple[str, str] | None:
    """Reasoning and text of a whole answer that has only the closing tag, as the template opened it; else ``None``."""
    before, tag, after = text.partition(CLOSING_TAG)
    if not tag or "<think>" in before:
        return None
    return before.strip(), after.lstrip()


class Surrogates:
    """Joins UTF-16 halves that a server cut apart, and replaces those that stay alone by U+FFFD."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """*text* with whole characters only; a half at its end waits for the next piece."""
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half, text = text[-1], text[:-1]
        return whole_characters(text)

    def flush(self) -> str:
        """U+FFFD when a half is left over at the end of the answer."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""


def whole_characters(text: str) -> str:
    """*text* as every encoder takes it: pairs of UTF-16 halves joined, single ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
