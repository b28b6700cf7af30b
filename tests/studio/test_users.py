"""Several people on one database: each has a studio of their own, and nobody finds what is another's."""

from __future__ import annotations

from pathlib import Path

import pytest

import marginalia as mg
from marginalia.testing import ScriptedServer, Stream, WordTokenizer


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
