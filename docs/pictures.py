"""Takes the README's pictures from the running app: ``python -m docs.pictures``; needs Chromium and Playwright.

It serves the app on a home folder of its own, writes a few parts into the sample book, and looks. ``CHROMIUM`` names
the browser, a folder as argument another place for the pictures.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM, served
from marginalia import Studio, TextFilter, Turn
from marginalia.store import plant_sample
from marginalia.ui.preferences import welcome_no_more

HERE = Path(__file__).parent / "pictures"
MOST_BYTES = 150_000
_WITH_SIDES = 900
_BETWEEN = "\n\n=====\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture: the window's width and height, its colours, and how to get to what it shows."""

    width: int
    height: int
    theme: str
    go: Callable[[Page], None]


def _lore(page: Page) -> None:
    page.get_by_role("tab", name="Lore", exact=True).click()
    page.get_by_label("Instructions").fill("Elias asks whether she has looked into the boat.")
    page.get_by_role("listbox", name="Lore entries").get_by_role("option").first.click()


def _prompt(page: Page) -> None:
    page.get_by_role("tab", name="Prompt", exact=True).click()
    page.get_by_role("tab", name="Tree", exact=True).click()


PICTURES: Mapping[str, Picture] = {
    "studio": Picture(width=1400, height=860, theme="light", go=lambda _: None),
    "lore": Picture(width=1400, height=860, theme="light", go=_lore),
    "prompt": Picture(width=1400, height=860, theme="dark", go=_prompt),
    "phone": Picture(width=420, height=800, theme="light", go=lambda _: None),
}


def furnish(home: Path) -> None:
    """A home folder with the sample book, gone on with."""
    with Studio(home / "marginalia.db") as studio:
        plant_sample(studio._store)  # noqa: SLF001 - a database that is named gets no sample by itself
        book = studio.books.all()[0]
        turn = Turn(
            scene_setting="The lamp room, night", pov_character="Mara", present_characters="Mara, Elias"
        )
        for text in (HERE / "story.txt").read_text("utf-8").strip().split(_BETWEEN):
            last = studio.story.append(book, text, turn=turn)
        studio.story.fork(last)
        world = studio.lorebooks.all()[-1]
        studio.lorebooks.add_entry(
            world,
            name="The logbook",
            payload="The logbook is written in two hands.",
            filter=TextFilter("logbook"),
        )
        welcome_no_more(studio)


def take(browser: Browser, url: str, picture: Picture) -> bytes:
    """The picture as a PNG of few colours."""
    page = browser.new_page(viewport={"width": picture.width, "height": picture.height})
    page.goto(f"{url}?theme={picture.theme}")
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    if picture.width >= _WITH_SIDES:
        page.get_by_text("of 8,192 tokens").wait_for()
        page.get_by_role("listbox", name="Outline").get_by_text("The logbook").wait_for()
    picture.go(page)
    page.wait_for_timeout(1500)
    shot = page.screenshot()
    page.close()
    kept = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(256).save(kept, "PNG", optimize=True)
    return kept.getvalue()


def main(folder: Path, names: Collection[str] = ()) -> None:
    """Take all of them, or those with *names*."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        furnish(Path(home))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        with served(Path(home)) as app:
            for name in names or PICTURES:
                (folder / f"{name}.png").write_bytes(take(browser, app.url, PICTURES[name]))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
