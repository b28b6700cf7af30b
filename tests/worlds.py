"""The small world that tests of several layers begin in: a model, a protocol, lore of the sea and a bell, a book."""

from __future__ import annotations

import marginalia as mg
from marginalia.testing import ScriptedServer, WordTokenizer


def studio_in_memory() -> mg.Studio:
    """A studio that keeps nothing, counts a word as a token, and rolls the same dice every time."""
    return mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=())


def scripted(studio: mg.Studio, server: ScriptedServer) -> mg.Provider:
    """A provider that asks *server* once and takes no for an answer: 4,000 tokens, 500 of them for the answer."""
    return studio.providers.create(
        name="Stub", base_url=server.base_url, model="m", max_context=4000, max_response=500, max_retries=0
    )


def salt(studio: mg.Studio, server: ScriptedServer) -> mg.Book:
    """An empty book with an entry that is always in, *Always*, and one that a word calls, *Bell*."""
    lore = studio.lorebooks.create(name="World")
    studio.lorebooks.add_entry(lore, name="Always", payload="The sea is cold.")
    studio.lorebooks.add_entry(lore, name="Bell", payload="The bell is quiet.", filter=mg.TextFilter("bell"))
    return studio.books.create(
        name="Salt",
        provider=scripted(studio, server),
        protocol=studio.protocols.create(name="Plain", temperature=0.7),
        lorebook=lore,
    )
