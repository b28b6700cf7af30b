"""The numbers of the what-if, and the rungs of its curve, as the browser takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from marginalia.studio.wishes import WhatIf
from marginalia.ui.words import count
from marginalia.values import NOTHING

if TYPE_CHECKING:
    from marginalia.prompt.budget import Budget
    from marginalia.studio.wishes import Rung
    from marginalia.values import Book

_LARGEST = 131_072
_KILO = 1024
_MOST_LORE = 8192
_STEP = 64


def knobs(budget: Budget, book: Book) -> list[dict[str, Any]]:
    """What can be tried out, as it is now. 0 for the lore budget and the parts is no limit.

    ``least`` is where a slider ends; a smaller number can be typed.
    """
    limits = budget.limits
    return [
        _knob("context", "Context", limits.context, most=max(_LARGEST, limits.context), step=256, least=_KILO,
              ratio=True, help_="Tokens that the model can read and write at once."),
        _knob("response", "Answer", limits.response, most=max(_MOST_LORE, limits.response), step=64, least=_STEP,
              help_="Tokens kept for what the model writes."),
        _knob("lore_tokens", "Lore budget", _setting(book, "lore_tokens"), most=_MOST_LORE, step=64,
              help_="The most tokens that all lore together may have; 0: no limit."),
        _knob("lore_share", "Lore share, %", _setting(book, "lore_share"), most=100, step=1,
              help_="The same as a percentage of the context; 0: no limit. The smaller of the two counts."),
        _knob("parts", "Parts", _setting(book, "most_parts"), most=max(budget.branch_parts, 1), step=1,
              help_="The most parts of the story that are sent; 0: as many as fit."),
    ]  # fmt: skip


def wish_of(values: object, budget: Budget, book: Book) -> WhatIf:
    """What the browser wishes, as far as it is different from what is; what is no number is left alone."""
    given: Mapping[str, object] = cast("Any", values) if isinstance(values, Mapping) else NOTHING
    wished: dict[str, int] = {}
    for knob in knobs(budget, book):
        number = given.get(knob["name"])
        if isinstance(number, int | float) and int(number) != knob["value"]:
            lowest = 1 if knob["least"] else 0  # where 0 would mean that nothing is set
            wished[knob["name"]] = max(lowest, min(int(number), knob["most"]))
    return WhatIf(
        context=wished.get("context"),
        response=wished.get("response"),
        lore_tokens=wished.get("lore_tokens"),
        lore_share=wished.get("lore_share"),
        parts=wished.get("parts"),
    )


def ways_to_keep(wish: WhatIf, protocol: str) -> list[dict[str, Any]]:
    """How a what-if can be made true; *protocol* is the name of the book's, empty when it has none."""
    if not wish.limited:
        return [{"label": "Keep in this book", "title": "No other book is changed.", "fresh": False}]
    title = "A protocol of its own for this book; no other book is changed."
    fresh = {"label": "Keep as a new protocol", "title": title, "fresh": True}
    if not protocol:
        return [fresh]
    here = {
        "label": f"Keep in {protocol}", "title": "Every book that uses this protocol is changed.", "fresh": False,
    }  # fmt: skip
    return [here, fresh]


def rung_rows(rungs: Sequence[Rung], context: int) -> list[dict[str, Any]]:
    """What contexts of several sizes would hold; ``here`` is the largest that is not above *context*."""
    below = [rung.context for rung in rungs if rung.context <= context]
    return [_rung(rung, here=bool(below) and rung.context == below[-1]) for rung in rungs]


def _rung(rung: Rung, *, here: bool) -> dict[str, Any]:
    parts = rung.budget.branch_parts
    share = 100 * rung.sent_parts / parts if parts else 100 * rung.fits
    entries = "1 entry" if rung.entries == 1 else f"{rung.entries:,} entries"
    return {
        "label": f"{rung.context // _KILO}k",
        "text": f"{rung.sent_parts:,} of {count(parts, 'part')}" if rung.fits else "too small",
        "title": f"{entries} of lore; {count(rung.budget.free, 'token')} free" if rung.fits else "",
        "share": round(share, 1),
        "here": here,
    }


def _knob(
    name: str,
    label: str,
    value: int,
    *,
    most: int,
    step: int,
    help_: str,
    ratio: bool = False,
    least: int = 0,
) -> dict[str, Any]:
    return {
        "name": name, "label": label, "value": value, "least": least, "most": most, "step": step, "ratio": ratio,
        "help": help_,
    }  # fmt: skip


def _setting(book: Book, name: str) -> int:
    value = book.settings.get(name)
    return value if isinstance(value, int) and value > 0 else 0
