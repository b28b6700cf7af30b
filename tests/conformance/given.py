"""Building the world of a case through the public API."""

from __future__ import annotations

import tempfile
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marginalia as mg
from marginalia.testing import ScriptedServer, Stream
from tests.conformance import vocabulary
from tests.conformance.world import TickingClock, World, open_studio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from tests.conformance.case import Case, Json


@asynccontextmanager
async def world_of(case: Case) -> AsyncIterator[World]:
    """The world before the first operation, taken down afterwards."""
    clock = TickingClock()
    async with ScriptedServer() as server:
        with _place(case) as path:
            world = World(case=case, clock=clock, path=path, server=server, studio=open_studio(path, clock))
            try:
                await _furnish(world)
                yield world
            finally:
                await world.studio.aclose()


@contextmanager
def _place(case: Case) -> Iterator[str]:
    """In memory, unless the case needs a file: opened again, perhaps by somebody else, or with a key beside it."""
    again = any(op["do"] == "reload" or "as_user" in op for op in case.when)
    if not again and not (case.given.get("provider") or {}).get("api_key"):
        yield ":memory:"
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "studio.duckdb")


async def _furnish(world: World) -> None:
    given = world.case.given
    provider = _provider(world, given.get("provider"))
    protocol = _protocol(world, given.get("protocol"))
    if given.get("user_settings"):
        world.studio.settings.set_default_prompts(vocabulary.prompts(given["user_settings"]))
    _lorebooks(world, given.get("lorebooks") or [])
    shelf = world.studio.lorebooks
    entries = [entry for lorebook in world.lorebooks.values() for entry in shelf.entries(lorebook)]
    world.made["entries as given"] = {entry.id: entry for entry in entries}
    _books(world, given, provider, protocol)
    _parts(world, given.get("parts") or [])
    await _summaries(world, given.get("summaries") or [])
    for step in given.get("pipeline_without") or []:
        world.studio.remove_step(getattr(mg.steps, step))


def _provider(world: World, raw: Json | None) -> mg.Provider | None:
    if raw is None:
        return None
    key_ref = ""
    if raw.get("api_key"):
        key_ref = "the key of the case"
        world.studio.keys.set(key_ref, raw["api_key"])
    return world.studio.providers.create(
        name=raw.get("name") or "Stub",
        key_ref=key_ref,
        kind=vocabulary.provider_kind(raw),
        base_url=world.server.base_url,
        model=raw.get("model") or "stub-1",
        max_context=raw.get("max_context"),
        max_response=raw.get("max_response"),
        needs_jailbreak=raw.get("needs_jailbreak", False),
        jailbreak=raw.get("jailbreak"),
        timeout=raw.get("timeout_seconds"),
        max_retries=raw.get("max_retries"),
        additional_parameters=raw.get("additional_parameters") or {},
        enable_reasoning=raw.get("enable_reasoning", False),
        reasoning_effort=raw.get("reasoning_effort"),
    )


def _protocol(world: World, raw: Json | None) -> mg.Protocol | None:
    if raw is None:
        return None
    return world.studio.protocols.create(
        name=raw.get("name") or "Plain",
        max_tokens=raw.get("max_tokens"),
        reply_tokens=raw.get("reply_tokens"),
        temperature=_setting(raw.get("temperature")),
        top_p=_setting(raw.get("top_p")),
        frequency_penalty=_setting(raw.get("frequency_penalty")),
        presence_penalty=_setting(raw.get("presence_penalty")),
    )


def _setting(raw: Json | None) -> float | None:
    return raw["value"] if raw is not None and raw.get("enabled") else None


def _lorebooks(world: World, raw: Sequence[Json]) -> None:
    shelf = world.studio.lorebooks
    for each in raw:
        made = shelf.create(
            name=each["name"], enabled=each.get("enabled", True), tags=tuple(each.get("tags") or ())
        )
        world.lorebooks[each["name"]] = made.id
    for each in raw:
        below = tuple(world.lorebooks[name] for name in each.get("subbooks") or ())
        if below:
            shelf.save(replace(shelf.get(world.lorebooks[each["name"]]), subbooks=below))
    entries = [(entry, each["name"]) for each in raw for entry in each.get("entries") or ()]
    for entry, name in sorted(entries, key=lambda pair: pair[0].get("created") or 0):
        made_entry = shelf.add_entry(world.lorebooks[name], **vocabulary.entry_fields(entry))
        if entry.get("deleted"):
            shelf.delete_entry(made_entry)


def _books(world: World, given: Json, provider: mg.Provider | None, protocol: mg.Protocol | None) -> None:
    raw: Json = given.get("book") or {"name": "A book"}
    common: dict[str, Any] = {"provider": provider, "protocol": protocol, "prompts": vocabulary.prompts(raw)}
    lorebook = raw.get("lorebook")
    made = world.studio.books.create(
        name=raw["name"],
        description=raw.get("description") or "",
        tags=tuple(raw.get("tags") or ()),
        lorebook=None if lorebook is None else world.lorebooks[lorebook],
        global_variables=raw.get("global_variables") or {},
        **common,
    )
    world.book_id = made.id
    world.books[raw["name"]] = made.id
    for other in given.get("other_books") or ():
        world.books[other["name"]] = world.studio.books.create(name=other["name"], **common).id
    for each in given.get("lorebooks") or ():
        if each.get("deleted"):
            world.studio.lorebooks.delete(world.lorebooks.pop(each["name"]))


def _parts(world: World, raw: Sequence[Json]) -> None:
    story = world.studio.story
    for each in raw:
        parent = None if each["parent"] is None else world.parts[each["parent"]]
        made = story.append(world.book, each.get("text") or "", parent=parent)
        story.rewrite(vocabulary.stored_part(made, each, world.clock()), receipt=vocabulary.receipt(each))
        world.parts[each["part"]] = made.id
    for each in raw:
        if each.get("deleted"):
            story.delete(story.part(world.parts[each["part"]]))
    if raw:
        leaf = world.case.given.get("active_leaf")
        story.activate(world.book, None if leaf is None else story.part(world.parts[leaf]))


async def _summaries(world: World, raw: Sequence[Json]) -> None:
    """Write the summaries with a model that takes everything, whatever the case's own one can."""
    if not raw:
        return
    studio, own = world.studio, world.book
    roomy = studio.providers.create(
        name="Roomy", base_url=world.server.base_url, model="roomy", max_context=1_000_000
    )
    protocol = studio.protocols.create(name="Roomy")
    studio.books.save(replace(own, provider_id=roomy.id, protocol_id=protocol.id))
    for each in raw:
        world.server.script(Stream(each["text"]))
        if each.get("meta"):
            await studio.summaries.merge(own, world.part(each["from"]), world.part(each["to"]))
        else:
            await studio.summaries.create(own, world.part(each["on"]))
    studio.books.save(replace(world.book, provider_id=own.provider_id, protocol_id=own.protocol_id))
