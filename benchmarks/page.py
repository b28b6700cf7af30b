"""From the address to the first text, beside a bare page of the same parts; and opening a long book beside a short one.

``python -m benchmarks.page [ROUNDS]`` serves the app and a page of panel-material-ui with one line of text from one
process, on a home of its own, and loads them in turn in one Chromium with a warm cache. The story's text counts in the
app, the line in the other. The difference should be at most 0.5 s; a book of 1,000 parts should open as fast as one
of 10, by its address and by choosing it in the page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM, served
from marginalia import Studio, Turn
from marginalia.ui.preferences import welcome_no_more

SIZES = (10, 1000)
BARE = """
import panel as pn
from panel_material_ui.template.base import Page

pn.extension()
Page(title="Bare", main=[pn.pane.Markdown("The first text.")]).servable()
"""
LIVE = "!document.getElementById('mg-first')"
SEEN = """(text) => {
  const find = (root) => { for (const el of root.querySelectorAll("p")) if (el.textContent.includes(text)) return true
    for (const el of root.querySelectorAll("*")) if (el.shadowRoot && find(el.shadowRoot)) return true
    return false }
  return find(document)
}"""


def furnish(home: Path) -> None:
    """A book of each size; the last part of each says which it is."""
    with Studio(home / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8192, max_response=512
        )
        protocol = studio.protocols.create(name="Plain")
        for size in SIZES:
            book = studio.books.create(name=f"Of {size}", provider=provider, protocol=protocol)
            for number in range(1, size + 1):
                text = f"Part {number} of {size}. " + "The sea had been up since noon. " * 40
                studio.story.append(book, text, turn=Turn(instructions="On."), tokens=300)
        welcome_no_more(studio)


def load(page: Page, address: str, text: str) -> float:
    """Seconds from the address to the frame with the text."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function(SEEN, arg=text, polling="raf", timeout=60_000)
    return time.perf_counter() - began


def choose(page: Page, size: int) -> float:
    """Seconds from choosing a book in the page, when that is there, to the frame with its last part."""
    page.wait_for_function(LIVE, polling="raf", timeout=60_000)
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    page.wait_for_timeout(1000)
    began = time.perf_counter()
    page.get_by_label("Book", exact=True).select_option(label=f"Of {size}")
    page.wait_for_function(SEEN, arg=f"Part {size} of {size}.", polling="raf", timeout=60_000)
    return time.perf_counter() - began


def measure(page: Page, address: str, rounds: int) -> Mapping[str, list[float]]:
    """All figures, the pages in turn, so that a busy machine slows all of them alike."""
    short, long = SIZES
    loads: dict[str, Callable[[], float]] = {
        "bare page": lambda: load(page, f"{address}/bare", "The first text."),
        f"app, {short} parts": lambda: load(page, f"{address}/app?book=1", f"Part {short} of {short}."),
        f"app, {long} parts": lambda: load(page, f"{address}/app?book=2", f"Part {long} of {long}."),
        f"choosing {short} parts": lambda: choose(page, short),
        f"choosing {long} parts": lambda: choose(page, long),
    }
    found: dict[str, list[float]] = {name: [] for name in loads}
    for at in range(rounds + 1):
        for name, look in loads.items():
            took = look()
            if at:  # the first round fills the caches
                found[name].append(took)
    return found


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        furnish(Path(home))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 860})
        bare = Path(home) / "bare.py"
        bare.write_text(BARE)
        with served(Path(home), str(bare)) as app:
            found = measure(page, app.address, rounds)
        browser.close()
    middle = {name: statistics.median(times) for name, times in found.items()}
    for name, times in found.items():
        print(f"{name:22} {middle[name]:6.2f} s   (from {min(times):.2f} to {max(times):.2f})")
    bare, short, long, few, many = middle.values()
    print(f"first text after the bare page: {short - bare:+.2f} s")
    print(f"1,000 parts beside 10: loading x{long / short:.2f}, choosing x{many / few:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
