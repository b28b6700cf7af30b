"""Walks a template's tree and writes its text.

Left to right; what is inside a tag comes first; of the branches of a condition only the one that is taken is
evaluated. A value is never looked at as a template. Everything is counted, so that no template can run away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marginalia.errors import TemplateError
from marginalia.prompt.context import Rendered, TemplateContext
from marginalia.prompt.macros import shorthands
from marginalia.prompt.macros.output import Output
from marginalia.prompt.macros.problems import position
from marginalia.prompt.macros.table import Invocation
from marginalia.prompt.macros.tree import Call, If, Node, Nodes, Path, Section, Shorthand, Test, Text, Trim
from marginalia.prompt.macros.values import FACTS, MISSING, Missing, Value, is_present, is_true, printed
from marginalia.values import NOTHING

MAX_STEPS = 200_000
"""How many nodes one render may evaluate."""

MAX_OUTPUT = 4_000_000
"""How many characters one render may write, arguments included."""

UNKNOWN = "Error"
"""What is printed for a name that nobody knows."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The value that a section is about, the name of the data it came from, and the ``@names``."""

    value: Value
    origin: str | None = None
    extras: Mapping[str, Value] = field(default_factory=lambda: NOTHING)


class Run:
    """One render: what it may read and change, what it has written, what it has used up."""

    __slots__ = ("context", "data", "output", "place", "produced", "scopes", "source", "steps", "unknown")

    def __init__(
        self, source: str, context: TemplateContext, data: Mapping[str, Value], place: str = ""
    ) -> None:
        self.source = source
        self.context = context
        self.data = data
        self.place = place
        self.output = Output()
        self.scopes: list[Scope] = []
        self.unknown: dict[str, None] = {}
        self.steps = 0
        self.produced = 0

    def rendered(self, nodes: Nodes) -> Rendered:
        """The finished text of *nodes*.

        Raises:
            TemplateError: the budget of steps or output is used up, or an extension's macro failed.
        """
        self.write(nodes)
        output = self.output.trimmed()
        return Rendered(text=output.text, spans=tuple(output.spans), unknown=tuple(self.unknown))

    def write(self, nodes: Nodes) -> None:
        """Write *nodes* to the output."""
        self.steps += len(nodes)
        if self.steps > MAX_STEPS:
            raise TemplateError(
                f"The template was stopped after {MAX_STEPS:,} steps. Make its lists or blocks shorter."
            )
        for node in nodes:
            _WRITERS[node.__class__](self, node)
        if self.output.length + self.produced > MAX_OUTPUT:
            raise TemplateError(
                f"The template was stopped after {MAX_OUTPUT:,} characters. Let it print less."
            )

    def text(self, nodes: Nodes) -> str:
        """*nodes* as text of their own, for an argument."""
        if not nodes:
            return ""
        if len(nodes) == 1 and isinstance(nodes[0], Text):
            return nodes[0].text
        return self.captured(nodes).trimmed().text

    def captured(self, nodes: Nodes) -> Output:
        """What *nodes* write, apart from the output so far."""
        outer, self.output = self.output, Output()
        try:
            self.write(nodes)
            self.produced += self.output.length
            return self.output
        finally:
            self.output = outer

    def call(self, call: Call) -> str:
        """What a macro prints."""
        if call.block:
            return self.finish(call, lambda: self.captured(call.arguments[-1]))
        return self._invoke(call, [self.text(each) for each in call.arguments])

    def finish(self, call: Call, content: Callable[[], Output]) -> str:
        """What a macro prints whose block holds *content*."""
        arguments = [self.text(each) for each in call.arguments[:-1]]
        inside = content()
        arguments.append((inside if call.keep else inside.tidied()).trimmed().text)
        return self._invoke(call, arguments)

    def _invoke(self, call: Call, arguments: list[str]) -> str:
        invocation = Invocation(self.context, tuple(arguments), self.place, call.site)
        text = self._foreign(call, invocation) if call.macro.foreign else call.macro.function(invocation)
        self.produced += len(text)
        return text

    def _foreign(self, call: Call, invocation: Invocation) -> str:
        try:
            return str(call.macro.function(invocation))
        except TemplateError:
            raise
        except (
            Exception
        ) as error:  # the border to an extension: its failure is the template's, not the program's
            line, column = position(self.source, call.start)
            raise TemplateError(
                f"Line {line}, column {column}: the macro {call.macro.name!r} of an extension failed: {error}"
            ) from error

    def lookup(self, path: Path) -> tuple[Value | Missing, str | None]:
        """The value of *path*, and the name in the data that it came from."""
        scopes = self.scopes[: len(self.scopes) - path.up] if path.up else self.scopes
        first, *rest = path.names
        value, origin = self._first(first, scopes)
        for name in rest:
            origin = None
            value = value.get(name) if isinstance(value, Mapping) else MISSING
        return value, origin

    def _first(self, name: str, scopes: list[Scope]) -> tuple[Value | Missing, str | None]:
        if name == ".":
            return (scopes[-1].value, scopes[-1].origin) if scopes else (MISSING, None)
        for scope in reversed(scopes):
            if name in scope.extras:
                return scope.extras[name], None
            if isinstance(scope.value, Mapping) and name in scope.value:
                return scope.value[name], None
        value = self.data.get(name)
        if value is not None:
            return value, name
        fact = FACTS.get(name)
        if fact is None:
            return (None if name in self.data else MISSING), None
        return fact(self.context.facts), None

    def value(self, subject: Path | Call) -> tuple[Value | Missing, str | None]:
        """What a section is about."""
        return (self.call(subject), None) if isinstance(subject, Call) else self.lookup(subject)

    def holds(self, test: Test) -> bool:
        """Whether a condition is true."""
        return self._truth(test) is not test.negated

    def _truth(self, test: Test) -> bool:
        match test.subject:
            case Path():
                value, _ = self.lookup(test.subject)
                if test.strict:
                    return is_present(value)
                if isinstance(value, Missing):
                    return is_true(test.subject.text)
                return is_present(value) if not isinstance(value, str) else is_true(value)
            case Call():
                text = self.call(test.subject)
                return bool(text) if test.strict else is_true(text)
            case Shorthand():
                return is_true(shorthands.evaluate(test.subject, self.context, self.text))
            case _:
                return is_true(self.text(test.subject))


