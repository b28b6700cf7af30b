"""Importing and exporting lorebooks, and what an imported filter calls."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.values import LorebookId
from tests.conformance import observing, vocabulary
from tests.conformance.case import Value
from tests.conformance.lorebook_edits import edited
from tests.conformance.matchers import mismatches
from tests.conformance.recorder import failure
from tests.conformance.seen import MISSING, Mismatches, Surroundings
from tests.conformance.world import World, needed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.conformance.case import Json, Value
    from tests.conformance.observing import Observers


async def import_world_info(world: World, op: Json) -> Observers:
    """Import a world-info file."""
    raw = op["raw"] if "raw" in op else json.dumps(op["json"], ensure_ascii=False)
    seen = _Import(world.studio)
    seen.take(raw, op.get("file_name") or "upload.json")
    if op.get("use_in_book") and seen.made:
        world.lorebooks[seen.made[0].name] = seen.made[0].id
        world.save_book(world.book.id, {"lorebook": seen.made[0].name})
    expected = world.made.get("expected", {}).get("matches") or ()
    matches = [await _called(world, seen.made[0], each) for each in expected] if seen.made else []
    return seen.observers() | {"matches": lambda: matches}


async def import_lorebook(world: World, op: Json) -> Observers:
    """Import a lorebook in the product's own format, perhaps as somebody else or on another installation."""
    raw = op["raw"] if "raw" in op else world.made[f"export {op['from']}"]
    if op.get("edit"):
        raw = edited(raw, op["edit"])
    if op.get("on") == "fresh_installation":
        other = mg.Studio(":memory:", clock=world.clock)
        try:
            return _import(world, other, op, raw)
        finally:
            await other.aclose()
    async with world.as_user(op.get("as_user")) as studio:
        return _import(world, studio, op, raw)


def _import(world: World, studio: mg.Studio, op: Json, raw: str | bytes) -> Observers:
    seen = _Import(studio)
    seen.take(raw, "lorebook.json", format="marginalia")
    if "as" in op and seen.made:
        world.made[f"import {op['as']}"] = seen.made[0]
    return seen.observers()


class _Import:
    """One import and what it created."""

    def __init__(self, studio: mg.Studio) -> None:
        self._studio = studio
        self._before = {each.id: each for each in studio.lorebooks.all()}
        self._error: Exception | None = None
        self._file = ""
        self.made: Sequence[mg.Lorebook] = ()

    def take(self, raw: str | bytes, file_name: str, **options: str) -> None:
        """Import the file, under its own name."""
        self._file = raw if isinstance(raw, str) else raw.decode(errors="replace")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file_name
            path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
            try:
                self.made = tuple(needed(self._studio.lorebooks, "import_file")(path, **options).lorebooks)
            except mg.FormatError as error:
                self._error = error

    def observers(self) -> dict[str, Callable[[], Any]]:
        """What can be seen of the import."""
        shelf = self._studio.lorebooks
        created = [each for each in shelf.all() if each.id not in self._before]
        root = self.made[0] if self.made else None
        of = {each.name: [vocabulary.described_entry(one) for one in shelf.entries(each)] for each in created}
        below = {each.name: _names_below(shelf, each) for each in created}
        owners = sorted({each.owner for each in created if each.tags or _has_tags(of[each.name])})
        uids = {each.uid for each in self._before.values()}
        changed = any(shelf.get(known) != record for known, record in self._before.items())
        entries = [vocabulary.described_entry(each) for each in shelf.entries(root)] if root else []
        paths = _Paths({each.id: each for each in shelf.all()}, root)
        return {
            "error": lambda: failure(str(self._error), self._error) if self._error else MISSING,
            "lorebooks_created": lambda: len(created),
            "lorebook": lambda: (
                root and {"name": root.name, "enabled": root.enabled, "tags": list(root.tags)}
            ),
            "name": lambda: root and root.name,
            "owner": lambda: root and root.owner,
            "entries": lambda: entries,
            "entries_in_creation_order": lambda: [each["name"] for each in entries],
            "subbooks_of": lambda: below,
            "entry": lambda: _NamedEntry(of),
            "tag_owners": lambda: owners,
            "uuids_as_in_file": lambda: bool(created) and all(each.uid in self._file for each in created),
            "originals_changed": lambda: changed,
            "uuid_differs_from_original": lambda: root is not None and root.uid not in uids,
            "paths_same": lambda: paths,
        }


@dataclass(frozen=True, slots=True)
class _Paths:
    """Pairs of ways down from the root that must lead to the same lorebook."""

    shelf: Mapping[LorebookId, mg.Lorebook]
    root: mg.Lorebook | None

    def mismatches(self, expected: Sequence[Sequence[str]], _: Surroundings, path: str) -> Mismatches:
        """One for every pair that leads to different lorebooks."""
        for one, other in expected:
            if self._follow(one) != self._follow(other):
                yield f"{path}: {one!r} and {other!r} lead to different lorebooks"

    def _follow(self, way: str) -> LorebookId | None:
        at = self.root
        for name in filter(None, way.split("/")):
            below = [self.shelf[each] for each in at.subbooks if each in self.shelf] if at else []
            at = next((each for each in below if each.name == name), None)
        return None if at is None else at.id


