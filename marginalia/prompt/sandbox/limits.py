"""What a Jinja template may use up, and the sizes of its values, known before they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import cast

from jinja2.runtime import Undefined

from marginalia.errors import TemplateError

MAX_STEPS = 50_000
"""How many turns of loops, calls, operators, filters and outputs one render may have."""

MAX_OUTPUT = 400_000
"""How many characters one render may make, printed or not."""

MAX_SECONDS = 0.5
"""How long one render may work, not counting the time it waits for the processor."""

MAX_CALLS = 60
"""How deep calls may stand inside each other."""

MAX_VALUE = 100_000
"""How large one value may be: characters, or items of a list with all that is in them."""

MAX_ITEMS = 10_000
"""How many items a range or a list may have."""

_WIDEST = 6  # characters that an item of a list takes at most when it is printed, beside its own


def size(value: object) -> int:
    """How large *value* is; stops counting beyond :data:`MAX_VALUE`, so that shared lists cannot make it slow."""
    total, waiting = 0, [value]
    while waiting and total <= MAX_VALUE:
        item = waiting.pop()
        if isinstance(item, str):
            total += len(item)
        elif isinstance(item, int):
            total += 1 + item.bit_length() // 3
        elif isinstance(item, Mapping):
            total += len(cast("Mapping[object, object]", item))
            waiting.extend(islice(cast("Mapping[object, object]", item).items(), MAX_ITEMS))
        elif isinstance(item, Sequence):
            total += 1 + len(cast("Sequence[object]", item))
            waiting.extend(islice(cast("Sequence[object]", item), MAX_ITEMS))
        else:
            total += 16
    return total


def allow(amount: int) -> None:
    """Refuse a value of that size before it is made.

    Raises:
        TemplateError: it is too large.
    """
    if amount > MAX_VALUE:
        raise TemplateError(
            f"The template was stopped: a value would be larger than {MAX_VALUE:,} characters."
        )


def text_of(value: object) -> str:
    """*value* as Jinja prints it: texts, numbers, and lists of them; nothing for None.

    Raises:
        TemplateError: it is too large, or something inside Jinja that nobody should see.
    """
    if value is None:
        return ""
    amount = size(value)
    allow(amount if isinstance(value, str) else amount * _WIDEST)
    if not isinstance(value, str | int | float | Undefined) and not _is_plain(value):
        raise TemplateError("The template was stopped: it prints something that is no text, number or list.")
    return str.__str__(value) if isinstance(value, str) else str(value)


def _is_plain(value: object) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(chain.from_iterable(cast("Mapping[object, object]", item).items()))
        elif isinstance(item, list | tuple):
            waiting.extend(cast("Sequence[object]", item))
        elif not isinstance(item, str | int | float | range | Undefined | None):
            return False
    return True
