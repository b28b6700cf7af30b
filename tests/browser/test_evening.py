"""A whole evening without a mouse: a new book, its lore, six parts, versions, a branch, and everything after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Studio
from marginalia.testing import ScriptedServer, Stream
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

FOCUSED = "each => each.getRootNode().activeElement === each"
PARTS = ("The quay.", "The ferry came.", "Ada stepped in.", "Fog rose.", "A bell rang.", "They landed.")


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer().start()
    yield server
    server.stop()


@pytest.fixture
def app(tmp_path: Path, model: ScriptedServer, start_app: Callable[[], App]) -> App:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Scripted", base_url=model.base_url, model="m", max_context=4096, max_response=256
        )
        studio.books.create(name="Other", provider=provider, protocol=studio.protocols.create(name="Plain"))
    return start_app()


def tab_to(page: Page, target: Locator, *, back: bool = False) -> None:
    """Go there with Tab alone; fails where one cannot get to."""
    target.wait_for()
    for _ in range(60):
        if target.evaluate(FOCUSED):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    pytest.fail(f"Tab does not lead to {target}.")


def press(page: Page, target: Locator, *, back: bool = False) -> None:
    tab_to(page, target, back=back)
    page.keyboard.press("Enter")


def part(page: Page, number: int) -> Locator:
    return page.get_by_role("article", name=f"Part {number}", exact=True)


def write(page: Page, number: int, instructions: str) -> None:
    page.keyboard.type(instructions)
    page.keyboard.press("Control+Enter")
    expect(part(page, number)).to_contain_text(PARTS[number - 1])
    expect(page.get_by_label("Instructions")).to_have_value("")


def new_book(page: Page) -> None:
    page.keyboard.press("b")
    shelf = page.get_by_role("dialog", name="Books")
    press(page, shelf.get_by_role("button", name="New book"), back=True)
    page.keyboard.type("The Ferry")
    page.keyboard.press("Enter")
    expect(shelf).to_be_hidden()
    expect(page.get_by_label("Book", exact=True).locator("option:checked")).to_have_text("The Ferry")


def make_lore(page: Page) -> None:
    page.keyboard.press("l")
    shelf = page.get_by_role("dialog", name="Lorebooks")
    press(page, shelf.get_by_role("button", name="New lorebook"))
    name = shelf.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    page.keyboard.type("World")
    press(page, shelf.get_by_role("button", name="Save"))
    expect(shelf.get_by_role("listbox", name="Lorebooks").get_by_role("option", name="World")).to_be_visible()
    press(page, shelf.get_by_role("button", name="Use for this book"), back=True)
    expect(shelf.get_by_text("used by this book")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(page.get_by_role("tab", name="Lore", exact=True)).to_have_attribute("aria-selected", "true")
    page.wait_for_timeout(
        1000
    )  # the explorer turns to the new lorebook, and an opened form would go with the old one
    press(page, page.get_by_role("button", name="+ Entry"))
    entry = page.get_by_role("region", name="Lore entry")
    tab_to(page, entry.get_by_label("Name", exact=True))
    page.keyboard.type("Varro")
    tab_to(page, entry.get_by_role("textbox", name="Text", exact=True))
    page.keyboard.type("Varro keeps the ferry.")
    tab_to(page, entry.get_by_role("textbox", name="Key", exact=True))
    page.keyboard.type("varro")
    page.keyboard.press("Enter")
    press(page, entry.get_by_role("button", name="Save"))
    expect(
        page.get_by_role("listbox", name="Lore entries").get_by_role("option", name="Varro")
    ).to_be_visible()


def versions_and_a_branch(page: Page, model: ScriptedServer) -> None:
    model.script(Stream("They never landed."))
    page.keyboard.press("Alt+s")
    expect(part(page, 6)).to_contain_text("They never landed.")
    expect(part(page, 6)).to_contain_text("2/2")
    page.keyboard.press("Alt+ArrowLeft")
    expect(part(page, 6)).to_contain_text("They landed.")
    page.keyboard.press("Alt+ArrowUp")
    expect(part(page, 6)).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    expect(part(page, 5)).to_be_focused()
    choose(page, 5, "Branch Story")
    expect(part(page, 5)).to_contain_text("2/2")
    expect(page.get_by_role("article")).to_have_count(5)


def choose(page: Page, number: int, item: str) -> None:
    """From the menu of a part."""
    press(page, page.get_by_role("button", name=f"Menu of part {number}", exact=True))
    wanted = page.get_by_role("menuitem", name=item)
    for _ in range(15):
        if wanted.evaluate(FOCUSED):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def edit_and_undo(page: Page) -> None:
    page.keyboard.press("e")
    editor = page.get_by_label("Text of part 5")
    expect(editor).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("A gong rang.")
    page.keyboard.press("Control+Enter")
    expect(part(page, 5)).to_contain_text("A gong rang.")
    page.keyboard.press("Control+z")
    expect(part(page, 5)).to_contain_text("A bell rang.")
    page.keyboard.press("Control+Shift+z")
    expect(part(page, 5)).to_contain_text("A gong rang.")


def search(page: Page) -> None:
    page.keyboard.press("Control+f")
    expect(page.get_by_label("Search the story")).to_be_focused()
    page.keyboard.type("stepped")
    expect(page.get_by_role("listbox", name="Hits").get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search the story")).to_be_hidden()


def summarise(page: Page, model: ScriptedServer) -> None:
    model.script(Stream("Ada crosses with Varro."))
    page.keyboard.press("Alt+ArrowUp")
    choose(page, 4, "Summary")
    expect(page.get_by_role("region", name="Summaries")).to_contain_text("Ada crosses with Varro.")


def settings(page: Page) -> str:
    page.keyboard.press(",")
    sheet = page.get_by_role("dialog", name="Settings")
    tab_to(page, sheet.get_by_label("Size"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(sheet.get_by_text("kept")).to_be_visible()
    expect(sheet.get_by_text("by models.")).to_be_visible()
    page.keyboard.press("Escape")
    return size(page)


def size(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--mg-size')"))


def test_a_whole_evening_goes_by_keyboard_alone(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    new_book(page)
    make_lore(page)
    model.script(*(Stream(text) for text in PARTS))
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    expect(page.get_by_label("Instructions")).to_be_focused()
    for number in range(1, 7):
        write(page, number, "Varro comes." if number == 2 else "Go on.")
    assert "Varro keeps the ferry." in str(model.completions[1].body)
    page.keyboard.press("Escape")
    versions_and_a_branch(page, model)
    edit_and_undo(page)
    search(page)
    summarise(page, model)
    assert settings(page) == "20px"
    page.reload()
    expect(part(page, 5)).to_contain_text("A gong rang.")
    expect(page.get_by_role("article")).to_have_count(5)
    assert size(page) == "20px"
    assert model.unexpected == 0
