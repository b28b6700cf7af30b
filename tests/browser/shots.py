"""Pictures of the running app: ``python tests/browser/shots.py FOLDER [ADDRESS]``; wide and narrow, light and dark."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {1400: 860, 900: 860, 420: 860}


def ready(page: Page) -> None:
    """Wait until the page is built and the story is in it."""
    page.wait_for_function(
        "window.Bokeh && Bokeh.index.roots && [...Bokeh.index.roots].some((root) => root.is_idle)"
    )
    page.get_by_role("button", name="Generate", exact=True).wait_for()
    page.wait_for_timeout(900)


def main(folder: Path, address: str) -> None:
    """Make the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        for width, theme in product(SIZES, ("light", "dark")):
            page = browser.new_page(viewport={"width": width, "height": SIZES[width]})
            page.on(
                "console", lambda said: print(said.type, said.text[:300]) if said.type == "error" else None
            )
            page.on("pageerror", lambda error: print("pageerror", str(error)[:600]))
            page.goto(address + ("?theme=dark" if theme == "dark" else ""))
            ready(page)
            page.screenshot(path=folder / f"studio-{width}-{theme}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:5190/app")
