"""Pieces of Markdown, made of what the code says about itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, is_dataclass
from datetime import datetime
from typing import Any


class Undocumented(Exception):
    """Something has no description, or a description is left over."""


def described(names: Iterable[str], sentences: Mapping[str, str], what: str) -> dict[str, str]:
    """The sentence of each name; raises ``Undocumented`` unless both have the same names. *what* has the sentences."""
    wanted = list(names)
    known = {name: text for key, text in sentences.items() for name in key.split(", ")}
    missing, left_over = [name for name in wanted if name not in known], set(known) - set(wanted)
    if missing or left_over:
        faults = [
            f"lacks {missing}" if missing else "",
            f"has {sorted(left_over)} too much" if left_over else "",
        ]
        raise Undocumented(f"{what} {' and '.join(filter(None, faults))}")
    return {name: known[name] for name in wanted}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def prose(thing: object) -> str:
    """The docstring of *thing* as Markdown; one that it inherits, or that a dataclass is given, is none."""
    own = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    text = inspect.cleandoc(own or "")
    if not text or (isinstance(thing, type) and text.startswith(f"{thing.__name__}(")):
        raise Undocumented(f"{thing!r} has no docstring")
    text = re.sub(
        r":(?:class|meth|mod|data|func|attr):`~?([\w.]+)`", lambda m: f"`{m[1].rpartition('.')[2]}`", text
    )
    return text.replace("::\n", ":\n").replace("``", "`")


def titled(key: str, title: str) -> str:
    """*title*; raises ``Undocumented`` for none, and for one that says nothing more than *key*."""
    if title.strip().lower() in {"", key.lower()}:
        raise Undocumented(f"{key} has no title that says what it is")
    return title


def annotation(value: object) -> str:
    """A type as it is written."""
    return f"`{value if isinstance(value, str) else getattr(value, '__name__', value)}`"


def default_of(field: Field[Any]) -> str:
    """The default of a field, as short as it can be said."""
    if is_dataclass(field.default):
        return f"`{type(field.default).__name__}()`"
    if isinstance(field.default, datetime):
        return f"`{field.default:%Y-%m-%d}`"
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return "" if field.default_factory is MISSING else "empty"
