"""Whether what an extension answered can be used: a field of the wrong type must not get further than here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import islice
from textwrap import shorten
from types import UnionType
from typing import Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

_MOST = 500
"""Elements of a tuple or mapping that are looked at."""


def check(answer: object, known: object) -> None:
    """Raise ``TypeError`` for a field of the dataclass *answer* that is not of its type.

    What stands in *known* as well, the same object, is taken as it is.
    """
    for name, hint in _hints(cast("Hashable", type(answer))).items():
        new, old = getattr(answer, name), getattr(known, name, None)
        if new is not old and not _fits(new, hint, _ids(old)):
            raise TypeError(f"{name} cannot be {_shown(new)}; it has to be {_named(hint)}")


def _fits(value: object, hint: Any, seen: frozenset[int]) -> bool:  # noqa: ANN401 - any annotation
    """Whether *value* is of the type *hint*; what is among *seen* is."""
    if id(value) in seen or hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        return _fits(value, hint.__supertype__, seen)
    if origin in {Union, UnionType}:
        return any(_fits(value, each, seen) for each in inner)
    if origin is Literal:
        return value in inner
    kind = float | int if hint is float else origin or hint
    if not isinstance(kind, type | UnionType):
        return True  # nothing that can be told at run time
    return isinstance(value, kind) and _fits_inside(value, inner, seen)


def _fits_inside(value: object, inner: tuple[Any, ...], seen: frozenset[int]) -> bool:
    match value, inner:
        case tuple(), (of, more) if more is Ellipsis:
            return all(_fits(each, of, seen) for each in islice(cast("tuple[object, ...]", value), _MOST))
        case Mapping(), (key_of, of):
            pairs = islice(cast("Mapping[object, object]", value).items(), _MOST)
            return all(_fits(key, key_of, seen) and _fits(each, of, seen) for key, each in pairs)
        case _ if is_dataclass(kind := type(value)):
            hints = _hints(cast("Hashable", kind))
            return all(_fits(getattr(value, name), hint, seen) for name, hint in hints.items())
        case _:
            return True


def _ids(known: object) -> frozenset[int]:
    """What the listener was given in this field: the value, or what is in it."""
    return frozenset(map(id, cast("Iterable[object]", known))) if isinstance(known, tuple) else frozenset()


@lru_cache(maxsize=256)
def _hints(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a dataclass
    try:
        hints = get_type_hints(kind)
    except NameError:  # an annotation that is only there for type checkers
        return {}
    return {each.name: hints[each.name] for each in fields(kind)}


def _shown(value: object) -> str:
    return shorten(repr(value), 60, placeholder="…")


def _named(hint: object) -> str:
    return (
        hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")
    )
