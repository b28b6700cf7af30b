"""What shall be different in a what-if, and what a context of one size would hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from marginalia.errors import InvalidInput
from marginalia.pipeline.layout import MOST_PARTS
from marginalia.pipeline.ports import Manuscript
from marginalia.prompt.budget import Budget
from marginalia.prompt.layout import STABLE
from marginalia.prompt.segments import Prompt
from marginalia.values import Book, Protocol

_WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What shall be different; ``None`` stays as it is.

    ``context``, ``response`` and ``lore_tokens`` are tokens, ``lore_share`` is the percentage of the context that lore
    may have in all, ``parts`` the most parts that are sent; 0 for the last three is no limit. ``stable`` turns the
    stable layout on or off.
    """

    context: int | None = None
    response: int | None = None
    lore_tokens: int | None = None
    lore_share: int | None = None
    parts: int | None = None
    stable: bool | None = None

    def __post_init__(self) -> None:
        for name in ("context", "response", "lore_tokens", "lore_share", "parts"):
            number: int | None = getattr(self, name)
            if number is not None and number < 0:
                raise InvalidInput(
                    f"{name} cannot be {number:,}: it is a number of tokens or parts, or a percentage, 0 or more."
                )
        if self.lore_share is not None and self.lore_share > _WHOLE:
            raise InvalidInput(f"lore_share cannot be {self.lore_share:,}: it is a percentage, at most 100.")

    @property
    def limited(self) -> bool:
        """Whether it has other limits, which are a protocol's."""
        return self.context is not None or self.response is not None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What of it stands in a book's settings."""
        wishes: Mapping[str, int | bool | None] = {
            "lore_tokens": self.lore_tokens, "lore_share": self.lore_share, MOST_PARTS: self.parts, STABLE: self.stable,
        }  # fmt: skip
        return {name: value for name, value in wishes.items() if value is not None}

    def of_book(self, book: Book) -> Book:
        """*book* as it would be."""
        return replace(book, settings={**book.settings, **self.settings}) if self.settings else book

    def of_protocol(self, protocol: Protocol) -> Protocol:
        """*protocol* as it would be."""
        return replace(
            protocol,
            max_tokens=protocol.max_tokens if self.context is None else self.context,
            reply_tokens=protocol.reply_tokens if self.response is None else self.response,
        )

    def of_manuscript(self, manuscript: Manuscript) -> Manuscript:
        """A book with its protocol as they would be."""
        known = manuscript.protocol
        protocol = self.of_protocol(known or Protocol(name="what if")) if self.limited else known
        return replace(manuscript, book=self.of_book(manuscript.book), protocol=protocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """What a context of one size would hold: parts sent and left out, entries in, and the whole budget."""

    context: int
    fits: bool
    sent_parts: int
    left_out: int
    entries: int
    budget: Budget

    @classmethod
    def holding(cls, context: int, prompt: Prompt) -> Rung:
        """What a context holds, by the prompt that was built for it."""
        return cls(
            context=context,
            fits=True,
            sent_parts=prompt.budget.sent_parts,
            left_out=prompt.history.left_out,
            entries=len(prompt.active_lore),
            budget=prompt.budget,
        )

    @classmethod
    def too_small(cls, context: int, budget: Budget) -> Rung:
        """A context that cannot hold even the base."""
        return cls(
            context=context, fits=False, sent_parts=0, left_out=budget.branch_parts, entries=0, budget=budget
        )
