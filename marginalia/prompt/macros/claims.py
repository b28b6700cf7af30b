"""Which tags of a Jinja text are macros: those that Jinja itself could not read, so that nothing native is taken away.

``{{#``, ``{{/``, ``{{^``, ``{{.x}}``, ``{{$x}}``, ``{{name::…}}``, ``{{if …}}``, ``{{//``, ``{{!`` and ``{{{x}}}``; and
``{{else}}`` in an open macro block.
"""

from __future__ import annotations

import re

from marginalia.prompt.macros.parser import Parser
from marginalia.prompt.macros.problems import mistake
from marginalia.prompt.macros.scanner import Piece, Ready, Tag, scan_tag
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.macros.tree import Native, Nodes

MAX_LENGTH = 32_768
"""How many characters a Jinja template may have."""

MAX_TAGS = 1_000
"""How many tags of its own a Jinja template may have."""

_LONGEST_TAG = 4_000
_MOST_TOKENS = 400
_MOST_BRACKETS = 20

_START = re.compile(r"\{\{|\{%|\{#")
_CLAIMED = re.compile(
    r"\{\{(?:\s*(?:[#/^!]|&\s*\w|[.$]\s*[A-Za-z}]|\.\./|@\w|\.\s*\}\}|[^\W\d][\w-]*\s*::|(?i:if)\s+|(?i:else)\s*\}\}|(?i:else)\s+(?i:if)\s)"
    r"|\{\s*[\w@./-]+\s*\}\}\})"
)
_BRACES = re.compile(r"\{{3,}")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_RAW_END = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_INSIDE = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|["']|[(\[{]|[)\]]|%\}|\}\}|\}""", re.DOTALL)
_WORDS = re.compile(r"\w+|[^\w\s]")


def parse_mixed(source: str, macros: MacroTable, printed: list[Tag] | None = None) -> Nodes:
    """The tree of a Jinja text: macros as in any template, everything else as :class:`Native`.

    Macro tags that are printed as they stand are added to *printed*.

    Raises:
        Mistake: it is too long, a tag or string is not closed, or a macro block is wrong.
    """
    if len(source) > MAX_LENGTH:
        raise mistake(
            source, MAX_LENGTH, f"A Jinja template may have {MAX_LENGTH:,} characters. Make it shorter."
        )
    pieces = _Mixed(source).run()
    parser = _MixedParser(source, macros)
    nodes = parser.sequence(pieces)
    if printed is not None:
        printed.extend(parser.printed)
    return nodes


class _MixedParser(Parser):
    def as_text(self, tag: Tag) -> Nodes:
        """An ``{{else}}`` that no macro block takes is Jinja's."""
        shown = self.source[tag.start : tag.end]
        if "else" in shown[:12].lower():
            return (Native(shown, tag.start),)
        return super().as_text(tag)


class _Mixed:
    def __init__(self, source: str) -> None:
        self.source = source
        self.pieces: list[Piece] = []
        self.tags = 0

    def run(self) -> list[Piece]:
        source, at = self.source, 0
        while match := _START.search(source, at):
            start = match.start()
            if start > at:
                self.pieces.append(source[at:start])
            at = self._tag(match.group(), start)
            self.tags += 1
            if self.tags > MAX_TAGS:
                raise mistake(source, start, f"A Jinja template may have {MAX_TAGS:,} tags. Make it shorter.")
        if at < len(source):
            self.pieces.append(source[at:])
        return self.pieces

    def _tag(self, sign: str, start: int) -> int:
        last = _BRACES.match(self.source, start)
        if last and not _CLAIMED.match(self.source, start) and _CLAIMED.match(self.source, last.end() - 2):
            # Braces of the text before a tag of ours; Jinja could not read these either.
            self.pieces.append(self.source[start : last.end() - 2])
            start = last.end() - 2
        if sign == "{{" and _CLAIMED.match(self.source, start):
            tag, end = scan_tag(self.source, start)
            if tag is not None:
                self.pieces.append(tag)
            return end
        end = self._end(sign, start)
        self.pieces.append(Ready(Native(self.source[start:end], start)))
        return end

    def _end(self, sign: str, start: int) -> int:
        """Where Jinja's own tag ends."""
        if sign == "{#":
            found = self.source.find("#}", start)
            if found < 0:
                raise mistake(self.source, start, "This comment is never closed. Add #} at its end.")
            return found + 2
        if raw := _RAW.match(self.source, start):
            closing = _RAW_END.search(self.source, raw.end())
            if not closing:
                raise mistake(self.source, start, "{% raw %} is never closed. Add {% endraw %}.")
            return closing.end()
        return self._expression_end(start, "%}" if sign == "{%" else "}}")

    def _expression_end(self, start: int, closing: str) -> int:
        source, depth, at = self.source, 0, start + 2
        while match := _INSIDE.search(source, at):
            sign = match.group()
            if depth == 0 and sign == closing:
                self._check_size(start, match.end())
                return match.end()
            if sign in {'"', "'"}:
                raise mistake(source, match.start(), "This string is never closed.")
            depth += (sign in "([{") - (sign in {")", "]", "}", "}}"})
            at = match.end() - (sign == "}}")  # two braces may close two brackets
            if depth > _MOST_BRACKETS:
                raise mistake(
                    source, start, f"Brackets stand inside each other more than {_MOST_BRACKETS} deep."
                )
        raise mistake(source, start, f"This tag is never closed. Add {closing} at its end.")

    def _check_size(self, start: int, end: int) -> None:
        text = self.source[start:end]
        if len(text) > _LONGEST_TAG or len(_WORDS.findall(text)) > _MOST_TOKENS:
            raise mistake(
                self.source, start, f"This tag is too long: {_MOST_TOKENS} words and signs are possible."
            )
