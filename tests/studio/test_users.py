"""Several people on one database: each has a studio of their own, and nobody finds what is another's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import marginalia as mg
from marginalia.lore.book import Entry, Lorebook
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.values import Book, Protocol, Provider


async def test_two_users_share_a_file_and_find_nothing_of_each_other(tmp_path: Path) -> None:
    with ScriptedServer([Stream("Mine.")]) as server:
        async with mg.Studio(tmp_path / "shared.db", tokenizer=WordTokenizer(), extensions=()) as owner:
            guest = owner.for_user("guest")
            provider = owner.providers.create(name="P", base_url=server.base_url, model="m", max_context=4000)
            book = owner.books.create(
                name="Mine", provider=provider, protocol=owner.protocols.create(name="B")
            )
            run = owner.generate(book, mg.Turn(instructions="Go on."))
            part = (await run.settled()).part
            assert part is not None
            assert guest.books.all() == guest.providers.all() == ()
            with pytest.raises(mg.NotFound):
                guest.books.get(book.id)
            with pytest.raises(mg.NotFound):
                guest.story.part(part.id)
            with pytest.raises(mg.NotFound):
                await guest.preview(book)
            with pytest.raises(mg.NotFound):
                guest.generate(book)
            await guest.aclose()
            assert owner.books.get(book.id).name == "Mine"  # the guest leaves, the house stands


def test_a_guest_reaches_no_key_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-machine")
    with mg.Studio(tmp_path / "shared.db", tokenizer=WordTokenizer(), extensions=()) as owner:
        owner.keys.set("server", "sk-owner")
        guest = owner.for_user("guest/../owner")
        assert owner.keys.get("env:SECRET_KEY") == "sk-machine"
        for reference in ("env:SECRET_KEY", "keyring:marginalia"):
            with pytest.raises(mg.InvalidInput, match="belongs to the server"):
                guest.keys.get(reference)
        assert guest.keys.get("server") is None
        guest.keys.set("server", "sk-guest")
        assert owner.keys.get("server") == "sk-owner"
        assert guest.keys.get("server") == "sk-guest"
        guest.close()


def test_the_owner_for_itself_is_itself() -> None:
    with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as owner:
        assert owner.for_user("local") is owner


NOW = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Theirs:
    """What the owner has; nothing of it is the guest's."""

    book: Book
    part: mg.Part
    leaf: mg.Part
    gone: mg.Part
    world: Lorebook
    entry: Entry
    provider: Provider
    protocol: Protocol


