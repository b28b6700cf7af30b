"""Jinja for an author's own templates, in a sandbox that reaches nothing and cannot run away.

Jinja's documentation says that its sandbox alone is no solution, and every escape so far came through a helper that reaches
attributes. So filters, tests, methods and globals are lists of what is allowed; loops, calls, operators, filters and output
are metered; constants are not folded, since that would run the template while it is compiled.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import jinja2
from jinja2 import nodes, pass_context
from jinja2.ext import Extension
from jinja2.parser import Parser as JinjaParser
from jinja2.runtime import Context, LoopContext, Macro, Undefined, missing
from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError
from jinja2.visitor import NodeTransformer

from marginalia.errors import TemplateError
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros import unparse as tags
from marginalia.prompt.macros.claims import parse_mixed
from marginalia.prompt.macros.evaluator import UNKNOWN, Run, Scope, scopes_of
from marginalia.prompt.macros.output import Output
from marginalia.prompt.macros.problems import Mistake
from marginalia.prompt.macros.survey import survey
from marginalia.prompt.macros.table import Invocation, MacroTable
from marginalia.prompt.macros.tree import Call, Section, Test
from marginalia.prompt.macros.unparse import Mixed, unparse
from marginalia.prompt.macros.values import FACTS, Value
from marginalia.prompt.sandbox_filters import FILTERS, MAX_ITEMS, allow, size, text_of

MAX_STEPS = 50_000
MAX_OUTPUT = 400_000
MAX_SECONDS = 0.5
MAX_CALLS = 60
_RUN = "marginalia.run"  # no name in a template can have a dot, so none can reach this
_MOST_BITS = 256

_TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "sequence", "mapping", "iterable", "even", "odd", "divisibleby", "eq", "equalto", "ne", "gt", "greaterthan", "ge", "lt", "lessthan", "le", "in", "true", "false", "lower", "upper"]
_TEXT_METHODS = frozenset(
    ["upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip", "startswith", "endswith", "split"]
)
_MAPPING_METHODS = frozenset({"items", "keys", "values", "get"})
_LOOP_NAMES = frozenset(
    ["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem", "nextitem", "cycle", "changed"]
)
_BANNED = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
    nodes.ScopedEvalContextModifier,
)


class Fragment(str):
    """A printed text that keeps its spans until it reaches the output."""

    __slots__ = ("output",)
    output: Output

    def __str__(self) -> str:
        return self


class Named(str):
    """A value of the template's data; what is made from it is a plain text again."""

    __slots__ = ("name",)
    name: str


def _fragment(output: Output) -> str:
    if not output.spans and not output.trims:
        return output.text
    fragment = Fragment(output.text)
    fragment.output = output
    return fragment


