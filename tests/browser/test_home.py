"""The books and the extensions in the browser: everything a person does with a whole book, and the author's note."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Studio
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.pwned=1">'


@pytest.fixture
def app(tmp_path: Path, start_app: Callable[[], App]) -> App:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8192, max_response=256
        )
        protocol = studio.protocols.create(name="Plain")
        studio.books.create(name=HOSTILE, tags=(HOSTILE,), provider=provider, protocol=protocol)
        book = studio.books.create(name="The Ferry", tags=("rowing",), provider=provider, protocol=protocol)
        studio.story.append(book, "Ada waits at the quay.")
    return start_app()


def books(page: Page) -> Locator:
    page.keyboard.press("b")
    shelf = page.get_by_role("dialog", name="Books")
    expect(shelf).to_be_visible()
    return shelf


def test_a_book_is_made_copied_found_exported_deleted_and_comes_back(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(2))
    shelf = books(page)
    shelf.get_by_role("button", name="New book").click()
    shelf.get_by_label("Name of the new book").fill("Nine Winters")
    shelf.get_by_label("Name of the new book").press("Enter")
    expect(shelf).to_be_hidden()
    chosen = page.get_by_label("Book", exact=True).locator("option:checked")
    expect(chosen).to_have_text("Nine Winters")

    page.get_by_label("Book", exact=True).select_option(label="All books…")
    shelf.get_by_label("Search books").fill("ROWING")
    expect(shelf.get_by_role("listbox", name="Books").get_by_role("option")).to_have_count(1)
    shelf.get_by_role("listbox", name="Books").get_by_role("option", name="The Ferry").click()
    shelf.get_by_role("button", name="Duplicate").click()
    copy = shelf.get_by_role("listbox", name="Books").get_by_role("option", name="The Ferry (copy)")
    expect(copy).to_have_attribute("aria-selected", "true")

    written = exported(page, shelf)
    assert "Ada waits at the quay." in written
    assert "Ada Rower" in written

    shelf.get_by_role("button", name="Delete book").click()
    expect(copy).to_have_count(0)
    shelf.get_by_text("Trash (1)").click()
    shelf.get_by_role("button", name="Restore The Ferry (copy)").click()
    expect(copy).to_be_visible()
    shelf.get_by_role("button", name="Open", exact=True).click()
    expect(chosen).to_have_text("The Ferry (copy)")
    expect(page.get_by_text("Ada waits at the quay.").first).to_be_visible()
    assert page.evaluate("window.pwned") is None


def processor_seconds(app: App) -> float:
    """How long the server's process has worked until now."""
    process = app._process
    assert process is not None
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exported(page: Page, shelf: Locator) -> str:
    shelf.get_by_label("Format").select_option("md")
    shelf.get_by_text("What of it, and how").click()
    shelf.get_by_label("From part").fill("two")
    shelf.get_by_role("button", name="Export").click()
    expect(shelf.get_by_role("alert")).to_contain_text("is no number of a part")
    shelf.get_by_label("From part").fill("1")
    shelf.get_by_label("Author").fill("Ada Rower")
    with page.expect_download() as coming:
        shelf.get_by_role("button", name="Export").click()
    assert coming.value.suggested_filename.endswith(".md")
    return coming.value.path().read_text()


