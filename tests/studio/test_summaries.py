from __future__ import annotations

import marginalia as mg
from marginalia.testing import ScriptedServer, Stream, WordTokenizer


async def test_a_summary_is_heard_while_it_is_written() -> None:
    with ScriptedServer([Stream("Cold ", "start.")]) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            provider = studio.providers.create(
                name="P", base_url=server.base_url, model="m", max_context=4000
            )
            book = studio.books.create(
                name="B", provider=provider, protocol=studio.protocols.create(name="P")
            )
            part = studio.story.append(book, "Snow fell.")
            heard: list[str] = []
            summary = await studio.summaries.create(book, part, listen=heard.append)
            assert heard == ["Cold ", "start."]
            assert summary.text == "Cold start."