ATTEMPTS: Mapping[str, Callable[[mg.Studio, Theirs], Any]] = {
    "books.get": lambda s, t: s.books.get(t.book.id),
    "books.get by uid": lambda s, t: s.books.get(t.book.uid),
    "books.save": lambda s, t: s.books.save(replace(t.book, name="Taken")),
    "books.save as one's own": lambda s, t: s.books.save(replace(t.book, name="Taken", owner="guest")),
    "books.delete": lambda s, t: s.books.delete(t.book.id),
    "books.restore": lambda s, t: s.books.restore(t.book.id),
    "books.restore from a file": lambda s, t: s.books.restore(t.book.id, s.books.backup(s.books.all()[0])),
    "books.backup": lambda s, t: s.books.backup(t.book.id),
    "books.clone": lambda s, t: s.books.clone(t.book.id),
    "books.set_variables": lambda s, t: s.books.set_variables(t.book.id, {"a": "b"}),
    "story.activate": lambda s, t: s.story.activate(t.book.id, t.part.id),
    "story.activate in one's own": lambda s, t: s.story.activate(s.books.all()[0], t.part.id),
    "story.append": lambda s, t: s.story.append(t.book.id, "Mine."),
    "story.append below": lambda s, t: s.story.append(s.books.all()[0], "Mine.", parent=t.part.id),
    "story.branch": lambda s, t: s.story.branch(t.book.id),
    "story.branch to a leaf": lambda s, t: s.story.branch(s.books.all()[0], t.leaf.id),
    "story.children": lambda s, t: s.story.children(t.part.id),
    "story.siblings": lambda s, t: s.story.siblings(t.part.id),
    "story.delete": lambda s, t: s.story.delete(t.part.id),
    "story.undelete": lambda s, t: s.story.undelete(t.gone.id),
    "story.trash": lambda s, t: s.story.trash(t.book.id),
    "story.drawing": lambda s, t: s.story.drawing(t.book.id),
    "story.outline": lambda s, t: s.story.outline(t.book.id),
    "story.tree": lambda s, t: s.story.tree(t.book.id),
    "story.parts": lambda s, t: s.story.parts(t.book.id),
    "story.part": lambda s, t: s.story.part(t.part.id),
    "story.edit": lambda s, t: s.story.edit(t.part.id, "Mine."),
    "story.rewrite": lambda s, t: s.story.rewrite(t.part),
    "story.mark": lambda s, t: s.story.mark(t.part.id, label="mine"),
    "story.fork": lambda s, t: s.story.fork(t.part.id),
    "story.split": lambda s, t: s.story.split(t.part.id, 3),
    "story.merge": lambda s, t: s.story.merge(t.leaf.id),
    "story.move": lambda s, t: s.story.move(t.leaf.id, None),
    "story.go_to": lambda s, t: s.story.go_to(t.part.id),
    "story.leaf_for": lambda s, t: s.story.leaf_for(t.part.id),
    "story.receipt": lambda s, t: s.story.receipt(t.part.id),
    "story.revisions": lambda s, t: s.story.revisions(t.part.id),
    "story.search": lambda s, t: s.story.search(t.book.id, "lamp"),
    "story.prepare_search": lambda s, t: s.story.prepare_search(t.book.id),
    "story.excerpts": lambda s, t: s.story.excerpts(t.book.id, [t.part.id], "lamp"),
    "story.statistics": lambda s, t: s.story.statistics(t.book.id),
    "story.history": lambda s, t: s.story.history(t.book.id),
    "story.undo": lambda s, t: s.story.undo(t.book.id),
    "story.redo": lambda s, t: s.story.redo(t.book.id),
    "story.export": lambda s, t: s.story.export(t.book.id, "md"),
    "lorebooks.get": lambda s, t: s.lorebooks.get(t.world.id),
    "lorebooks.save": lambda s, t: s.lorebooks.save(replace(t.world, name="Taken")),
    "lorebooks.delete": lambda s, t: s.lorebooks.delete(t.world.id),
    "lorebooks.restore": lambda s, t: s.lorebooks.restore(t.world.id),
    "lorebooks.entries": lambda s, t: s.lorebooks.entries(t.world.id),
    "lorebooks.filled": lambda s, t: s.lorebooks.filled(t.world.id),
    "lorebooks.deleted_entries": lambda s, t: s.lorebooks.deleted_entries(t.world.id),
    "lorebooks.add_entry": lambda s, t: s.lorebooks.add_entry(t.world.id, name="Mine"),
    "lorebooks.save_entry": lambda s, t: s.lorebooks.save_entry(replace(t.entry, payload="Mine")),
    "lorebooks.delete_entry": lambda s, t: s.lorebooks.delete_entry(t.entry.id),
    "lorebooks.restore_entry": lambda s, t: s.lorebooks.restore_entry(t.entry.id),
    "lorebooks.export": lambda s, t: s.lorebooks.export(t.world.id),
    "lorebooks.report": lambda s, t: s.lorebooks.report(t.world.id),
    "lorebooks.create around": lambda s, t: s.lorebooks.create(name="Mine", subbooks=[t.world.id]),
    "providers.get": lambda s, t: s.providers.get(t.provider.id),
    "providers.save": lambda s, t: s.providers.save(replace(t.provider, base_url="http://elsewhere.example")),
    "providers.delete": lambda s, t: s.providers.delete(t.provider.id),
    "protocols.get": lambda s, t: s.protocols.get(t.protocol.id),
    "protocols.save": lambda s, t: s.protocols.save(replace(t.protocol, name="Taken")),
    "protocols.delete": lambda s, t: s.protocols.delete(t.protocol.id),
    "books.create with a provider": lambda s, t: s.books.create(name="Mine", provider=t.provider.id),
    "books.create with a protocol": lambda s, t: s.books.create(name="Mine", protocol=t.protocol.id),
    "books.create with a lorebook": lambda s, t: s.books.create(name="Mine", lorebook=t.world.id),
    "books.save with a provider": lambda s, t: s.books.save(
        replace(s.books.all()[0], provider_id=t.provider.id)
    ),
    "books.save with a lorebook": lambda s, t: s.books.save(
        replace(s.books.all()[0], lorebook_id=t.world.id)
    ),
    "summaries.of": lambda s, t: s.summaries.of(t.part.id),
    "summaries.edit": lambda s, t: s.summaries.edit(t.part.id, "Mine."),
    "summaries.remove": lambda s, t: s.summaries.remove(t.part.id),
    "summaries.blocks": lambda s, t: s.summaries.blocks(t.book.id),
    "summaries.overview": lambda s, t: s.summaries.overview(t.book.id),
    "summaries.draft": lambda s, t: s.summaries.draft(t.book.id, t.part.id),
    "summaries.create": lambda s, t: s.summaries.create(t.book.id, t.leaf.id),
    "summaries.create in one's own": lambda s, t: s.summaries.create(s.books.all()[0], t.leaf.id),
    "summaries.merge": lambda s, t: s.summaries.merge(t.book.id, t.leaf.id, t.part.id),
    "preview": lambda s, t: s.preview(t.book.id),
    "preview of a swipe": lambda s, t: s.preview(s.books.all()[0], request=mg.Swipe(t.leaf.id)),
    "generate": lambda s, t: s.generate(t.book.id),
    "limits": lambda s, t: s.limits(t.book.id),
    "effective_prompts": lambda s, t: s.effective_prompts(t.book.id),
    "what_if": lambda s, t: s.what_if(t.book.id),
    "inspector.last_sent": lambda s, t: s.inspector.last_sent(t.book.id),
    "inspector.curve": lambda s, t: s.inspector.curve(t.book.id),
    "inspector.set_stable": lambda s, t: s.inspector.set_stable(t.book.id, on=True),
}


