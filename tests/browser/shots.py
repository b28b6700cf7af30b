"""Pictures of every page and dialog of a running app: ``python -m tests.browser.shots FOLDER [ADDRESS [PAGE …]]``.

Wide, middle and narrow (there with fingers), light and dark; for people who look whether it is beautiful. The address
may name a book: ``http://127.0.0.1:5190/app?book=1``.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM
from tests.browser.pages import PAGES, WITHIN, leave

TELEPHONE = 420
WIDTHS = (1400, 900, TELEPHONE)


def load(page: Page, address: str, theme: str) -> None:
    """Wait until the page is built and the story is in it."""
    page.goto(f"{address}{'&' if '?' in address else '?'}theme={theme}")
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    page.wait_for_timeout(900)


def main(folder: Path, address: str, names: list[str]) -> None:
    """Make the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    every = {**PAGES, **WITHIN}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for width, theme in product(WIDTHS, ("light", "dark")):
            page = browser.new_page(viewport={"width": width, "height": 860}, has_touch=width <= TELEPHONE)
            page.on("pageerror", lambda error: print("pageerror", str(error)[:600]))
            load(page, address, theme)
            for name in names or every:
                every[name](page)
                page.wait_for_timeout(400)
                page.screenshot(path=folder / f"{name.replace(' ', '-')}-{width}-{theme}.png")
                if name in WITHIN:
                    load(page, address, theme)
                leave(page)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:5190/app", sys.argv[3:])
