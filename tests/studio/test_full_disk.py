"""A run whose end cannot be stored: the text waits in memory and is stored as soon as there is room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

import marginalia as mg
from marginalia.errors import StoreFull
from marginalia.testing import ScriptedServer, Stream, WordTokenizer


class FullFor:
    """The archive on a disk that has no room for the end of a part, so many times."""

    def __init__(self, archive: Any, times: int) -> None:
        self._archive = archive
        self.left = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._archive, name)

    async def close_part(self, part: mg.Part, receipt: Any) -> mg.Part:
        if self.left:
            self.left -= 1
            raise StoreFull("The disk is full. Free some space.")
        return await self._archive.close_part(part, receipt)


@pytest.mark.parametrize("times", [1, 2, 4])
async def test_the_text_of_a_run_is_stored_once_there_is_room(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginalia.studio.runs.RETRY_SECONDS", 0.05)
    with ScriptedServer([Stream("The sea ", "rose.")]) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            provider = studio.providers.create(
                name="P", base_url=server.base_url, model="m", max_context=4000
            )
            book = studio.books.create(
                name="B", provider=provider, protocol=studio.protocols.create(name="P")
            )

            def fill(run: mg.Run, _event: mg.events.BeforePrepareGeneration) -> None:
                run.ports = replace(run.ports, archive=FullFor(run.ports.archive, times))

            studio.on(mg.events.BeforePrepareGeneration, fill)
            run = studio.generate(book, mg.Turn(instructions="Go on."))
            outcome = await run.settled()
            assert isinstance(outcome.error, StoreFull)
            assert run.unsaved is (times >= 2)  # the end and CLEANUP try once each
            seen = 0
            with anyio.fail_after(5):
                while run.unsaved:
                    seen = await run.changed(seen)
            (part,) = studio.story.branch(book)
            assert part.text == "The sea rose."
            assert studio.story.edit(part, "The sea fell.").text == "The sea fell."
