"""``{{.name op value}}`` and ``{{$name op value}}``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal

from marginalia.prompt.context import TemplateContext
from marginalia.prompt.macros import variables
from marginalia.prompt.macros.numbers import number
from marginalia.prompt.macros.tree import Nodes, Shorthand
from marginalia.prompt.macros.values import is_true

_ORDER: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def evaluate(shorthand: Shorthand, context: TemplateContext, text: Callable[[Nodes], str]) -> str:
    """What a shorthand prints; *text* evaluates its value, and is called only when the value is needed."""
    store = context.shared if shorthand.shared else context.local
    name = shorthand.name
    match shorthand.operator:
        case "":
            return store.get(name, "")
        case "++":
            return variables.count(store, name, 1)
        case "--":
            return variables.count(store, name, -1)
        case "=" | "+=" | "-=":
            value = text(shorthand.value)
            change = {"=": variables.put, "+=": variables.increase, "-=": variables.decrease}[
                shorthand.operator
            ]
            change(store, name, value)
            return ""
        case "||" | "??" | "||=" | "??=":
            return _fallback(shorthand, store, text)
        case _:
            return _compared(shorthand.operator, store.get(name, ""), text(shorthand.value))


def _fallback(shorthand: Shorthand, store: variables.Store, text: Callable[[Nodes], str]) -> str:
    """``||`` looks at the truth, ``??`` at the existence; with ``=`` what is printed is also kept."""
    current = store.get(shorthand.name)
    if current is not None and (shorthand.operator.startswith("??") or is_true(current)):
        return current
    value = text(shorthand.value)
    if shorthand.operator.endswith("="):
        variables.put(store, shorthand.name, value)
    return value


def _compared(sign: str, left: str, right: str) -> str:
    """Equality compares texts; order needs two numbers and is false without."""
    if sign in _ORDER:
        first, second = number(left), number(right)
        result = first is not None and second is not None and _ORDER[sign](first, second)
    else:
        result = (left == right) is (sign == "==")
    return "true" if result else "false"
