"""The replay of a long branch, and entries that all fire: ``python benchmarks/lore_replay.py``.

1,000 parts and 1,000 entries (3 keys each, one entry in ten with a regular expression too); times are of the processor.
Then 10,000 entries of which every one is called by a text of 20,000 characters, decided on a thread while a heartbeat
measures how long the event loop waits; the same heartbeat beside a thread that only counts shows what the machine does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random
from string import ascii_lowercase
from threading import Event

from marginalia.lore.activation import activate
from marginalia.lore.book import Entry, FilledLorebook, Lorebook, Match, Pattern
from marginalia.lore.collecting import in_order
from marginalia.lore.scan import Scan
from marginalia.pipeline.defaults import default_prompts
from marginalia.story.parts import Part
from marginalia.studio.lore_map import story_map, with_row_again
from marginalia.studio.lore_story import History, Moment
from marginalia.values import Book, BookId, EntryId, Limits, PartId, Turn

PARTS = ENTRIES = 1_000
PROSE = "the sea had been up since noon and she climbed the last turn of the stairs with the lamp oil "


def main() -> None:
    random = Random(3)
    entries = tuple(_entry(number, *_keys(number)) for number in range(ENTRIES))
    moment, history = _moment(entries), _history(random)
    shown = [each.id for each in entries[:24]]
    made = story_map(moment, history, None, shown=shown, most=120, ended=Event())
    draft = replace(entries[0], match=Match(any=(Pattern(text="word7x"),)))
    whole = _spent(lambda: story_map(moment, history, draft, shown=shown, most=120, ended=Event()))
    row = _spent(lambda: made and with_row_again(made, moment, history, draft, ended=Event()))
    print(
        f"{PARTS:,} parts, {ENTRIES:,} entries: whole map {whole:.0f} ms, the edited entry's row {row:.0f} ms"
    )
    asyncio.run(_hits())


async def _hits() -> None:
    said = (PROSE * 300)[:20_000]
    found = sorted({said[at : at + size] for at in range(2_600) for size in (1, 2, 3)})
    words = [*found, *("".join(each) for each in product(ascii_lowercase, repeat=3))]
    for name, keys in (("the same letter", ["e"]), ("pieces of words", words[: len(found)])):
        entries = [_entry(number, Pattern(text=keys[number % len(keys)])) for number in range(10_000)]
        candidates = in_order((FilledLorebook(lorebook=Lorebook(), entries=tuple(entries)),))
        activate(candidates, Scan(request="warm"))
        scan = Scan(request=said)
        wait = await _longest_wait(partial(activate, candidates, scan))
        idle = await _longest_wait(_count)
        print(
            f"10,000 entries called by {name}: the loop waits {wait:.0f} ms at most, beside counting {idle:.0f} ms"
        )


async def _longest_wait(work: Callable[[], object]) -> float:
    job = asyncio.ensure_future(asyncio.to_thread(work))
    longest = 0.0
    while not job.done():
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        longest = max(longest, time.perf_counter() - began)
    await job
    return longest * 1_000


def _count() -> None:
    until = time.perf_counter() + 0.5
    while time.perf_counter() < until:
        sum(range(200))


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1_000


def _keys(number: int) -> tuple[Pattern, ...]:
    plain = (
        Pattern(text=f"word{number}x"),
        Pattern(text=f"quay {number} bell"),
        Pattern(text=f"gate {number}"),
    )
    more = (Pattern(text=rf"harbour\s+{number}\b", kind="regex"),) if number % 10 == 0 else ()
    return (*plain, *more)


def _entry(number: int, *keys: Pattern) -> Entry:
    return Entry(
        id=EntryId(number + 1), uid=f"e{number}", name=f"e{number}", payload="x", match=Match(any=keys)
    )


def _moment(entries: tuple[Entry, ...]) -> Moment:
    world = FilledLorebook(lorebook=Lorebook(name="World"), entries=entries)
    return Moment(
        book=Book(name="B"), lorebooks=(world,), request="", memory=(), seed=1, limits=Limits(), count=len
    )


def _history(random: Random) -> History:
    def part(number: int) -> Part:
        text = PROSE * 10 + " ".join(f"word{random.randrange(ENTRIES)}x" for _ in range(4))
        turn = Turn(instructions=f"word{random.randrange(ENTRIES)}x comes")
        return Part(
            id=PartId(number), uid=str(number), book_id=BookId(1), parent_id=None, text=text, turn=turn
        )

    parts = tuple(part(number) for number in range(1, PARTS + 1))
    return History(parts=parts, prompts=default_prompts(), summaries={}, dice=lambda each: each.id)


if __name__ == "__main__":
    main()
