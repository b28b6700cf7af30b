"""A studio in memory with one book, for tests of extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import marginalia as mg
from marginalia.extensions.api import Host
from marginalia.testing import WordTokenizer

TURN = mg.Turn(instructions="Go on.")


def studio_with(*extensions: Any, **more: Any) -> tuple[mg.Studio, mg.Book]:
    studio = mg.Studio(":memory:", tokenizer=WordTokenizer(), seed=1, extensions=extensions)
    return studio, add_book(studio, **more)


def add_book(
    studio: mg.Studio,
    *,
    texts: Iterable[str] = ("Snow fell.",),
    base_url: str = "http://127.0.0.1:9",
    **more: Any,
) -> mg.Book:
    book = studio.books.create(
        name="Salt",
        provider=studio.providers.create(
            name="S", base_url=base_url, model="m", max_context=4000, max_response=500, max_retries=0
        ),
        protocol=studio.protocols.create(name="P"),
        **more,
    )
    for text in texts:
        studio.story.append(book, text)
    return studio.books.get(book.id)


def extension(install: Callable[[Host], Any], name: str = "trial", **more: Any) -> Any:
    """An extension whose ``install`` is *install*."""
    fields = {"name": name, "install": lambda self, host: install(host), **more}
    return type("Trial", (), fields)()
