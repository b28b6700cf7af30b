"""The macros a template may call: each with a name, how many arguments it takes, and a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from marginalia.errors import InvalidInput
from marginalia.prompt.context import TemplateContext


class Invocation(
    NamedTuple
):  # not a dataclass: one is made for every macro of every render, and this is made faster
    """One call of a macro, as its function sees it.

    ``arguments`` are evaluated texts; missing ones at the end are left out. ``place`` names the template and
    ``site`` is the number of the call in it, so that a choice can be the same every time.
    """

    context: TemplateContext
    arguments: tuple[str, ...]
    place: str = ""
    site: int = 0

    def argument(self, index: int, default: str = "") -> str:
        """The argument at *index*, or *default*."""
        return self.arguments[index] if index < len(self.arguments) else default


MacroFunction: TypeAlias = Callable[[Invocation], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """A macro.

    With fewer than ``minimum`` arguments, the tag opens a block whose content is the last one. If nothing closes
    it, the tag is printed as it stands, or prints nothing when the macro is ``forgiving``. Surplus ``::`` belong
    to the last of ``maximum`` arguments; ``choices`` take any number, and one alone is split at its commas.
    ``optional_block`` macros take a block although they need none. ``foreign`` ones came from an extension.
    """

    name: str
    function: MacroFunction
    minimum: int = 0
    maximum: int = 0
    forgiving: bool = False
    choices: bool = False
    optional_block: bool = False
    foreign: bool = False

    @property
    def bare(self) -> bool:
        """Whether its name alone calls it, also where names are Jinja's."""
        return self.minimum == 0 and not self.optional_block


class MacroTable(Mapping[str, Macro]):
    """Macros by name, any case. Immutable: a compiled template keeps the table it was compiled with."""

    __slots__ = ("_macros",)

    def __init__(self, macros: Iterable[Macro] = ()) -> None:
        self._macros: dict[str, Macro] = {macro.name.lower(): macro for macro in macros}

    def __getitem__(self, name: str) -> Macro:
        return self._macros[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return (macro.name for macro in self._macros.values())

    def __len__(self) -> int:
        return len(self._macros)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def find(self, name: str) -> Macro | None:
        """The macro of that name, any case, or None."""
        return self._macros.get(name.lower())

    def with_macro(
        self, name: str, function: MacroFunction, *, minimum: int = 0, maximum: int | None = None
    ) -> MacroTable:
        """A table that also knows *name*; it replaces a macro of the same name.

        Args:
            name: letters, digits, ``_`` and ``-``, beginning with a letter; case does not matter in templates.
            function: gets the :class:`Invocation`, answers the text to print. It must not wait for anything.
            minimum: arguments that must be there.
            maximum: arguments that are told apart; as many as ``minimum`` when left out.

        Raises:
            InvalidInput: the name cannot be written in a tag, or belongs to the language itself.
        """
        _check_name(name)
        most = minimum if maximum is None else maximum
        macro = Macro(name=name, function=function, minimum=minimum, maximum=most, foreign=True)
        return MacroTable((*self._macros.values(), macro))


_RESERVED = frozenset({"if", "else", "unless", "each", "this"})


def _check_name(name: str) -> None:
    letters = name.replace("_", "a").replace("-", "a")
    if not name[:1].isalpha() or not letters.isalnum() or name.lower() in _RESERVED:
        raise InvalidInput(
            f"{name!r} cannot be the name of a macro. Use letters, digits, '_' and '-', beginning with a letter, "
            f"and none of {', '.join(sorted(_RESERVED))}."
        )
