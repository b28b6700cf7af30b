"""A compiled template: what its tags mean. Made by the parser, walked by the evaluator and by the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from marginalia.prompt.macros.table import Macro

Operator: TypeAlias = Literal[
    "", "=", "+=", "-=", "++", "--", "||", "??", "||=", "??=", "==", "!=", ">", ">=", "<", "<="
]


@dataclass(frozen=True, slots=True)
class Text:
    """Printed as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Native:
    """A stretch of another language (Jinja), handed on as it is; only the Jinja back end meets it."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Trim:
    """Takes the line breaks around its place out of the finished text."""


@dataclass(frozen=True, slots=True)
class Path:
    """A name or a dotted path: ``up`` counts the leading ``../``; a first name of ``.`` is the section's own value."""

    text: str
    up: int
    names: tuple[str, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Call:
    """A macro and its arguments; with ``block`` the last is the content of a block, to be tidied unless ``keep``.

    ``site`` counts the calls of the template, so that a choice can depend on its place.
    """

    macro: Macro
    arguments: tuple[Nodes, ...]
    site: int
    start: int
    block: bool = False
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Shorthand:
    """``{{.name op value}}`` for a variable of the branch, ``{{$name …}}`` for one of the book."""

    shared: bool
    name: str
    operator: Operator
    value: Nodes
    start: int


@dataclass(frozen=True, slots=True)
class Test:
    """A condition: ``strict`` ones follow the template language (unknown is false), others SillyTavern."""

    subject: Path | Call | Shorthand | tuple[Node, ...]
    negated: bool
    strict: bool


@dataclass(frozen=True, slots=True)
class If:
    """The first branch whose test holds; ``tidy`` dedents and strips it."""

    branches: tuple[tuple[Test, Nodes], ...]
    otherwise: Nodes
    tidy: bool


@dataclass(frozen=True, slots=True)
class Section:
    """``{{#name}}``, or ``{{#each name}}`` with ``each``: the body for a value, for every item of a list."""

    subject: Path | Call
    body: Nodes
    otherwise: Nodes
    each: bool


Node: TypeAlias = Text | Native | Trim | Path | Call | Shorthand | If | Section
Nodes: TypeAlias = tuple[Node, ...]


def inner(node: Node) -> tuple[Nodes, ...]:
    """The lists of nodes directly inside *node*."""
    match node:
        case Call():
            return node.arguments
        case Shorthand():
            return (node.value,)
        case If():
            return (
                *(nodes for test, body in node.branches for nodes in (subject(test), body)),
                node.otherwise,
            )
        case Section():
            return ((node.subject,), node.body, node.otherwise)
        case _:
            return ()


def subject(test: Test) -> Nodes:
    """What a condition looks at, as nodes."""
    return test.subject if isinstance(test.subject, tuple) else (test.subject,)


def depth(nodes: Nodes) -> int:
    """How deep the nodes stand inside each other; walks with a list of its own, so that no depth is too much for it."""
    deepest, waiting = 0, [(nodes, 1)]
    while waiting:
        level, number = waiting.pop()
        deepest = max(deepest, number)
        waiting.extend((below, number + 1) for node in level for below in inner(node) if below)
    return deepest
