"""Writes and streams until it is killed; says on stdout what has been stored. Run by test_recovery.py."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from marginalia.story.parts import Part
from tests.store.helpers import open_store, opening


def say(what: str, part: Part, text: str) -> None:
    sys.stdout.write(f"{what} {part.id} {text.strip()}\n")
    sys.stdout.flush()


async def main(path: str) -> None:
    store = open_store(path)
    books = store.books.all()
    book = books[0] if books else store.books.create(name="Salt Road")
    number = len(store.story.parts(book))
    while True:
        number += 1
        text = f"part {number} " + "snow " * 50
        part = store.story.append(book, text)
        say("appended", part, text)
        opened = await store.archive.open_part(opening(book, parent=part.id))
        for step in range(3):
            text = f"streaming {number} " + "wolf " * (step + 1)
            await store.archive.checkpoint(replace(opened.part, text=text))
            say("streamed", opened.part, text)
        await store.archive.close_part(replace(opened.part, text=text), None)
        edited = store.story.edit(part, f"edited {number}")
        say("edited", part, edited.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