def _text(run: Run, node: Text) -> None:
    run.output.write(node.text)


def _trim(run: Run, _: Trim) -> None:
    run.output.write_trim()


def _path(run: Run, node: Path) -> None:
    value, origin = run.lookup(node)
    if isinstance(value, Missing):
        run.unknown[node.text] = None
        run.output.write(UNKNOWN)
    else:
        run.output.write(value if isinstance(value, str) else printed(value), origin)


def _call(run: Run, node: Call) -> None:
    run.output.write(run.call(node))


def _shorthand(run: Run, node: Shorthand) -> None:
    run.output.write(shorthands.evaluate(node, run.context, run.text))


def _if(run: Run, node: If) -> None:
    taken = node.otherwise
    for test, body in node.branches:
        if run.holds(test):
            taken = body
            break
    if node.tidy:
        run.output.write_output(run.captured(taken).tidied())
    else:
        run.write(taken)


def _section(run: Run, node: Section) -> None:
    scopes = scopes_of(run, node)
    if not scopes:
        run.write(node.otherwise)
    for scope in scopes:
        run.scopes.append(scope)
        run.write(node.body)
        run.scopes.pop()


def scopes_of(run: Run, node: Section) -> list[Scope]:
    """What the body of a section is written for: once, once for each item, or not at all."""
    value, origin = run.value(node.subject)
    if isinstance(value, Missing) or not is_present(value):
        return []
    if isinstance(value, Mapping):
        return _entries(value) if node.each else [Scope(value)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _items(value)
    return [] if node.each else [Scope(value, origin)]


def _items(values: Sequence[Value]) -> list[Scope]:
    last = len(values) - 1
    return [
        Scope(value, None, {"@index": at, "@first": at == 0, "@last": at == last})
        for at, value in enumerate(values)
    ]


def _entries(values: Mapping[str, Value]) -> list[Scope]:
    last = len(values) - 1
    return [
        Scope(value, None, {"@key": key, "@index": at, "@first": at == 0, "@last": at == last})
        for at, (key, value) in enumerate(values.items())
    ]


_WRITERS: Mapping[type[Node], Callable[[Run, Any], None]] = {
    Text: _text,
    Trim: _trim,
    Path: _path,
    Call: _call,
    Shorthand: _shorthand,
    If: _if,
    Section: _section,
}
