"""From a keystroke in the turn panel to repainted verdicts in Chromium: ``python -m benchmarks.lore_page [ENTRIES]``.

Starts the app on a home of its own with a lorebook of that many entries (1,000 unless told; 3 keys each, one in ten a
regular expression), types one word per round that calls one entry, and waits until its row says so.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM, served
from marginalia import Studio, Turn
from marginalia.studio.lorebooks import Upload

ROUNDS = 12
WATCH = """([word, name]) => new Promise((done) => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((el) => el.shadowRoot ? all(el.shadowRoot) : [])
  const all = (root) => [root, ...inside(root)]
  const find = (selector) => all(document).map((root) => root.querySelector(selector)).find(Boolean)
  const input = find("textarea[aria-label=Instructions]"), rows = find("[aria-label='Lore entries']")
  const began = performance.now()
  const seen = () => [...rows.querySelectorAll(".row.in .name")].some((el) => el.textContent === name)
  const look = () => seen() ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look)
  input.value = word; input.dispatchEvent(new Event("input", { bubbles: true, composed: true })); look()
})"""


def furnish(home: Path, entries: int) -> None:
    """A book with a lorebook of *entries*."""
    rows = {}
    for number in range(entries):
        plain = f"harbour {number} gate", f"word{number}x", f"quay {number} bell"
        keys = [_key(3 * number + at, key) for at, key in enumerate(plain)]
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
        world = studio.lorebooks.import_file(
            Upload("world.json", json.dumps({"entries": rows}).encode())
        ).lorebooks[0]
        protocol = studio.protocols.create(name="Plain")
        book = studio.books.create(name="B", provider=provider, protocol=protocol, lorebook=world)
        for part in range(12):
            studio.story.append(
                book,
                f"Part {part}. " + "The sea had been up since noon. " * 30,
                turn=Turn(instructions="On."),
            )


def _key(number: int, plain: str) -> str:
    """One key in ten is a regular expression."""
    return "/" + plain.replace(" ", r"\s+") + r"\b/i" if number % 10 == 0 else plain


def measure(page: Page, entries: int) -> list[float]:
    """Milliseconds from the keystroke to the frame after the verdict stood there, round by round."""
    found = []
    for number in range(ROUNDS):
        page.wait_for_timeout(900)
        wanted = number * 7 % entries
        found.append(page.evaluate(WATCH, [f"word{wanted}x", f"Entry {wanted}"]))
    return found


def browse(address: str, entries: int) -> list[float]:
    """Open the page at the lore tab and measure."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 860})
        page.goto(address)
        page.get_by_role("tab", name="Lore").click()
        page.get_by_role("button", name=f"all {entries:,}", exact=True).wait_for(timeout=60_000)
        page.get_by_role("button", name="fired", exact=False).click()
        found = measure(page, entries)
        browser.close()
    return found


def main(entries: int) -> None:
    """Print the median and the slowest."""
    with tempfile.TemporaryDirectory() as folder:
        furnish(Path(folder), entries)
        with served(Path(folder)) as app:
            found = browse(app.book(1), entries)
    median, slowest = statistics.median(found), max(found)
    print(
        f"{entries:,} entries, keystroke to repainted verdicts: median {median:.0f} ms, slowest {slowest:.0f} ms"
    )
    print(f"({len(found)} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