def test_a_backup_goes_out_is_looked_into_and_takes_the_book_back(
    app: App, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(app.book(2))
    shelf = books(page)
    with page.expect_download() as coming:
        shelf.get_by_role("button", name="Download backup").click()
    file = tmp_path / coming.value.suggested_filename
    coming.value.save_as(file)
    shelf.get_by_label("Name of the book").fill("Spoilt")
    shelf.get_by_role("button", name="Rename").click()
    expect(shelf.get_by_role("listbox", name="Books").get_by_role("option", name="Spoilt")).to_be_visible()
    shelf.get_by_label("Backup to go back to").set_input_files(file)
    expect(shelf.get_by_text("The backup of 'The Ferry'")).to_be_visible()
    shelf.get_by_role("button", name="Replace the book").click()
    expect(shelf.get_by_role("listbox", name="Books").get_by_role("option", name="The Ferry")).to_be_visible()

    broken = tmp_path / "broken.json"
    broken.write_text('{"no": "story"}')
    shelf.get_by_label("Stories, cards or backups").set_input_files([file, broken])
    report = shelf.get_by_role("group", name="What came of the files")
    expect(report).to_contain_text("is a book again")
    expect(report.locator(".refused")).to_contain_text("broken.json")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads how long a process worked from /proc")
def test_an_export_that_takes_long_says_how_far_it_is_and_ends_with_stop(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db", extensions=()) as studio:
        book = studio.books.create(name="The Long Row")
        studio.story.append(book, "\n\n".join(["Ada rows on, and the quay is far behind. " * 12] * 600))
    app = start_app()
    page = open_page(app.book(1))
    page.get_by_role("region", name="Story").focus()
    shelf = books(page)
    shelf.get_by_label("Format").select_option("pdf")
    shelf.get_by_role("button", name="Export").click()
    expect(shelf.get_by_text(re.compile(r"writing… \d+ %, \d+ s"))).to_be_visible()
    shelf.get_by_role("button", name="Stop", exact=True).click()
    expect(shelf.get_by_text("Stopped; nothing was sent.")).to_be_visible()
    page.wait_for_timeout(1500)
    before = processor_seconds(app)
    page.wait_for_timeout(1500)
    assert processor_seconds(app) - before < 0.7  # its thread has ended, too
    shelf.get_by_label("Format").select_option("txt")
    with page.expect_download() as coming:
        shelf.get_by_role("button", name="Export").click()
    assert "Ada rows on" in coming.value.path().read_text()


def test_another_book_opens_when_the_open_one_is_deleted(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(2))
    shelf = books(page)
    shelf.get_by_role("button", name="Delete book").click()
    expect(shelf.get_by_text("Trash (1)")).to_be_visible()
    expect(page.get_by_label("Book", exact=True).locator("option:checked")).not_to_have_text("The Ferry")
    shelf.get_by_text("Trash (1)").click()
    shelf.get_by_role("button", name="Restore The Ferry").click()
    expect(shelf.get_by_role("listbox", name="Books").get_by_role("option", name="The Ferry")).to_be_visible()


def test_the_authors_note_is_written_and_stands_in_the_budget(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(2))
    page.get_by_role("button", name="Places").click()
    page.get_by_role("menuitem", name="Extensions").click()
    shelf = page.get_by_role("dialog", name="Extensions")
    note = shelf.get_by_role("region", name="Author's note")
    note.get_by_label("Text").fill("It rains all day, and nobody says so.")
    note.get_by_role("button", name="Save").click()
    expect(note.get_by_text("Saved.")).to_be_visible()
    expect(note.get_by_text("before the request")).to_be_visible()
    shelf.get_by_role("button", name="Close").click()
    budget = page.get_by_role("tabpanel", name="Budget")
    expect(budget.get_by_text("inserts", exact=True)).to_be_visible()

    page.reload()
    page.get_by_role("tab", name="Panels").click()
    panels = page.get_by_role("tabpanel", name="Panels")
    expect(panels.get_by_label("Text")).to_have_value("It rains all day, and nobody says so.")
    tests = panels.get_by_role("region", name="Lore tests")
    tests.get_by_label("Entry").fill("Nobody")
    tests.get_by_role("button", name="Save").click()
    expect(tests.get_by_text("There is no entry 'Nobody' in the lore of this book.")).to_be_visible()
    panels.get_by_role("button", name="Extensions…").click()
    expect(note.get_by_label("Text")).to_have_value("It rains all day, and nobody says so.")
    shelf.get_by_role("checkbox", name="Author's note").uncheck()
    expect(note).to_be_hidden()
    shelf.get_by_role("button", name="Close").click()
    expect(panels.get_by_role("region", name="Author's note")).to_have_count(0)
    page.get_by_role("tab", name="Budget").click()
    expect(budget.get_by_text("inserts", exact=True)).to_have_count(0)


def test_when_the_last_book_is_deleted_it_can_still_be_taken_back(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(2))
    shelf = books(page)
    listed = shelf.get_by_role("listbox", name="Books").get_by_role("option")
    for left in (2, 1, 0):
        shelf.get_by_role("button", name="Delete book").click()
        expect(listed).to_have_count(left)
    page.get_by_role("dialog", name="New book").get_by_role("button", name="Close").click()
    shelf.get_by_text("Trash (3)").click()
    shelf.get_by_role("button", name="Restore The Ferry").click()
    expect(listed).to_have_count(1)
    shelf.get_by_role("button", name="Write on").click()
    expect(page.get_by_text("Ada waits at the quay.").first).to_be_visible()
