"""Rendering and checking templates: prompts, lore and summaries.

Two syntaxes, stored with each text and never guessed: ``macros`` and ``jinja``. Nothing is escaped, and a value is
never evaluated as a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from marginalia.errors import TemplateError
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros.builtin import MACROS
from marginalia.prompt.macros.claims import parse_mixed
from marginalia.prompt.macros.evaluator import Run
from marginalia.prompt.macros.lint import Hint, lint, lint_mixed
from marginalia.prompt.macros.parser import parse
from marginalia.prompt.macros.problems import Mistake
from marginalia.prompt.macros.scanner import is_plain
from marginalia.prompt.macros.survey import survey
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.macros.tree import Nodes
from marginalia.prompt.macros.values import FACTS, Value
from marginalia.prompt.sandbox import compiled, render_jinja
from marginalia.values import NOTHING, Syntax

TemplateKind: TypeAlias = Literal[
    "user_prompt", "master_template", "lore", "summary_prompt", "meta_summary_prompt"
]

_KEPT = 4096
_TOO_DEEP = "The template was stopped: its tags and blocks stand inside each other too deep."
_LONGEST_KEPT = 100_000

_OWN: Mapping[TemplateKind, tuple[str, ...]] = {
    "user_prompt": (),
    "master_template": ("backgroundLore", "summaries"),
    "lore": ("backgroundLore", "summaries"),
    "summary_prompt": ("text", "backgroundLore", "summaries"),
    "meta_summary_prompt": ("summaryBlocks", "backgroundLore"),
}


def render(
    source: str | None,
    *,
    context: TemplateContext,
    data: Mapping[str, Value] = NOTHING,
    place: str = "",
    syntax: Syntax = "macros",
    macros: MacroTable = MACROS,
) -> Rendered:
    """The text of a template.

    Args:
        source: the template; None is the empty text.
        context: what every template of the turn sees, and the variables that it may change.
        data: values of this template alone. They win over the context; None asks the context for the same name.
        place: names the template, so that ``{{pick}}`` chooses the same in every render of it.
        syntax: the language the template is written in.
        macros: the macros it may call.

    Raises:
        TemplateError: the template does not compile, or went over its budget of steps, output or depth. The variables
            are then as they were before.
    """
    if not source:
        return Rendered(text="")
    place = place or source
    local, shared = dict(context.local), dict(context.shared)
    try:
        if syntax == "jinja":
            return render_jinja(source, context=context, data=data, place=place, macros=macros)
        nodes = _compiled(source, macros)
        return (
            Run(source, context, data, place).rendered(nodes) if nodes is not None else Rendered(text=source)
        )
    except (TemplateError, RecursionError) as error:
        for store, before in ((context.local, local), (context.shared, shared)):
            store.clear()
            store.update(before)
        if isinstance(error, RecursionError):
            raise TemplateError(_TOO_DEEP) from error
        raise


def _compiled(source: str, macros: MacroTable) -> Nodes | None:
    """The tree of *source*, or None when it is plain text."""
    if len(source) > _LONGEST_KEPT:
        return None if is_plain(source) else parse(source, macros)
    return _cached(source, macros)


@lru_cache(maxsize=_KEPT)
def _cached(source: str, macros: MacroTable) -> Nodes | None:
    return None if is_plain(source) else parse(source, macros)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What can be said about a template without rendering it.

    ``line`` and ``column`` count from 1 and are 0 when the template is valid. ``names`` are the variables it could
    print or asks for, ``unknown`` the names among them that nobody knows in this kind of template; ``reads`` and
    ``sets`` the variables of the branch (``.name``) and of the book (``$name``); ``macros`` what it calls; each once,
    in order of appearance, whichever branch it stands in. ``hints`` are about what is probably not meant.
    """

    valid: bool
    message: str = ""
    line: int = 0
    column: int = 0
    names: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()


def known_names(kind: TemplateKind) -> tuple[str, ...]:
    """The variables that a template of that kind may print, besides macros."""
    return (*_OWN[kind], *FACTS)


def check(
    source: str | None,
    *,
    kind: TemplateKind,
    syntax: Syntax = "macros",
    macros: MacroTable = MACROS,
    known: Iterable[str] = (),
) -> Check:
    """Whether a template compiles, and what it would read, set and print. Nothing is rendered.

    *known* are names beside those of its kind, such as the slots that lore gives it.
    """
    source = source or ""
    known = frozenset((*known_names(kind), *known))
    try:
        if syntax == "jinja":
            names = compiled(source, macros).names
            nodes = parse_mixed(source, macros)
            hints = lint_mixed(source, macros)
        else:
            nodes = _compiled(source, macros) or ()
            names = survey(nodes).names
            hints = lint(source, macros, known)
    except Mistake as problem:
        return Check(valid=False, message=str(problem), line=problem.line, column=problem.column)
    except RecursionError:
        return Check(valid=False, message=_TOO_DEEP, line=1, column=1)
    found = survey(nodes)
    calls = {
        name: each.name for name in names if syntax == "jinja" and (each := macros.find(name)) and each.bare
    }
    names = tuple(name for name in names if name not in calls)
    return Check(
        valid=True,
        names=names,
        unknown=tuple(name for name in names if name not in known),
        reads=found.reads,
        sets=found.sets,
        macros=tuple(dict.fromkeys((*calls.values(), *found.macros))),
        hints=hints,
    )
