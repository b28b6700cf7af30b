"""What comes out of a case, as matchers see it, and what they ask about the case they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tests.conformance.case import Value

Mismatches: TypeAlias = Iterator[str]


class Missing:
    """Nothing is there: equal to ``null``, but not to "anything"."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class RenderError:
    """What a template gave that could not be rendered."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error as a case sees it: the text people read, its class of provider failure or kind, its figures."""

    text: str
    category: str = ""
    category_text: str = ""
    kind: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        label = self.category or self.kind
        return f"{label}:{self.text!r}" if label else repr(self.text)


class Surroundings(Protocol):
    """What matchers ask about the case they stand in."""

    def named_time(self, name: str) -> datetime | None:
        """``op_start`` or ``op_end`` of the operation; ``None`` for another name."""
        ...

    def named_value(self, name: str) -> Value:
        """What ``$same_as`` and ``$same_content_as`` name: a key beside, or ``label``, or ``label.key``."""
        ...

    def ids_of(self, label: str) -> tuple[str, ...]:
        """The spellings of a part's id that a text may use."""
        ...


@runtime_checkable
class Judge(Protocol):
    """A value that compares itself with what is expected."""

    def mismatches(self, expected: Value, around: Surroundings, path: str) -> Mismatches:
        """What is wrong, one line each."""
        ...
