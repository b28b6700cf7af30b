"""The numbered tags that macros become (``macros.unparse``), and the meters that are put around loops and ``~``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.visitor import NodeTransformer

from marginalia.errors import TemplateError
from marginalia.prompt.macros import unparse as numbered
from marginalia.prompt.macros.evaluator import Scope, scopes_of
from marginalia.prompt.macros.output import Output
from marginalia.prompt.macros.problems import Mistake
from marginalia.prompt.macros.tree import Call, Section, Test
from marginalia.prompt.sandbox.limits import allow, text_of
from marginalia.prompt.sandbox.runs import Fragment, JinjaRun, run_of

_BANNED = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
    nodes.ScopedEvalContextModifier,
)


class MacroTags(Extension):
    """The numbered tags that macros become (``macros.unparse``), and the meters."""

    tags = {numbered.PRINT, numbered.WHEN, numbered.EACH, numbered.BLOCK, numbered.TIDY}  # noqa: RUF012 - Jinja wants a plain set

    def parse(self, parser: Parser) -> nodes.Node:
        """One numbered tag, with its block."""
        token = next(parser.stream)
        match token.value:
            case numbered.PRINT:
                return nodes.Output([self._numbered("printed", parser)], lineno=token.lineno)
            case numbered.WHEN:
                return self._when(parser, token.lineno)
            case numbered.EACH:
                return self._each(parser, token.lineno)
            case numbered.BLOCK:
                call = self._numbered("block", parser)
            case _:
                call = self._call("tidied", [], token.lineno)
        body = parser.parse_statements((f"name:end{token.value}",), drop_needle=True)
        return nodes.CallBlock(call, [], [], body, lineno=token.lineno)

    def _call(self, name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
        return nodes.Call(
            self.attr(name), [nodes.DerivedContextReference(), *arguments], [], None, None, lineno=line
        )

    def _numbered(self, name: str, parser: Parser) -> nodes.Call:
        token = parser.stream.expect("integer")
        return self._call(name, [nodes.Const(token.value)], token.lineno)

    def _when(self, parser: Parser, line: int) -> nodes.If:
        ends = (f"name:{numbered.ELSE_WHEN}", f"name:{numbered.ELSE}", f"name:end{numbered.WHEN}")
        result = node = nodes.If(lineno=line)
        while True:
            node.test = self._numbered("holds", parser)
            node.body = parser.parse_statements(ends)
            node.elif_, node.else_ = [], []
            token = next(parser.stream)
            if token.value == numbered.ELSE_WHEN:
                node = nodes.If(lineno=token.lineno)
                result.elif_.append(node)
                continue
            if token.value == numbered.ELSE:
                result.else_ = parser.parse_statements(ends[2:], drop_needle=True)
            return result

    def _each(self, parser: Parser, line: int) -> nodes.For:
        scopes = self._numbered("scopes", parser)
        ends = (f"name:{numbered.ELSE}", f"name:end{numbered.EACH}")
        body = parser.parse_statements(ends)
        otherwise = (
            parser.parse_statements(ends[1:], drop_needle=True)
            if next(parser.stream).value == numbered.ELSE
            else []
        )
        name = parser.free_identifier().name
        enter = self._call("enter", [nodes.Name(name, "load")], line)
        body = [nodes.ExprStmt(enter), *body, nodes.ExprStmt(self._call("leave", [], line))]
        return nodes.For(nodes.Name(name, "store"), scopes, body, otherwise, None, False, lineno=line)  # noqa: FBT003 - Jinja's order

    def _in(self, context: Context) -> JinjaRun:
        run = run_of(context)
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
        return Fragment.of(run.captured((self._item(run, number),)))

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
        run_of(context).scopes.append(scope)

    def leave(self, context: Context) -> None:
        """End the body of a section."""
        run_of(context).scopes.pop()

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
        run_of(context).charge(1, content.length)
        return content.tidied().text

    def metered(self, context: Context, items: Iterable[Any], printed: int) -> Iterable[Any]:
        """The items of a loop, each counted with the text that one turn of the loop prints."""
        return _Metered(run_of(context), items, printed)

    def concatenated(self, context: Context, *values: object) -> str:
        """``~``, with its size checked before."""
        texts = [text_of(value) for value in values]
        total = sum(map(len, texts))
        allow(total)
        run_of(context).charge(1, total)
        return "".join(texts)


class _Metered:
    """The items of a loop, counted; still knows how long it is when *items* does."""

    def __init__(self, run: JinjaRun, items: Any, printed: int) -> None:  # noqa: ANN401 - whatever a template loops over
        self._run = run
        self._items = items
        self._printed = printed

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            self._run.charge(1, self._printed)
            yield item

    def __len__(self) -> int:
        return len(self._items)


class Meters(NodeTransformer):
    """Meters loops and ``~``, and refuses what reaches other templates."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:  # noqa: ANN401 - Jinja's signature
        """Refuse what reaches other templates; look at what is inside of everything else."""
        if isinstance(node, _BANNED):
            name = type(node).__name__.lower()
            raise Mistake(f"{name} is not allowed in a template.", line=node.lineno, column=1)
        return super().generic_visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - Jinja's naming
        """Meter a loop."""
        printed = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        self.generic_visit(node)
        node.iter = _call("metered", [cast("nodes.Expr", node.iter), nodes.Const(printed)], node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja's naming
        """Check the size of a ``~`` before it is made."""
        self.generic_visit(node)
        return _call("concatenated", list(node.nodes), node.lineno)


def _call(name: str, arguments: list[nodes.Expr], line: int) -> nodes.Call:
    function = nodes.ExtensionAttribute(MacroTags.identifier, name)
    return nodes.Call(function, [nodes.ContextReference(), *arguments], [], None, None, lineno=line)