class JinjaRun(Run):
    """A render of a Jinja template: a run of macros that is also metered for Jinja's own doings."""

    __slots__ = ("calls", "clock", "deadline", "macros", "table")

    def __init__(
        self,
        source: str,
        context: TemplateContext,
        data: Mapping[str, Value],
        place: str,
        macros: MacroTable,
        table: tuple[object, ...],
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
        if macro is not None and macro.minimum == 0 and not macro.optional_block:
            return macro.function(Invocation(self.context, (), self.place, 0))
        return "" if name in self.data else missing


def _run(context: Context) -> JinjaRun:
    return cast("JinjaRun", context.parent[_RUN])


class _Context(Context):
    """Names: Jinja's own and the template's data, then the facts of the turn, then macros."""

    def resolve_or_missing(self, key: str) -> Any:  # noqa: ANN401 - Jinja's signature
        value = super().resolve_or_missing(key)
        return _run(self).fallback(key) if value is missing or value is None else value


class _Unknown(Undefined):
    """A name nobody knows: prints ``Error``, is false, and has no attributes."""

    __slots__ = ()

    def __str__(self) -> str:
        return UNKNOWN

    @property
    def _undefined_message(self) -> str:
        name = self._undefined_name
        return f"{name!r} is not known" if self._undefined_obj is missing else f"a value has no {name!r}"


@pass_context
def _finalize(context: Context, value: object) -> object:
    run = _run(context)
    if isinstance(value, Undefined):
        run.unknown[str(value._undefined_name)] = None  # noqa: SLF001 - the only way to the name
        return UNKNOWN
    text = text_of(value)
    run.charge(1, len(text))
    if isinstance(value, Named):
        output = Output()
        output.write(text, value.name)
        return _fragment(output)
    return text


class _Loops(NodeTransformer):
    """Meters loops and ``~``, and refuses what reaches other templates."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:  # noqa: ANN401 - Jinja's signature
        if isinstance(node, _BANNED):
            name = type(node).__name__.lower()
            raise Mistake(f"{name} is not allowed in a template.", line=node.lineno, column=1)
        return super().generic_visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - Jinja's naming
        printed = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        self.generic_visit(node)
        node.iter = _call("metered", [node.iter, nodes.Const(printed)], node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja's naming
        self.generic_visit(node)
        return _call("concatenated", list(node.nodes), node.lineno)


def _call(name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
    function = nodes.ExtensionAttribute(_MacroTags.identifier, name)
    return nodes.Call(function, [nodes.ContextReference(), *arguments], [], None, None).set_lineno(line)


class _MacroTags(Extension):
    """The numbered tags that macros become (``macros.unparse``), and the meters."""

    tags = {tags.PRINT, tags.WHEN, tags.EACH, tags.BLOCK, tags.TIDY}  # noqa: RUF012 - Jinja wants a plain set

    def parse(self, parser: JinjaParser) -> nodes.Node:
        """One numbered tag, with its block."""
        token = next(parser.stream)
        match token.value:
            case tags.PRINT:
                return nodes.Output([self._numbered("printed", parser)], lineno=token.lineno)
            case tags.WHEN:
                return self._when(parser, token.lineno)
            case tags.EACH:
                return self._each(parser, token.lineno)
            case tags.BLOCK:
                call = self._numbered("block", parser)
            case _:
                call = self._call("tidied", [], token.lineno)
        body = parser.parse_statements((f"name:end{token.value}",), drop_needle=True)
        return nodes.CallBlock(call, [], [], body, lineno=token.lineno)

    def _call(self, name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
        return nodes.Call(
            self.attr(name), [nodes.DerivedContextReference(), *arguments], [], None, None, lineno=line
        )

    def _numbered(self, name: str, parser: JinjaParser) -> nodes.Call:
        token = parser.stream.expect("integer")
        return self._call(name, [nodes.Const(token.value)], token.lineno)

    def _when(self, parser: JinjaParser, line: int) -> nodes.If:
        ends = (f"name:{tags.ELSE_WHEN}", f"name:{tags.ELSE}", f"name:end{tags.WHEN}")
        result = node = nodes.If(lineno=line)
        while True:
            node.test = self._numbered("holds", parser)
            node.body = parser.parse_statements(ends)
            node.elif_, node.else_ = [], []
            token = next(parser.stream)
            if token.value == tags.ELSE_WHEN:
                node = nodes.If(lineno=token.lineno)
                result.elif_.append(node)
                continue
            if token.value == tags.ELSE:
                result.else_ = parser.parse_statements(ends[2:], drop_needle=True)
            return result

    def _each(self, parser: JinjaParser, line: int) -> nodes.For:
        scopes = self._numbered("scopes", parser)
        ends = (f"name:{tags.ELSE}", f"name:end{tags.EACH}")
        body = parser.parse_statements(ends)
        otherwise = (
            parser.parse_statements(ends[1:], drop_needle=True)
            if next(parser.stream).value == tags.ELSE
            else []
        )
        name = parser.free_identifier().name
        enter = self._call("enter", [nodes.Name(name, "load")], line)
        body = [nodes.ExprStmt(enter), *body, nodes.ExprStmt(self._call("leave", [], line))]
        return nodes.For(nodes.Name(name, "store"), scopes, body, otherwise, None, False, lineno=line)  # noqa: FBT003 - Jinja's order

    def _in(self, context: Context) -> JinjaRun:
        run = _run(context)
        run.data = context.get_all()
        return run

    def _item(self, run: JinjaRun, number: int) -> Any:  # noqa: ANN401 - the table holds nodes and tests
        if number >= len(run.table):
            raise TemplateError("The template was stopped: it has a tag that only Marginalia may write.")
        return run.table[number]

    def printed(self, context: Context, number: int) -> str:
        """What a macro prints."""
        run = self._in(context)
        run.charge()
        return _fragment(run.captured((self._item(run, number),)))

    def holds(self, context: Context, number: int) -> bool:
        """Whether the condition of a macro block is true."""
        run = self._in(context)
        run.charge()
        item = self._item(run, number)
        return isinstance(item, Test) and run.holds(item)

    def scopes(self, context: Context, number: int) -> list[Scope]:
        """What a section is repeated for."""
        run = self._in(context)
        item = self._item(run, number)
        return scopes_of(run, item) if isinstance(item, Section) else []

    def enter(self, context: Context, scope: Scope) -> None:
        """Begin the body of a section."""
        _run(context).scopes.append(scope)

    def leave(self, context: Context) -> None:
        """End the body of a section."""
        _run(context).scopes.pop()

    def block(self, context: Context, number: int, caller: Callable[[], str]) -> str:
        """What a macro makes of the content of its block."""

        def content() -> Output:
            written = Output()
            written.write(str(caller()))
            return written

        run = self._in(context)
        item = self._item(run, number)
        return run.finish(item, content) if isinstance(item, Call) else ""

    def tidied(self, context: Context, caller: Callable[[], str]) -> str:
        """The branch of an ``{{if}}``, dedented and stripped."""
        content = Output()
        content.write(str(caller()))
        _run(context).charge(1, content.length)
        return content.tidied().text

    def metered(self, context: Context, items: Iterable[Any], printed: int) -> Iterator[Any]:
        """The items of a loop, each counted with the text that one turn of the loop prints."""
        run = _run(context)

        def each() -> Iterator[Any]:
            for item in items:
                run.charge(1, printed)
                yield item

        return _Sized(items, each()) if hasattr(items, "__len__") else each()

    def concatenated(self, context: Context, *values: object) -> str:
        """``~``, with its size checked before."""
        texts = [text_of(value) for value in values]
        total = sum(map(len, texts))
        allow(total)
        _run(context).charge(1, total)
        return "".join(texts)


class _Sized(Iterable[Any]):
    """An iterable that still knows how long it is, for ``loop.length`` and ``loop.last``."""

    def __init__(self, items: Any, each: Iterator[Any]) -> None:  # noqa: ANN401 - anything with a length
        self._items = items
        self._each = each

    def __iter__(self) -> Iterator[Any]:
        return self._each

    def __len__(self) -> int:
        return len(self._items)


def _metered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or test that counts itself and what it makes. How Jinja's own functions want to be called is noted on them."""
    kind = getattr(getattr(function, "jinja_pass_arg", None), "name", "")

    @pass_context
    def metered(context: Context, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
        run = _run(context)
        run.charge()
        first = {
            "context": (context,),
            "eval_context": (context.eval_ctx,),
            "environment": (context.environment,),
        }
        result = function(*first.get(kind, ()), *args, **kwargs)
        made = size(result)
        allow(made)
        run.charge(1, made)
        return result

    return metered


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_ITEMS:
        raise TemplateError(f"The template was stopped: a range may have {MAX_ITEMS:,} numbers.")
    return numbers


def _bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _power(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise TemplateError("The template was stopped: only numbers can be raised to a power.")
    if isinstance(left, int) and _bits(left) * abs(right) > _MOST_BITS:
        raise TemplateError("The template was stopped: a number would be too large.")
    return left**right


def _product(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, int | float) and isinstance(other, int):
            allow(size(one) * max(0, other))
    return left * right


def _added(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    allow(size(left) + size(right))
    return left + right


def _remainder(left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja hands over anything
    if not isinstance(left, int | float):
        raise TemplateError("The template was stopped: % is for numbers.")
    return left % right


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": _added,
    "-": operator.sub,
    "*": _product,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": _remainder,
    "**": _power,
}


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja with lists of what is allowed, and nothing else."""

    intercepted_binops = frozenset(_OPERATORS)
    context_class = _Context

    def __init__(self) -> None:
        super().__init__(
            extensions=[_MacroTags],
            optimized=False,
            autoescape=False,
            keep_trailing_newline=True,
            finalize=_finalize,
            undefined=_Unknown,
            cache_size=0,
        )
        self.globals = {"range": _range}
        self.filters = {name: _metered(function) for name, function in FILTERS.items()}
        self.tests = {name: _metered(self.tests[name]) for name in _TESTS}

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 - Jinja's signature
        """An item of a mapping, an allowed method, or something about a loop; nothing else has attributes."""
        if isinstance(obj, Undefined):
            raise jinja2.UndefinedError(obj._undefined_message)  # noqa: SLF001 - Jinja's own way to say which name
        if isinstance(obj, Mapping) and attribute in obj:
            return cast("Mapping[str, Any]", obj)[attribute]
        allowed = _allowed(cast("object", obj))
        if attribute in allowed:
            return getattr(cast("object", obj), attribute)
        if attribute.startswith("_") or hasattr(cast("object", obj), attribute):
            raise SecurityError(f"{attribute!r} of a value is out of reach.")
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 - Jinja's signature
        """An item of a list, a text or a mapping."""
        if isinstance(obj, Mapping | list | tuple | str | range):
            try:
                return cast("Any", obj)[argument]
            except (LookupError, TypeError):
                return self.undefined(obj=obj, name=argument)
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:  # noqa: ANN401 - Jinja's signature
        """Macros, loops, ``range``, the allowed methods and our own tags."""
        if obj is _range or isinstance(obj, Macro | LoopContext):
            return True
        owner: object = getattr(obj, "__self__", None)
        return isinstance(owner, _MacroTags) or (
            owner is not None and getattr(obj, "__name__", "") in _allowed(owner)
        )

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, N805 - Jinja's signature
        """Call what may be called, not too deep."""
        run = _run(__context)
        run.calls += 1
        try:
            if not __self.is_safe_callable(__obj):
                raise TemplateError("The template was stopped: it calls something that cannot be called.")
            if run.calls > MAX_CALLS:
                raise TemplateError(
                    f"The template was stopped: calls stand inside each other {MAX_CALLS} deep."
                )
            result = super().call(__context, __obj, *args, **kwargs)
            run.charge(1, len(result) if isinstance(result, str) else 0)
            return result
        finally:
            run.calls -= 1

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - Jinja's signature
        """An operator, with the size of its result checked."""
        _run(context).charge()
        result = _OPERATORS[operator](left, right)
        if _bits(result) > _MOST_BITS:
            raise TemplateError("The template was stopped: a number is too large.")
        return result


def _allowed(obj: object) -> frozenset[str]:
    if isinstance(obj, str):
        return _TEXT_METHODS
    if isinstance(obj, Mapping):
        return _MAPPING_METHODS
    return _LOOP_NAMES if isinstance(obj, LoopContext) else frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A Jinja template, ready to render; ``names`` are those it asks for and does not set itself, in order of appearance."""

    template: jinja2.Template
    mixed: Mixed
    names: tuple[str, ...]


_SANDBOX = Sandbox()


@lru_cache(maxsize=256)
def compiled(source: str, macros: MacroTable) -> Compiled:
    """Compile a Jinja template with macros; nothing of it runs.

    Raises:
        TemplateError: it does not compile.
    """
    found = parse_mixed(source, macros)
    mixed = unparse(source, found)
    try:
        tree = cast("nodes.Template", _Loops().visit(_SANDBOX.parse(mixed.source)))
        names = _asked(tree, survey(found).names)
        code = _SANDBOX.compile(tree)
    except jinja2.TemplateSyntaxError as error:
        raise Mistake(str(error.message), line=error.lineno, column=1) from error
    except TemplateError:
        raise
    except Exception as error:  # the border to Jinja: deep nesting alone raises four kinds of errors
        raise Mistake(
            f"The template is too deep or too long for Jinja ({error}).", line=1, column=1
        ) from error
    return Compiled(
        template=jinja2.Template.from_code(_SANDBOX, code, _SANDBOX.globals), mixed=mixed, names=names
    )


def _asked(tree: nodes.Template, in_macros: Iterable[str]) -> tuple[str, ...]:
    found = list(tree.find_all(nodes.Name))
    own = {name.name for name in found if name.ctx != "load"} | {
        "loop",
        "caller",
        "varargs",
        "kwargs",
        *_SANDBOX.globals,
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
    clock: Callable[[], float] = time.monotonic,
) -> Rendered:
    """The text of a Jinja template; *clock* counts seconds for the time limit.

    Raises:
        TemplateError: it does not compile, reaches for what it may not have, or went over its budget.
    """
    found = compiled(source, macros)
    run = JinjaRun(source, context, data, place, macros, found.mixed.table, clock)
    values = {name: _named(name, value) for name, value in data.items()}
    output = Output()
    try:
        inner = found.template.new_context({**values, _RUN: run})
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


def _named(name: str, value: Value) -> Value:
    if not isinstance(value, str):
        return value
    named = Named(value)
    named.name = name
    return named
