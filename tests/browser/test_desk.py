"""The desk around the story: what a person sets stays set, and every list is in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Studio
from tests.browser.conftest import App

pytestmark = pytest.mark.browser


@pytest.fixture
def app(tmp_path: Path, start_app: Callable[[], App]) -> App:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8192, max_response=256
        )
        book = studio.books.create(
            name="The Ferry", provider=provider, protocol=studio.protocols.create(name="Plain")
        )
        studio.story.append(book, "# The quay\n\nAda waits.")
        studio.story.append(book, "Nobody comes.\n\n## At night\n\nA bell.")
    return start_app()


def place(page: Page, name: str) -> Locator:
    page.get_by_role("button", name="Places").click()
    page.get_by_role("menuitem", name=name).click()
    return page.get_by_role("dialog", name=name)


def style(page: Page, name: str) -> str:
    return str(
        page.get_by_role("article").first.locator(".prose").evaluate(f"el => getComputedStyle(el).{name}")
    )


def read_the_welcome(page: Page) -> None:
    expect(page.get_by_role("note", name="Welcome")).to_be_visible()
    page.get_by_role("button", name="Write an instruction for me").click()
    expect(page.get_by_label("Instructions")).not_to_have_value("")
    page.get_by_role("button", name="Close the welcome").click()
    page.get_by_role("region", name="Story").focus()


def choose_looks(page: Page) -> None:
    page.keyboard.press(",")
    sheet = page.get_by_role("dialog", name="Settings")
    sheet.get_by_label("Sans").check()
    sheet.get_by_label("Dark").check()
    sheet.get_by_label("Size").fill("24")
    expect(sheet.get_by_text("Today: 10 words by hand")).to_be_visible()
    page.keyboard.press("Escape")
    page.wait_for_function(
        "getComputedStyle(document.documentElement).getPropertyValue('--mg-size') === '24px'"
    )
    assert style(page, "fontSize") == "24px"
    assert "Inter" in style(page, "fontFamily")


def test_what_a_person_sets_is_seen_at_once_and_after_a_reload(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    read_the_welcome(page)
    choose_looks(page)
    edge = page.get_by_role("separator", name="Width of the left side")
    edge.focus()
    edge.press("ArrowRight")
    edge.press("ArrowRight")
    page.get_by_role("button", name="Close contextbar").click()
    page.wait_for_timeout(1200)  # the sides are kept when nobody has moved them for a moment
    page.reload()
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    assert style(page, "fontSize") == "24px"
    expect(page.get_by_role("button", name="Open contextbar")).to_be_visible()
    expect(edge).to_have_attribute("aria-valuenow", "296")
    assert page.locator(".mui-dark").count()
    expect(page.get_by_role("note", name="Welcome")).to_be_hidden()

    page.keyboard.press("f")
    expect(page.get_by_role("banner")).to_be_hidden()
    expect(page.get_by_label("Scene Setting")).to_be_hidden()
    page.get_by_role("button", name="Leave focus").click()
    expect(page.get_by_role("banner")).to_be_visible()


def read_the_contents(page: Page) -> None:
    page.keyboard.press("c")
    contents = page.get_by_role("dialog", name="Contents")
    expect(contents.get_by_role("button", name="At night")).to_be_visible()
    contents.get_by_role("button", name="The quay").press("Enter")
    expect(contents).to_be_hidden()


def change_models(page: Page) -> None:
    models = place(page, "Models")
    listed = models.get_by_role("listbox", name="Models").get_by_role("option")
    listed.filter(has_text="Nobody").click()
    models.get_by_role("button", name="Duplicate").click()
    copy = listed.filter(has_text="Nobody (copy)")
    expect(copy).to_have_attribute("aria-selected", "true")
    models.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog", name="Nobody (copy)")
    form.get_by_label("Name", exact=True).fill("Somebody")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("Saved.")).to_be_visible()
    form.get_by_role("button", name="Close").click()
    models.get_by_label("Search models").fill("SOMEBODY")
    expect(listed).to_have_count(1)
    models.get_by_role("button", name="Delete Somebody").click()
    models.get_by_role("button", name="Take it back").click()
    expect(listed.filter(has_text="Somebody")).to_be_visible()
    models.get_by_role("button", name="Close").click()


def test_chapters_models_and_copies_are_each_in_their_place(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    read_the_contents(page)
    change_models(page)
    copies = place(page, "Copies")
    copies.get_by_role("button", name="Take a copy now").click()
    expect(copies.get_by_text("Taken and checked")).to_be_visible(timeout=30_000)
    copies.get_by_role("button", name="Show the books in it").click()
    copies.get_by_role("button", name="Bring back The Ferry").click(timeout=30_000)
    expect(copies.get_by_text("is among your books")).to_be_visible(timeout=30_000)
    copies.get_by_role("button", name="Close").click()
    expect(page.get_by_label("Book", exact=True).get_by_role("option", name="The Ferry (")).to_have_count(1)
