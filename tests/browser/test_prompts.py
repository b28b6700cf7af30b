"""The prompts in the browser: a faulty template is found, mended, seen, saved, and used by the next prompt."""

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
        protocol = studio.protocols.create(name="Plain")
        book = studio.books.create(name="The Ferry", provider=provider, protocol=protocol)
        studio.story.append(book, "Ada waits at the quay.")
    return start_app()


def prompts(page: Page) -> Locator:
    page.keyboard.press("p")
    sheet = page.get_by_role("dialog", name="Prompts")
    expect(sheet).to_be_visible()
    return sheet


def again(page: Page) -> None:
    page.reload()
    page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
    page.wait_for_timeout(300)


def test_a_faulty_prompt_is_found_mended_previewed_saved_and_used(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    page.get_by_label("Instructions").fill("Row <b>home</b>.")
    page.wait_for_timeout(600)
    page.get_by_label("Instructions").blur()
    sheet = prompts(page)
    expect(sheet.get_by_role("region", name="Preview")).to_contain_text("Row <b>home</b>.")
    faults_are_found(sheet)
    again(page)
    typing_is_there_and_is_mended(prompts(page))
    again(page)
    page.keyboard.press("3")
    expect(page.get_by_text("Row <b>home</b>.|Row <b>home</b>.|THE FERRY").first).to_be_visible()
    sheet = prompts(page)
    the_default_comes_and_goes(sheet)
    sheet.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("button", name="Save, and go to the prompts").click()
    expect(sheet).to_be_visible()
    expect(sheet.get_by_text("What you typed and did not save is here again.")).to_be_visible()


FAULTY = "Write on: {{instructions}}\n{{#if povCharacter}}Told by 🜁 {{povCharakter}}"


def faults_are_found(sheet: Locator) -> None:
    editor = sheet.get_by_label("User prompt", exact=True)
    editor.fill(FAULTY)
    expect(sheet.get_by_text("is never closed")).to_be_visible()
    expect(editor).to_have_attribute("aria-invalid", "true")
    editor.press_sequentially("{{/if}} {% if x %}")
    fault = sheet.get_by_role("button", name="Nobody knows 'povCharakter'")
    expect(fault).to_contain_text("Line 2, column 33")
    expect(sheet.get_by_text("looks like Jinja")).to_be_visible()
    fault.click()
    assert editor.evaluate("(e) => e.value.slice(e.selectionStart, e.selectionStart + 12)") == "povCharakter"
    expect(sheet.get_by_text("Could print")).to_be_visible()


def typing_is_there_and_is_mended(sheet: Locator) -> None:
    editor, preview = (
        sheet.get_by_label("User prompt", exact=True),
        sheet.get_by_role("region", name="Preview"),
    )
    expect(editor).to_have_value(FAULTY + "{{/if}} {% if x %}")
    editor.fill("Write on: {{instructions}} ")
    sheet.get_by_label("Search names").fill("title of the book")
    sheet.get_by_label("Search names").press("Enter")
    expect(editor).to_have_value("Write on: {{instructions}} {{manuscriptName}}")
    expect(preview).to_have_text("Write on: Row <b>home</b>. The Ferry")
    expect(sheet.get_by_role("option", name="User prompt")).to_contain_text("not saved yet")
    sheet.get_by_label("Syntax").select_option("jinja")
    editor.fill("{% for each in [1, 2] %}{{ instructions }}|{% endfor %}{{ manuscriptName|upper }}")
    expect(preview).to_have_text("Row <b>home</b>.|Row <b>home</b>.|THE FERRY")
    sheet.get_by_role("button", name="Save to this book").click()
    expect(sheet.get_by_text("Saved to this book.")).to_be_visible()
    expect(sheet.get_by_role("option", name="User prompt")).to_contain_text("from this book")


def the_default_comes_and_goes(sheet: Locator) -> None:
    texts = sheet.get_by_role("listbox", name="Prompts")
    user_prompt = texts.get_by_role("option", name="User prompt")
    sheet.get_by_role("button", name="Back to what is built in").click()
    expect(user_prompt).to_contain_text("built in")
    sheet.get_by_role("button", name="Take it back").click()
    expect(user_prompt).to_contain_text("not saved yet")
    texts.get_by_role("option", name="Style").click()
    style = sheet.get_by_label("Style", exact=True)
    style.fill("like tide tables")
    style.press("Control+s")
    expect(texts.get_by_role("option", name="Style")).to_contain_text("from this book")
    expect(sheet.get_by_role("region", name="Preview")).to_contain_text("like tide tables")
    expect(user_prompt).to_contain_text("not saved yet")
