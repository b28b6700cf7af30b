"""The pieces that the sentences about entries are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from marginalia.lore.book import LoreSettings
    from marginalia.lore.cases import Text
    from marginalia.lore.matching import Row
    from marginalia.lore.reading import Reading

_NAMED = 5
_NOTHING = "anything, for it looks at nothing"


def names(items: Iterable[str], *, marked: bool = False) -> str:
    """The first few of *items*, each between asterisks, and how many more there are."""
    every = list(items)
    shown = every[:_NAMED] if marked else [f"*{item}*" for item in every[:_NAMED]]
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return ", ".join(shown) + more


def and_(items: Sequence[str]) -> str:
    """All of *items*, the last with "and"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def source_of(name: str) -> str:
    """A text that was scanned, by its name, to stand after "in"."""
    if name == "request":
        return "the request"
    return f"the lore of *{name[6:]}*" if name.startswith("lore: ") else name


def times(reading: Reading, number: int) -> str:
    """How often a key is there, if it is there so often that not every place was noted."""
    more = reading.more.get(number, 0)
    return f" {len(reading.found[number]) + more:,} times" if more else ""


def looks_at(row: Row, settings: LoreSettings) -> str:
    """What an entry looks at: "the request and the last 3 parts"."""
    scope = row.entry.scope
    lore = ["other active lore"] if row.recursive(settings) else []
    if scope.only_recursive:
        return and_(lore) or _NOTHING
    story = _story(row.parts(settings), scope.characters)
    request = ["the request"] if scope.request else []
    memory = ["memory"] if scope.memory else []
    return and_([*request, *story, *memory, *lore]) or _NOTHING


def _story(parts: int, characters: int) -> list[str]:
    last = "the last part" if parts == 1 else f"the last {parts:,} parts"
    if characters:
        within = f" within {last}" if parts else " of the story"
        return [f"the last {characters:,} characters{within}"]
    return [last] if parts else []


def beyond(label: str, number: int, texts: Sequence[Text], row: Row, settings: LoreSettings) -> str:
    """Where a key stands that the entry does not look at; empty when it stands nowhere."""
    if not texts:
        return ""
    text = texts[0]
    places = text.reading.found[number]
    characters, parts = row.entry.scope.characters, row.parts(settings)
    if text.kind == "story" and characters and places and not (parts and text.index >= parts):
        back = len(text.reading.text) + text.behind - places[-1][0]
        return f"*{label}* is {back:,} characters back, this entry looks at {characters:,}"
    if text.caller and row.recursive(settings):
        limit = row.limit(settings)
        calls = "one call" if limit == 1 else f"{limit} calls in a row"
        return f"*{label}* is in the lore of *{text.caller.name}*, but lore calls lore only by {calls}"
    if text.caller and row.entry.scope.no_recursion:
        return f"*{label}* is in the lore of *{text.caller.name}*, and no other lore may call this entry"
    place = (
        f"the lore of *{text.caller.name}*" if text.caller else f"the {text.name}".replace("the part", "part")
    )
    return f"*{label}* is in {place}, this entry looks at {looks_at(row, settings)}"
