"""What a name in a template stands for: the template's own data, the facts of the turn, an item of a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from marginalia.prompt.context import Facts

Value: TypeAlias = "str | int | float | Sequence[Value] | Mapping[str, Value] | None"


class Missing:
    """Stands for a name that nobody knows."""

    __slots__ = ()


MISSING: Final = Missing()

FACTS: Mapping[str, Callable[[Facts], str | None]] = {
    "povCharacter": lambda facts: facts.turn.pov_character,
    "presentCharacters": lambda facts: facts.turn.present_characters,
    "sceneSetting": lambda facts: facts.turn.scene_setting,
    "instructions": lambda facts: facts.turn.instructions,
    "manuscriptName": lambda facts: facts.book_name,
    "manuscriptDescription": lambda facts: facts.book_description,
    "narrativePov": lambda facts: facts.pov,
    "narrativeTense": lambda facts: facts.tense,
    "style": lambda facts: facts.style,
}
"""The names that every template knows."""

_FALSE = frozenset({"", "false", "0", "off", "no"})


def printed(value: Value) -> str:
    """*value* as text: nothing for None, ``true`` and ``false``, lists with commas, nothing for a mapping."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ""
    if isinstance(value, Sequence):
        return ", ".join(printed(item) for item in value)
    return str(value)


def is_true(text: str) -> bool:
    """SillyTavern's truth: everything but empty, ``false``, ``0``, ``off`` and ``no``, in any case."""
    return text.strip().lower() not in _FALSE


def is_present(value: Value | Missing) -> bool:
    """The template language's truth: everything but missing and empty."""
    return value is not MISSING and bool(value)