@dataclass(frozen=True, slots=True)
class _NamedEntry:
    """The entries of the imported lorebooks; the expectation says which: lorebook, place, and what it is like."""

    entries: Mapping[str, Sequence[Json]]

    def mismatches(self, expected: Sequence[Value], around: Surroundings, path: str) -> Mismatches:
        """What is different about the entry."""
        lorebook, place, wanted = expected
        yield from mismatches(wanted, self.entries[lorebook][place], around, path)


def _has_tags(entries: Sequence[Json]) -> bool:
    return any(each["tags"] or each["negative_tags"] for each in entries)


def _names_below(shelf: Value, lorebook: mg.Lorebook) -> list[str]:
    return [shelf.get(each).name for each in lorebook.subbooks]


async def _called(world: World, lorebook: mg.Lorebook, expected: Json) -> dict[str, Any]:
    """Whether the entry is active for a prompt, in the words of the expectation."""
    studio = world.studio
    provider = studio.providers.create(
        name="Any", base_url=world.server.base_url, model="any", max_context=100_000
    )
    book = studio.books.create(
        name="A book for trying keys",
        provider=provider,
        protocol=studio.protocols.create(name="Any"),
        lorebook=lorebook,
        prompts=mg.Prompts(user_prompt="{{instructions}}"),
    )
    prompt = await studio.preview(book, mg.Turn(instructions=expected["prompt"]))
    wanted = expected.get("entry")
    verdicts = [each for each in prompt.lore if wanted in (None, each.entry.name)]
    return dict(expected) | {"active": any(each.active for each in verdicts) if verdicts else "no such entry"}


async def export_lorebook(world: World, op: Json) -> Observers:
    """Export a lorebook in the product's own format, and read it back on another installation."""
    name = op.get("lorebook")
    error: Exception | None = None
    raw: Any = b""
    lorebook = (
        world.made[f"import {op['imported']}"] if "imported" in op else world.lorebooks.get(name or "", -1)
    )
    try:
        raw = needed(world.studio.lorebooks, "export")(lorebook, format="marginalia")
    except mg.MarginaliaError as caught:
        error = caught
    if "as" in op:
        world.made[f"export {op['as']}"] = raw
    found: dict[str, Callable[[], Any]] = {"error": lambda: failure(str(error), error) if error else MISSING}
    return found if error else found | await _described_export(world, raw)


async def _described_export(world: World, raw: Value) -> dict[str, Callable[[], Value]]:
    other = mg.Studio(":memory:", clock=world.clock)
    try:
        seen = _Import(other)
        seen.take(raw, "lorebook.json", format="marginalia")
        shelf = other.lorebooks
        books = list(_breadth_first(shelf, seen.made[0])) if seen.made else []
        content = [
            {
                "name": each.name,
                "enabled": each.enabled,
                "tags": sorted(each.tags),
                "subbooks": _names_below(shelf, each),
                "entries": [vocabulary.described_entry(entry) for entry in shelf.entries(each)],
            }
            for each in books
        ]
    finally:
        await other.aclose()
    return {
        "lorebooks": lambda: [each["name"] for each in content],
        "root": lambda: content[0]["name"],
        "subbooks_of": lambda: {each["name"]: each["subbooks"] for each in content},
        "tags_of": lambda: {each["name"]: each["tags"] for each in content},
        "enabled_of": lambda: {each["name"]: each["enabled"] for each in content},
        "entries_of": lambda: {each["name"]: each["entries"] for each in content},
        "content": lambda: content,
    }


def _breadth_first(shelf: Value, root: mg.Lorebook) -> Sequence[mg.Lorebook]:
    found = [root]
    for each in found:
        known = {one.id for one in found}
        found += [shelf.get(below) for below in each.subbooks if below not in known]
    return found


async def generate_with_filter(world: World, op: Json) -> Observers:
    """One entry with a REGEX filter, and what every prompt makes of it."""
    lorebook = world.studio.lorebooks.create(name="A filter")
    world.studio.lorebooks.add_entry(lorebook, name="e", payload="text", filter=mg.RegexFilter(op["filter"]))
    found = [await _called(world, lorebook, {"prompt": prompt}) for prompt in op["prompts"]]
    return observing.state_observers(world) | {
        "matches": lambda: found,
        "active": lambda: [each["active"] for each in found],
        "activated": lambda: [["e"] if each["active"] else [] for each in found],
    }


OPERATIONS = {
    each.__name__: each
    for each in (import_world_info, import_lorebook, export_lorebook, generate_with_filter)
}
