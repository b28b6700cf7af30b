"""What a template reads, sets and could print, found in its tree without evaluating it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from marginalia.prompt.macros.tree import Call, If, Node, Nodes, Path, Shorthand, Test, Text, inner, subject

_SETTERS = ("set", "add", "inc", "dec", "delete", "flush")
_CHANGING = frozenset({"=", "+=", "-=", "++", "--", "||=", "??="})


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Each thing once, in order of appearance, whichever branch it stands in.

    ``names`` are the template's variables that are printed or asked for; ``macros`` the macros it calls; ``reads``
    and ``sets`` the variables of the branch (``.name``) and of the book (``$name``); ``literals`` the conditions
    that are neither a macro nor a variable.
    """

    names: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    literals: tuple[Path, ...] = ()


def survey(nodes: Nodes) -> Survey:
    """Look at every node, in the order of the source."""
    names: dict[str, None] = {}
    macros: dict[str, None] = {}
    reads: dict[str, None] = {}
    sets: dict[str, None] = {}
    literals: list[Path] = []
    for item in _walk(nodes):
        if isinstance(item, Test):
            literals.extend([item.subject] if isinstance(item.subject, Path) else [])
        elif isinstance(item, Path):
            if item.names[0][0] not in ".@":
                names[item.text] = None
        elif isinstance(item, Shorthand):
            (sets if item.operator in _CHANGING else reads)[("$" if item.shared else ".") + item.name] = None
        elif isinstance(item, Call):
            macros[item.macro.name] = None
            _variables(item, reads, sets)
    return Survey(
        names=tuple(names),
        macros=tuple(macros),
        reads=tuple(reads),
        sets=tuple(sets),
        literals=tuple(literals),
    )


def _walk(nodes: Nodes) -> Iterator[Node | Test]:
    """Every node; a condition that need not be a name comes as its test, not as a name."""
    waiting: list[Iterator[Node | Test]] = [iter(nodes)]
    while waiting:
        item = next(waiting[-1], None)
        if item is None:
            waiting.pop()
            continue
        yield item
        if isinstance(item, If):
            waiting.append(iter(_parts(item)))
        elif not isinstance(item, Test):
            waiting.append(iter([each for below in inner(item) for each in below]))


def _parts(node: If) -> list[Node | Test]:
    parts: list[Node | Test] = []
    for test, body in node.branches:
        if isinstance(test.subject, Path) and not test.strict:
            parts.append(test)
        else:
            parts.extend(subject(test))
        parts.extend(body)
    return [*parts, *node.otherwise]


def _variables(call: Call, reads: dict[str, None], sets: dict[str, None]) -> None:
    """The variable that a macro like ``getvar`` is about, when its name is written out."""
    name = call.macro.name.lower()
    if not name.endswith(("var", "varexists")) or not call.arguments:
        return
    first = call.arguments[0]
    if len(first) == 1 and isinstance(first[0], Text):
        variable = ("$" if "global" in name else ".") + first[0].text
        (sets if name.startswith(_SETTERS) else reads)[variable] = None