async def test_no_call_of_a_guest_reaches_or_changes_what_is_the_owner_s(tmp_path: Path) -> None:
    with ScriptedServer(default=Stream("A lamp.")) as server:
        async with mg.Studio(
            tmp_path / "shared.db", tokenizer=WordTokenizer(), extensions=(), clock=lambda: NOW
        ) as owner:
            guest = owner.for_user("guest")
            theirs = await furnished(owner, server)
            furnished_too = guest.books.create(name="Own")
            guest.story.append(furnished_too, "Own text.")
            before = owner.books.backup(theirs.book), owner.lorebooks.export(theirs.world)
            got_in: dict[str, object] = {}
            for name, attempt in ATTEMPTS.items():
                try:
                    answer = attempt(guest, theirs)
                    got_in[name] = await answer if inspect.isawaitable(answer) else answer
                except mg.NotFound:
                    pass
            assert got_in == {}
            assert (owner.books.backup(theirs.book), owner.lorebooks.export(theirs.world)) == before
            assert guest.running(theirs.book.id) is None
            for repository in (guest.providers, guest.protocols, guest.lorebooks):
                assert repository.all() == ()
            assert [book.name for book in guest.books.all()] == ["Own"]
            await guest.aclose()


async def test_nobody_hears_of_another_s_changes_runs_or_settings(tmp_path: Path) -> None:
    with ScriptedServer([Stream(*["A lamp. "] * 20, pace=0.02)]) as server:
        async with mg.Studio(tmp_path / "shared.db", tokenizer=WordTokenizer(), extensions=()) as owner:
            guest = owner.for_user("guest")
            theirs = await furnished(owner, server, summary=False)
            heard: list[object] = []
            guest._store.on_change(heard.append)
            guest.on(mg.events.BeforePrepareGeneration, lambda run, _: heard.append(run))
            owner.settings.set("secret", value="lamp")
            run = owner.generate(theirs.book, mg.Turn(instructions="Go on."))
            assert guest.running(theirs.book.id) is None
            version = guest.version(theirs.book.id)
            run.stop()
            await run.settled()
            assert guest.version(theirs.book.id) == version
            assert guest.settings.get("secret") is None
            assert heard == []
            await guest.aclose()


async def furnished(owner: mg.Studio, server: ScriptedServer, *, summary: bool = True) -> Theirs:
    provider = owner.providers.create(name="P", base_url=server.base_url, model="m", max_context=4000)
    protocol = owner.protocols.create(name="B")
    world = owner.lorebooks.create(name="World")
    entry = owner.lorebooks.add_entry(world, name="Lamp", payload="It burns.")
    book = owner.books.create(name="Mine", provider=provider, protocol=protocol, lorebook=world)
    part = owner.story.append(book, "The lamp went out.")
    leaf = owner.story.append(book, "It was night.")
    gone = owner.story.append(book, "It was day.")
    owner.story.delete(gone)
    if summary:
        await owner.summaries.create(book, part)
    return Theirs(
        book=owner.books.get(book.id),
        part=owner.story.part(part.id),
        leaf=leaf,
        gone=gone,
        world=world,
        entry=entry,
        provider=provider,
        protocol=protocol,
    )
