"""Every page and sheet, light and dark: axe finds nothing serious, and no other host is asked for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Page

from marginalia import Studio, TextFilter, Turn
from tests.browser.conftest import App
from tests.browser.pages import PAGES, leave

pytestmark = pytest.mark.browser

RUN = """() => axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .flatMap(({ id, nodes }) => nodes.map((each) => `${id}: ${each.html.slice(0, 99)} ${each.any[0]?.message}`)))"""
SMALL = """() => {
  const PRESSED = "button, summary, select, [role=tab], [role=menuitem]", roots = []
  const walk = (root) => {
    roots.push(root)
    for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) walk(shadowRoot)
  }
  walk(document)
  return roots.flatMap((root) => [...root.querySelectorAll(PRESSED)])
    .filter((el) => el.checkVisibility({ visibilityProperty: true }))
    .map((el) => ({ at: el.getBoundingClientRect(), name: el.ariaLabel ?? el.textContent.trim().slice(0, 40) }))
    .filter(({ at }) => at.height && (at.height < 39 || at.left > innerWidth))
    .map(({ at, name }) => `${name}: ${Math.round(at.width)} x ${Math.round(at.height)} at ${Math.round(at.left)}`)
}"""
NARROW = (
    "studio",
    "places",
    "tree",
    "lore",
    "books",
    "settings",
)  # where being narrow or dark makes a difference

TELEPHONE = 600  # pixels; narrower than that, fingers press


@pytest.fixture
def app(tmp_path: Path, start_app: Callable[[], App]) -> Iterator[App]:
    with Studio(tmp_path / "marginalia.db") as studio:
        furnish(studio)
    return start_app()


def furnish(studio: Studio) -> None:
    provider = studio.providers.create(
        name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8192, max_response=256
    )
    protocol = studio.protocols.create(name="Plain", temperature=0.8)
    world = studio.lorebooks.create(name="World")
    studio.lorebooks.add_entry(
        world, name="Varro", payload="Varro keeps the ferry.", filter=TextFilter("ada")
    )
    book = studio.books.create(
        name="The Ferry, or what the woman at the quay was waiting for all those years",
        provider=provider,
        protocol=protocol,
        lorebook=world,
        tags=("sea",),
    )
    turn = Turn(scene_setting="The quay", pov_character="Ada", present_characters="Ada")
    first = studio.story.append(book, "# The quay\n\nAda waits, and *nobody* comes.", turn=turn)
    studio.story.fork(first)
    studio.story.append(book, "The bell rang once.", turn=turn)
    studio.books.delete(studio.books.create(name="Gone"))


@pytest.mark.parametrize(
    ("width", "theme", "pages"),
    [(1400, "light", tuple(PAGES)), (420, "dark", NARROW)],
    ids=["wide", "narrow"],
)
def test_no_page_has_a_serious_fault_for_who_cannot_see_or_point_or_has_a_finger_only(
    app: App, open_page: Callable[..., Page], width: int, theme: str, pages: tuple[str, ...]
) -> None:
    page = open_page(f"{app.url}?theme={theme}", width=width)
    page.add_script_tag(path=AXE_FILE_PATH)
    faults: dict[str, str] = {}
    for name in pages:
        PAGES[name](page)
        for fault in page.evaluate(RUN) + (page.evaluate(SMALL) if width < TELEPHONE else []):
            faults.setdefault(fault, name)
        leave(page)
    assert faults == {}
