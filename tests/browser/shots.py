"""Pictures of every page of a running app: ``python -m tests.browser.shots FOLDER [ADDRESS [PAGE …]]``.

Wide, middle and narrow, light and dark; for people who look whether it is beautiful.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM
from tests.browser.pages import PAGES, leave

WIDTHS = (1400, 900, 420)


def ready(page: Page) -> None:
    """Wait until the page is built and the story is in it."""
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    page.wait_for_timeout(900)


def main(folder: Path, address: str, names: list[str]) -> None:
    """Make the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for width, theme in product(WIDTHS, ("light", "dark")):
            page = browser.new_page(viewport={"width": width, "height": 860})
            page.on("pageerror", lambda error: print("pageerror", str(error)[:600]))
            page.goto(f"{address}?theme={theme}")
            ready(page)
            for name in names or PAGES:
                PAGES[name](page)
                page.wait_for_timeout(400)
                page.screenshot(path=folder / f"{name.replace(' ', '-')}-{width}-{theme}.png")
                leave(page)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:5190/app", sys.argv[3:])
