"""Jinja for an author's own templates, in a sandbox that reaches nothing and cannot run away.

Jinja's documentation says that its sandbox alone is no solution, and every escape so far came through a helper
that reaches attributes. So filters, tests, methods and globals are lists of what is allowed; loops, calls,
operators, filters and output are metered; constants are not folded, since that would run the template while it is
compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import jinja2
from jinja2 import nodes

from marginalia.errors import TemplateError
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros.claims import parse_mixed
from marginalia.prompt.macros.output import Output
from marginalia.prompt.macros.problems import Mistake
from marginalia.prompt.macros.survey import survey
from marginalia.prompt.macros.table import MacroTable
from marginalia.prompt.macros.unparse import Mixed, unparse
from marginalia.prompt.macros.values import Value
from marginalia.prompt.sandbox.environment import Environment
from marginalia.prompt.sandbox.extension import Meters
from marginalia.prompt.sandbox.runs import RUN, Fragment, JinjaRun, Named


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A Jinja template, ready to render; ``names`` are those it asks for and does not set itself, in order."""

    template: jinja2.Template
    mixed: Mixed
    names: tuple[str, ...]


_ENVIRONMENT = Environment()


@lru_cache(maxsize=256)
def compiled(source: str, macros: MacroTable) -> Compiled:
    """Compile a Jinja template with macros; nothing of it runs.

    Raises:
        TemplateError: it does not compile.
    """
    found = parse_mixed(source, macros)
    mixed = unparse(source, found)
    try:
        tree = cast("nodes.Template", Meters().visit(_ENVIRONMENT.parse(mixed.source)))
        names = _asked(tree, survey(found).names)
        code = _ENVIRONMENT.compile(tree)
    except jinja2.TemplateSyntaxError as error:
        raise Mistake(str(error.message), line=error.lineno, column=1) from error
    except TemplateError:
        raise
    except Exception as error:  # the border to Jinja: deep nesting alone raises four kinds of errors
        raise Mistake(
            f"The template is too deep or too long for Jinja ({error}).", line=1, column=1
        ) from error
    return Compiled(
        template=jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.globals), mixed=mixed, names=names
    )


def _asked(tree: nodes.Template, in_macros: Iterable[str]) -> tuple[str, ...]:
    found = list(tree.find_all(nodes.Name))
    own = {name.name for name in found if name.ctx != "load"} | {
        "loop",
        "caller",
        "varargs",
        "kwargs",
        *_ENVIRONMENT.globals,
    }
    asked = (*(name.name for name in found if name.ctx == "load"), *in_macros)
    return tuple(dict.fromkeys(name for name in asked if name not in own))


def render_jinja(
    source: str,
    *,
    context: TemplateContext,
    data: Mapping[str, Value],
    place: str,
    macros: MacroTable,
    clock: Callable[[], float] = time.thread_time,
) -> Rendered:
    """The text of a Jinja template; *clock* counts the seconds of work, so that a busy machine takes none away.

    Raises:
        TemplateError: it does not compile, reaches for what it may not have, or went over its budget.
    """
    found = compiled(source, macros)
    run = JinjaRun(source, context, data, place=place, macros=macros, table=found.mixed.table, clock=clock)
    values = {name: Named.of(name, value) for name, value in data.items()}
    output = Output()
    try:
        inner = found.template.new_context({**values, RUN: run})
        for piece in found.template.root_render_func(inner):
            if isinstance(piece, Fragment):
                output.write_output(piece.output)
            else:
                output.write(piece)
    except TemplateError:
        raise
    except Exception as error:  # the border to a template's code: whatever it does wrong is its own fault
        raise TemplateError(f"The template failed: {error}") from error
    output = output.trimmed()
    return Rendered(text=output.text, spans=tuple(output.spans), unknown=tuple(run.unknown))
