"""What templates can see and change: the facts of a turn, and the variables.

All templates of one generation (user prompt, lore, master template) share one :class:`TemplateContext`, so
that a variable set in one is visible in the next. Estimates and previews render with a fork.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Literal, TypeAlias

from marginalia.values import EPOCH, NOTHING, Book, Limits, Turn

GenerationType: TypeAlias = Literal["normal", "regenerate", "swipe", "quiet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Template variables: ``local`` ones hang on the branch, ``shared`` ("global") ones on the book.

    Values are texts.
    """

    local: Mapping[str, str] = NOTHING
    shared: Mapping[str, str] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the macros read, fixed for one turn.

    ``story`` holds the non-blank texts of the branch that is continued, oldest first (it may be lazy: read
    only what is needed); ``last_instructions`` and ``last_time`` belong to the branch's last part, blank or
    not; ``now`` is aware, its zone is the reader's. ``book`` is for macros of extensions, which keep data with it;
    it is missing where no macro of an extension is called.
    """

    book: Book | None = None
    book_id: str = ""
    book_name: str = ""
    book_description: str = ""
    turn: Turn = Turn()
    pov: str = ""
    tense: str = ""
    style: str = ""
    model: str = ""
    limits: Limits = Limits()
    generation_type: GenerationType = "normal"
    story: Sequence[str] = ()
    last_instructions: str = ""
    last_time: datetime | None = None
    summary: str = ""
    now: datetime = EPOCH


class TemplateContext:
    """The facts of a turn, the variables as they are now, and the run's source of randomness.

    ``troubles`` holds what went wrong in macros of extensions, as owner and sentence, each once.
    """

    __slots__ = ("facts", "local", "random", "shared", "troubles")

    def __init__(self, facts: Facts, variables: Variables, random: Random) -> None:
        self.facts = facts
        self.local = dict(variables.local)
        self.shared = dict(variables.shared)
        self.random = random
        self.troubles: dict[tuple[str, str], None] = {}

    @property
    def variables(self) -> Variables:
        """The variables as they are now, copied."""
        return Variables(local=dict(self.local), shared=dict(self.shared))

    def fork(self) -> TemplateContext:
        """A context with copied variables and an equal random state: renders the same, changes nothing here."""
        random = Random()  # noqa: S311 - stories need dice, not secrets
        random.setstate(self.random.getstate())
        return TemplateContext(self.facts, self.variables, random)


@dataclass(frozen=True, slots=True)
class Span:
    """The place in a rendered text that a value of the template's data took: ``text[start:end]`` came from ``name``."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A rendered text, where the template's own data stands in it, and the names nobody knew (shown as ``Error``)."""

    text: str
    spans: tuple[Span, ...] = ()
    unknown: tuple[str, ...] = ()
