"""What a shared server lets each person do at once."""

from __future__ import annotations

import anyio
import pytest

import marginalia as mg
from marginalia.errors import Busy
from marginalia.inference.hosts import Hosts
from marginalia.studio.limits import HouseRules
from marginalia.testing import ScriptedServer, Stream, WordTokenizer
from marginalia.values import Book

RULES = HouseRules(runs=2, summaries=1)
SLOW = Stream(*["salt "] * 200, pace=0.02)


def books_of(studio: mg.Studio, server: ScriptedServer, number: int) -> list[Book]:
    provider = studio.providers.create(name="P", base_url=server.base_url, model="m", max_context=4000)
    protocol = studio.protocols.create(name="P")
    return [
        studio.books.create(name=f"Book {each}", provider=provider, protocol=protocol)
        for each in range(number)
    ]


async def test_one_person_s_generations_are_limited_and_another_s_do_not_count() -> None:
    with ScriptedServer(default=SLOW) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=(), rules=RULES) as owner:
            guest = owner.for_user("guest")
            first, second, third = books_of(owner, server, 3)
            runs = [owner.generate(book, mg.Turn(instructions="Go.")) for book in (first, second)]
            with pytest.raises(Busy, match=r"2 of your books are .* lets each person have 2 at once"):
                owner.generate(third, mg.Turn(instructions="Go."))
            with pytest.raises(Busy, match="is being written to already"):
                owner.generate(first, mg.Turn(instructions="Go."))
            (other,) = books_of(guest, server, 1)
            theirs = guest.generate(other, mg.Turn(instructions="Go."))
            runs[0].stop()
            await runs[0].settled()
            again = owner.generate(third, mg.Turn(instructions="Go."))
            for run in (again, theirs, runs[1]):
                run.stop()
                await run.settled()
            await guest.aclose()


async def test_one_person_s_summaries_are_limited_until_one_is_done_or_stopped() -> None:
    with ScriptedServer(default=SLOW) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=(), rules=RULES) as studio:
            book, other = books_of(studio, server, 2)
            part, its = studio.story.append(book, "Snow fell."), studio.story.append(other, "Snow fell.")
            begun = anyio.Event()
            async with anyio.create_task_group() as group:

                async def write() -> None:
                    await studio.summaries.create(book, part, listen=lambda _: begun.set())

                group.start_soon(write)
                await begun.wait()
                with pytest.raises(Busy, match=r"1 of your summaries is .* have 1 at once"):
                    await studio.summaries.create(other, its)
                group.cancel_scope.cancel()
            server.default = Stream("Cold.")
            assert (await studio.summaries.create(other, its)).text == "Cold."


def test_the_rules_are_read_from_the_environment() -> None:
    rules = HouseRules.from_environment(
        {"MARGINALIA_RUNS_PER_USER": "3", "MARGINALIA_PROVIDER_HOSTS": "a.example b.example:81"}
    )
    assert rules == HouseRules(runs=3, hosts=Hosts(names=("a.example", "b.example:81")))
    assert HouseRules.from_environment({}) == HouseRules()
    with pytest.raises(mg.InvalidInput, match="MARGINALIA_RUNS_PER_USER is “many”"):
        HouseRules.from_environment({"MARGINALIA_RUNS_PER_USER": "many"})


async def test_without_rules_nothing_is_limited() -> None:
    with ScriptedServer(default=Stream("Go ", "on.")) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            runs = [studio.generate(book, mg.Turn()) for book in books_of(studio, server, 6)]
            for run in runs:
                await run.settled()
