"""One render of a Jinja template: its budget, its names, and what is known about the texts it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from jinja2 import pass_context
from jinja2.runtime import Context, Undefined
from jinja2.utils import missing

from marginalia.errors import TemplateError
from marginalia.prompt.context import TemplateContext
from marginalia.prompt.macros.evaluator import UNKNOWN, Run
from marginalia.prompt.macros.output import Output
from marginalia.prompt.macros.table import Invocation, MacroTable
from marginalia.prompt.macros.tree import Node, Test
from marginalia.prompt.macros.values import FACTS, Value
from marginalia.prompt.sandbox.limits import MAX_OUTPUT, MAX_SECONDS, MAX_STEPS, text_of

RUN = "marginalia.run"  # no name in a template can have a dot, so none can reach this


class Fragment(str):
    """A printed text that keeps its spans until it reaches the output."""

    __slots__ = ("output",)
    output: Output

    @classmethod
    def of(cls, output: Output) -> str:
        """The text of *output*, as a fragment when there is something to keep."""
        if not output.spans and not output.trims:
            return output.text
        fragment = cls(output.text)
        fragment.output = output
        return fragment

    def __str__(self) -> str:
        return self


class Named(str):
    """A value of the template's data; what is made from it is a plain text again."""

    __slots__ = ("name",)
    name: str

    @classmethod
    def of(cls, name: str, value: Value) -> Value:
        """*value*, which remembers its name when it is a text."""
        if not isinstance(value, str):
            return value
        named = cls(value)
        named.name = name
        return named


class JinjaRun(Run):
    """A render of a Jinja template: a run of macros that is also metered for Jinja's own doings."""

    __slots__ = ("calls", "clock", "deadline", "macros", "table")

    def __init__(
        self,
        source: str,
        context: TemplateContext,
        data: Mapping[str, Value],
        *,
        place: str,
        macros: MacroTable,
        table: Sequence[Node | Test],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(source, context, data, place)
        self.macros = macros
        self.table = table
        self.clock = clock
        self.deadline = clock() + MAX_SECONDS
        self.calls = 0

    def charge(self, steps: int = 1, characters: int = 0) -> None:
        """Count work done.

        Raises:
            TemplateError: the budget is used up.
        """
        self.steps += steps
        self.produced += characters
        if self.steps > MAX_STEPS:
            raise TemplateError(
                f"The template was stopped after {MAX_STEPS:,} steps. Make its loops shorter."
            )
        if self.produced > MAX_OUTPUT:
            raise TemplateError(
                f"The template was stopped after {MAX_OUTPUT:,} characters. Let it print less."
            )
        if self.clock() > self.deadline:
            raise TemplateError(f"The template was stopped after {MAX_SECONDS} seconds. Make it simpler.")

    def fallback(self, name: str) -> object:
        """What a name stands for that is none of Jinja's: a fact of the turn, or a macro that needs no argument."""
        if name in FACTS:
            return FACTS[name](self.context.facts) or ""
        macro = self.macros.find(name)
        if macro is not None and macro.bare:
            return macro.function(Invocation(self.context, (), self.place, 0))
        return "" if name in self.data else missing


def run_of(context: Context) -> JinjaRun:
    """The render that a Jinja context belongs to."""
    return cast("JinjaRun", context.parent[RUN])


class NamesContext(Context):
    """Names: Jinja's own and the template's data, then the facts of the turn, then macros."""

    def resolve_or_missing(self, key: str) -> Any:  # noqa: ANN401 - Jinja's signature
        """What *key* stands for."""
        value = super().resolve_or_missing(key)
        return run_of(self).fallback(key) if value is missing or value is None else value


class Unknown(Undefined):
    """A name nobody knows: prints ``Error``, is false, and has no attributes."""

    __slots__ = ()

    def __str__(self) -> str:
        return UNKNOWN

    @property
    def _undefined_message(self) -> str:
        name = self._undefined_name
        return f"{name!r} is not known" if self._undefined_obj is missing else f"a value has no {name!r}"

    @property
    def name(self) -> str:
        """The name nobody knows."""
        return str(self._undefined_name)

    @property
    def message(self) -> str:
        """What to say when something is asked of it."""
        return self._undefined_message


@pass_context
def finalize(context: Context, value: object) -> object:
    """What is printed for *value*; counts it, and notes the names nobody knows."""
    run = run_of(context)
    if isinstance(value, Unknown):
        run.unknown[value.name] = None
        return UNKNOWN
    if isinstance(value, Fragment):
        run.charge(1, len(value))
        return value
    text = text_of(value)
    run.charge(1, len(text))
    if isinstance(value, Named):
        output = Output()
        output.write(text, value.name)
        return Fragment.of(output)
    return text
