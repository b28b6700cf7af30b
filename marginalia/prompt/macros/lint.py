"""What is probably not meant in a template, though it compiles."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from marginalia.prompt.macros.builtin import WITHOUT_MEANING
from marginalia.prompt.macros.claims import parse_mixed
from marginalia.prompt.macros.parser import Parser
from marginalia.prompt.macros.problems import position
from marginalia.prompt.macros.scanner import Tag, scan
from marginalia.prompt.macros.survey import survey
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.macros.values import is_true

_JINJA = re.compile(r"\{%[-+]?\s*[a-z]+\b[^%]{0,200}%\}|\{#[^#]{0,200}#\}")
_JINJA_TAG = re.compile(r"\{\{[^{}]*[\w)\]\"']\s*\|\s*[a-z]|\{\{\s*[A-Za-z_][\w.]*\([^{}]*\)\s*\}\}")
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence for the author, and the line and column it is about, counted from 1."""

    text: str
    line: int
    column: int


def lint(source: str, macros: MacroTable, known: Collection[str]) -> tuple[Hint, ...]:
    """The hints for a macro template, in the order of the text; *known* are its variables.

    Raises:
        Mistake: it does not compile.
    """
    lonely: list[int] = []
    parser = Parser(source, macros)
    nodes = parser.sequence(scan(source, lonely))
    found = [(at, f"{source[at : at + 2]} has no partner and is printed as it stands.") for at in lonely]
    found += [(tag.start, _printed(source, tag)) for tag in parser.printed if not tag.kept]
    found += [
        (match.start(), f"{_cut(match[0])} looks like Jinja; in a macro template it is printed as it stands.")
        for match in _JINJA.finditer(source)
    ]
    view = survey(nodes)
    found += [
        (
            path.start,
            f"{path.text!r} is no macro and no variable; as a condition it is a text, and always true.",
        )
        for path in view.literals
        if path.text not in known and is_true(path.text)
    ]
    found += list(_without_meaning(source, view.macros))
    return tuple(Hint(text, *position(source, at)) for at, text in sorted(found))


def lint_mixed(source: str, macros: MacroTable) -> tuple[Hint, ...]:
    """The hints for the macros of a Jinja template.

    Raises:
        Mistake: it does not compile.
    """
    printed: list[Tag] = []
    parse_mixed(source, macros, printed)
    found = sorted((tag.start, _printed(source, tag)) for tag in printed)
    return tuple(Hint(text, *position(source, at)) for at, text in found)


def _printed(source: str, tag: Tag) -> str:
    shown = source[tag.start : tag.end]
    if _JINJA_TAG.match(shown):
        return f"{_cut(shown)} looks like Jinja; in a macro template it is printed as it stands."
    if shown[2:].lstrip().startswith("/"):
        return f"{_cut(shown)} closes nothing and is printed as it stands."
    return f"{_cut(shown)} is no macro and is printed as it stands."


def _without_meaning(source: str, called: Collection[str]) -> Iterator[tuple[int, str]]:
    for name in called:
        if name in WITHOUT_MEANING:
            at = source.lower().find(f"{{{{{name.lower()}")
            yield (
                max(at, 0),
                f"{name!r} is a macro of chat applications that has no meaning here and prints nothing.",
            )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
