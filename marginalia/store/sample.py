"""The sample book that a new user finds: a story begun, its lore, and the bundled model to go on with."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marginalia.errors import StoreError
from marginalia.lore.book import Filter, Insertion, RegexFilter, TextFilter
from marginalia.values import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from marginalia.lore.book import Lorebook
    from marginalia.store import Store
    from marginalia.values import Book

_PLANTED = "sample"


def plant_sample(store: Store) -> Book | None:
    """Give the user the sample book, once; ``None`` if that was done before, even if the book is deleted now."""
    if store.settings.get(_PLANTED):
        return None
    sample = _sample()
    lorebooks: dict[str, Lorebook] = {}
    for each in sample["lorebooks"]:
        lorebooks[each["name"]] = _plant_lorebook(store, each, lorebooks)
    told: Mapping[str, Any] = sample["book"]
    book = store.books.create(
        name=told["name"],
        description=told["description"],
        tags=told["tags"],
        provider=store.providers.create(**sample["provider"]),
        protocol=store.protocols.create(**sample["protocol"]),
        lorebook=lorebooks[told["lorebook"]],
    )
    for part in told["parts"]:
        store.story.append(book, part["text"], turn=Turn(**part["turn"]), attributes={"sample": True})
    store.settings.set(_PLANTED, value=True)
    return store.books.get(book)


def _plant_lorebook(store: Store, told: Mapping[str, Any], others: Mapping[str, Lorebook]) -> Lorebook:
    lorebook = store.lorebooks.create(
        name=told["name"],
        description=told["description"],
        subbooks=[others[name] for name in told.get("subbooks", ())],
    )
    for entry in told["entries"]:
        store.lorebooks.add_entry(
            lorebook,
            name=entry["name"],
            payload=entry["payload"],
            filter=_filter(entry),
            insertion=Insertion(entry.get("insertion", Insertion.LORE_BLOCK)),
            ordinal=entry.get("ordinal", 100),
            tags=entry.get("tags", ()),
            negative_tags=entry.get("negative_tags", ()),
            enabled=entry.get("enabled", True),
            note=entry.get("note", ""),
        )
    return lorebook


def _filter(entry: Mapping[str, str]) -> Filter | None:
    if "regex" in entry:
        return RegexFilter(entry["regex"])
    return TextFilter(entry["text"]) if "text" in entry else None


@cache
def _sample() -> Mapping[str, Any]:
    """The file, from inside the installed package or, in a checkout, from beside it."""
    beside = Path(__file__).parents[2] / "data"
    for folder in (resources.files("marginalia") / "data", beside):
        file = folder / "sample.json"
        if file.is_file():
            sample: dict[str, Any] = json.loads(file.read_text("utf-8"))
            return sample
    raise StoreError("The sample book is missing from this installation; install Marginalia again.")
