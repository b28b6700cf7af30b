"""What a template reads, sets and could print, found in its tree without evaluating it."""

from __future__ import annotations

from dataclasses import dataclass

from marginalia.prompt.macros.tree import If, Nodes, Path, inner


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """``names`` are the variables of the template that are printed or asked for, in order of appearance."""

    names: tuple[str, ...]


def survey(nodes: Nodes) -> Survey:
    """Look at every node, in the order of the source."""
    names: dict[str, None] = {}
    waiting = [iter(nodes)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
            continue
        if isinstance(node, Path) and node.names[0][0] not in ".@":
            names[node.text] = None
        if isinstance(node, If):
            tests = [test for test, _ in node.branches]
            loose = {id(test.subject) for test in tests if not test.strict and isinstance(test.subject, Path)}
        else:
            loose = set[int]()
        waiting.append(iter([each for below in inner(node) for each in below if id(each) not in loose]))
    return Survey(names=tuple(names))
