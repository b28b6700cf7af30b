"""What llama.cpp takes from its cache from turn to turn: the specification's layout beside the stable one.

Run ``python -m benchmarks.cache [TURNS [stable|default]]``; needs the bundled model. A story longer than the window
goes on for some turns, lore comes and goes with what is asked for. Beside what the server reports stands what was
predicted before.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from random import Random

import marginalia as mg
from marginalia.prompt.receipt import Receipt

WORDS = (
    *("salt", "harbour", "lamp", "rope", "winter", "stair", "gull", "letter"),
    *("window", "tide", "stone", "bread", "coat", "silver", "night"),
)
NAMES = ("Varro", "Bell", "Warden", "Ash", "Lantern", "Ferry")
PARTS = 70
TURNS = 10


@dataclass(frozen=True)
class Turn:
    reused: int
    prompt: int
    predicted: int
    of: int
    seconds: float


async def turns(studio: mg.Studio, *, stable: bool, number: int = TURNS, context: int = 8192) -> list[Turn]:
    """Write *number* parts with the bundled model; what each prompt cost."""
    random = Random(3)
    book = _book(studio, stable=stable, context=context, random=random)
    found: list[Turn] = []
    for at in range(number + 1):
        asked = f"{random.choice(NAMES)} comes up the stair."
        run = studio.generate(book, mg.Turn(instructions=asked, pov_character="Mara"))
        outcome = await run.settled()
        assert outcome.part is not None, outcome.error
        receipt = studio.story.receipt(outcome.part)
        assert receipt is not None
        if at:  # the first prompt of a server finds nothing in its cache
            found.append(_turn(receipt))
    return found


def share(found: list[Turn]) -> float:
    """Of all tokens sent, how many were reused."""
    return sum(turn.reused for turn in found) / sum(turn.prompt for turn in found)


def _turn(receipt: Receipt) -> Turn:
    usage = receipt.usage
    assert usage is not None
    return Turn(
        reused=usage.cached_tokens or 0,
        prompt=usage.prompt_tokens or 1,
        predicted=receipt.extra["cache"]["predicted"],
        of=receipt.extra["cache"]["of"],
        seconds=receipt.timings["first_token"],
    )


def _book(studio: mg.Studio, *, stable: bool, context: int, random: Random) -> mg.Book:
    provider = studio.providers.create(name="Bundled", kind="bundled", max_context=context, max_response=60)
    protocol = studio.protocols.create(name="Plain", temperature=0.5)
    lore = studio.lorebooks.create(name="World")
    studio.lorebooks.add_entry(lore, name="Sea", payload="The sea is cold and the harbour is small.")
    for name in NAMES:
        payload = f"{name}: {' '.join(random.choices(WORDS, k=24))}."
        studio.lorebooks.add_entry(lore, name=name, payload=payload, filter=mg.TextFilter(name))
    book = studio.books.create(name="Salt", provider=provider, protocol=protocol, lorebook=lore)
    for _ in range(PARTS):
        studio.story.append(book, " ".join(random.choices(WORDS, k=45)) + ".")
    studio.inspector.set_stable(book, stable)
    return studio.books.get(book.id)


async def main(number: int = TURNS, only: str = "") -> None:
    for stable in (True, False):
        if only and stable != (only == "stable"):
            continue
        began = time.perf_counter()
        async with mg.Studio(":memory:", seed=1, extensions=()) as studio:
            found = await turns(studio, stable=stable, number=number)
        name = "stable" if stable else "default"
        predicted = sum(turn.predicted for turn in found) / sum(turn.of for turn in found)
        waits = sorted(turn.seconds for turn in found)
        each = " ".join(f"{turn.reused / turn.prompt:.2f}" for turn in found)
        print(
            f"{name:>8}: {share(found):.3f} of the prompt reused over {number} turns (predicted {predicted:.3f}); "
            f"first token after {waits[len(waits) // 2]:.1f} s (median), {waits[-1]:.1f} s at most; "
            f"{found[-1].prompt:,} tokens; by turn {each}; {time.perf_counter() - began:.0f} s in all",
            flush=True,
        )


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:2]), *sys.argv[2:3]))
