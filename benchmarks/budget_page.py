"""From a keystroke in the turn panel to the repainted budget in Chromium: ``python -m benchmarks.budget_page``.

Starts the app on a home of its own with a book of 1,000 parts and a lorebook of 1,000 entries (other numbers can be
given), types one more word per round, and waits for the frame that shows the new figures. Meanwhile a thread asks the
server every few milliseconds whether it is alive: the longest answer is the longest stall of its loop.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from playwright.sync_api import Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM, served
from marginalia import Studio, Turn
from marginalia.studio.lorebooks import Upload

ROUNDS = 20
WATCH = """([word]) => new Promise((done) => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((el) => el.shadowRoot ? all(el.shadowRoot) : [])
  const all = (root) => [root, ...inside(root)]
  const every = (selector) => all(document).flatMap((root) => [...root.querySelectorAll(selector)])
  const [input] = every("textarea[aria-label=Instructions]")
  const head = every(".headline").find((el) => el.textContent.includes("16,384"))
  const root = head.getRootNode(), before = head.textContent, began = performance.now()
  const seen = () => root.querySelector(".headline").textContent !== before || performance.now() - began > 5000
  const after = () => requestAnimationFrame(() => done(performance.now() - began))
  const look = () => requestAnimationFrame(() => seen() ? after() : look())
  input.value += word; input.dispatchEvent(new Event("input", { bubbles: true, composed: true })); look()
})"""


def furnish(home: Path, parts: int, entries: int) -> None:
    """A book of so many parts, with a lorebook of so many entries: 3 keys each, one in 30 a regular expression."""
    rows = {}
    for number in range(entries):
        key = f"/harbour\\s+{number}\\b/i" if number % 10 == 0 else f"harbour {number} gate"
        keys = [key, f"word{number}x", f"quay {number} bell"]
        rows[str(number)] = {
            "uid": number,
            "key": keys,
            "content": f"About {number}.",
            "comment": f"Entry {number}",
        }
    with Studio(home / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=16384, max_response=512
        )
        upload = Upload("world.json", json.dumps({"entries": rows}).encode())
        world = studio.lorebooks.import_file(upload).lorebooks[0]
        protocol = studio.protocols.create(name="Plain")
        book = studio.books.create(name="B", provider=provider, protocol=protocol, lorebook=world)
        for part in range(parts):
            text = f"Part {part}. " + "The sea had been up since noon. " * 30
            studio.story.append(book, text, turn=Turn(instructions="On."))


@contextmanager
def pulse(address: str) -> Iterator[list[float]]:
    """Milliseconds that the server took to say it is alive, again and again, until the block is left."""
    found: list[float] = []
    ended = Event()

    def ask() -> None:
        while not ended.wait(0.005):
            began = time.perf_counter()
            with suppress(OSError):
                urllib.request.urlopen(address, timeout=20).close()  # noqa: S310 - our own server
                found.append((time.perf_counter() - began) * 1000)

    asking = Thread(target=ask, daemon=True)
    asking.start()
    yield found
    ended.set()
    asking.join()


def measure(page: Page) -> list[float]:
    """Milliseconds from the keystroke to the frame after the new figures stood there, round by round."""
    found = []
    for number in range(ROUNDS):
        page.wait_for_timeout(700)
        found.append(page.evaluate(WATCH, [f" gull{number}"]))
    return found


def browse(address: str) -> tuple[list[float], list[float]]:
    """Open the page at its budget and measure; the second list is the pulse of the server meanwhile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 860})
        page.set_default_timeout(60_000)
        page.goto(f"{address}/app?book=1")
        page.get_by_text("of 16,384 tokens").wait_for()
        page.wait_for_timeout(1500)
        with pulse(f"{address}/liveness") as beats:
            found = measure(page)
        browser.close()
    return found, beats


def main(parts: int, entries: int) -> None:
    """Print the median and the slowest, and the longest stall."""
    with tempfile.TemporaryDirectory() as folder:
        furnish(Path(folder), parts, entries)
        with served(Path(folder), "--liveness") as app:
            found, beats = browse(app.address)
    median, slowest = statistics.median(found), max(found)
    print(f"{parts:,} parts, {entries:,} entries, keystroke to repainted budget: median {median:.0f} ms, "
          f"slowest {slowest:.0f} ms (at most 150)")  # fmt: skip
    print(f"its loop answered after {max(beats):.0f} ms at most, {statistics.median(beats):.0f} ms usually "
          f"({len(found)} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or ("1000", "1000")))
