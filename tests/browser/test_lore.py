"""Lore in the browser: why an entry is in or not, while one types; the replay; lorebooks that come in from files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Match, Pattern, Studio, TextFilter, Turn
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

WORLD_INFO = {
    "name": "Harbour",
    "entries": {
        "0": {"uid": 0, "key": ["quay"], "content": "The quay is old.", "comment": "Quay", "constant": False},
        "1": {"uid": 1, "key": [], "content": "Gulls.", "comment": "Gulls", "constant": True, "vectorized": True},
    },
}  # fmt: skip
ENTRIES = 1_000


@pytest.fixture
def app(tmp_path: Path, start_app: Callable[[], App]) -> App:
    return furnished(tmp_path, start_app)


def furnished(home: Path, start_app: Callable[[], App], *, more: int = 0) -> App:
    with Studio(home / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Nobody", base_url="http://127.0.0.1:9/v1", model="m", max_context=8192, max_response=256
        )
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(world, name="Varro", payload="He rows.", filter=TextFilter("varro"))
        studio.lorebooks.add_entry(
            world, name="Bell", payload="It rings by itself.", match=Match(any=(Pattern(text="bell"),))
        )
        for number in range(more):
            key = Pattern(text=f"word{number}", whole_word=True)
            studio.lorebooks.add_entry(world, name=f"Entry {number}", payload="…", match=Match(any=(key,)))
        protocol = studio.protocols.create(name="Plain")
        book = studio.books.create(name="The Ferry", provider=provider, protocol=protocol, lorebook=world)
        for instructions in ("Ada waits.", "Varro comes.", "The gong sounds."):
            studio.story.append(book, f"{instructions} So it was.", turn=Turn(instructions=instructions))
    return start_app()


def open_lore(page: Page) -> None:
    page.get_by_role("tab", name="Lore").click()
    expect(row(page, "Bell")).to_be_visible()


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("listbox", name="Lore entries").get_by_role("option", name=name)


def dialog(page: Page) -> Locator:
    page.get_by_role("button", name="Lorebooks", exact=True).click()
    return page.get_by_role("dialog", name="Lorebooks")


def test_an_entry_is_explained_while_one_types_and_the_map_follows_a_key(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    open_lore(page)
    page.get_by_label("Instructions").press_sequentially("Varro comes, and a gong sounds.", delay=10)
    expect(row(page, "Varro")).to_contain_text("in:")
    expect(page.get_by_label("Scanned text").locator("mark", has_text="Varro")).to_be_visible()

    bell = row(page, "Bell")
    expect(bell).to_contain_text("not:")
    bell.click()
    entry = page.get_by_role("region", name="Lore entry")
    expect(entry.locator(".verdict")).to_contain_text("bell")
    page.get_by_role("button", name="Replay", exact=True).click()
    replay = page.locator(".replay [role=status]")
    expect(replay).to_contain_text("3 parts, 2 entries; 1 never in, 0 always.")

    entry.get_by_role("textbox", name="Key", exact=True).fill("gong")
    entry.get_by_role("textbox", name="Key", exact=True).press("Enter")
    expect(entry.get_by_role("button", name="Key gong", exact=True)).to_be_visible()
    expect(bell).to_contain_text("in:")
    expect(page.get_by_label("Scanned text").locator("mark.mine")).to_have_text("gong")
    expect(replay).to_contain_text("0 never in")
    entry.get_by_role("button", name="Save").click()
    expect(entry).to_be_hidden()
    expect(bell).to_contain_text("in:")
    page.reload()
    page.get_by_role("tab", name="Lore").click()
    row(page, "Bell").click()
    expect(entry.get_by_role("button", name="Key gong", exact=True)).to_be_visible()


def test_an_expression_that_cannot_be_read_is_named_in_the_editor(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    open_lore(page)
    row(page, "Varro").click()
    entry = page.get_by_role("region", name="Lore entry")
    entry.get_by_label("Regular expression", exact=True).check()
    entry.get_by_label("Called by").fill("(varro")
    expect(entry.get_by_text("so it never matches")).to_be_visible()


def test_a_pasted_text_and_a_part_can_be_looked_at(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    open_lore(page)
    page.get_by_label("Scanned", exact=True).select_option("pasted")
    page.get_by_label("Pasted text").fill("Far off, a bell.")
    expect(row(page, "Bell")).to_contain_text("in:")
    page.get_by_label("Scanned", exact=True).select_option("part")
    page.get_by_label("Part", exact=True).fill("2")
    expect(row(page, "Varro")).to_contain_text("in:")
    expect(row(page, "Bell")).to_contain_text("not:")


def test_a_file_comes_in_with_its_report_and_a_circle_is_refused(
    app: App, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    good, bad = tmp_path / "harbour.json", tmp_path / "broken.json"
    good.write_text(json.dumps(WORLD_INFO))
    bad.write_text('{"entries": ')
    page = open_page(app.book(1))
    open_lore(page)
    shelf = dialog(page)
    shelf.get_by_label("Files to import").set_input_files([good, bad])
    expect(shelf.get_by_role("group", name="Report of harbour.json")).to_contain_text("harbour")
    expect(shelf.get_by_role("group", name="Report of broken.json")).to_contain_text("broken.json")
    shelf.get_by_role("button", name="Close the reports").click()

    books = shelf.get_by_role("listbox", name="Lorebooks")
    books.get_by_role("option", name="World").click()
    shelf.get_by_label("Put a lorebook below this one").select_option(label="Harbour")
    expect(shelf.get_by_role("button", name="Take out harbour")).to_be_visible()
    books.get_by_role("option", name="harbour").click()
    shelf.get_by_label("Put a lorebook below this one").select_option(label="World")
    expect(shelf.get_by_role("alert").first).to_contain_text("would hold each other")

    shelf.get_by_label("Format").select_option("marginalia")
    with page.expect_download() as coming:
        shelf.get_by_role("button", name="Export").click()
    assert b"The quay is old." in coming.value.path().read_bytes()
    shelf.get_by_role("button", name="Delete lorebook").click()
    shelf.get_by_text("Trash (1)").click()
    shelf.get_by_role("button", name="Restore harbour").click()
    expect(books.get_by_role("option", name="harbour")).to_be_visible()


def test_a_key_is_answered_by_a_thousand_verdicts_at_once(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    page = open_page(furnished(tmp_path, start_app, more=ENTRIES).book(1))
    open_lore(page)
    instructions = page.get_by_label("Instructions")
    instructions.fill("warm up")
    page.wait_for_timeout(900)
    began = time.perf_counter()
    instructions.fill("word999")
    page.get_by_role("button", name="fired 1", exact=True).wait_for()
    assert time.perf_counter() - began < 2


def test_many_entries_are_changed_at_once_and_back_and_go_into_a_folder(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    open_lore(page)
    page.get_by_role("button", name="Select", exact=True).click()
    page.get_by_role("button", name="all shown", exact=True).click()
    chosen = page.get_by_role("group", name="The chosen entries")
    chosen.get_by_role("button", name="off", exact=True).click()
    expect(row(page, "Varro")).to_contain_text("switched off")
    expect(row(page, "Bell")).to_contain_text("switched off")
    undo = page.get_by_role("button", name="Undo the change of entries")
    expect(page.get_by_text("2 entries switched off.")).to_be_visible()
    undo.click()
    expect(page.get_by_text("2 entries as before.")).to_be_visible()
    expect(row(page, "Varro")).not_to_contain_text("switched off")

    row(page, "Varro").click()
    chosen.get_by_label("Move to").select_option(label="a new folder…")
    chosen.get_by_label("Name of the new folder").fill("Harbour")
    chosen.get_by_label("Name of the new folder").press("Enter")
    expect(page.get_by_text("1 entry moved to 'Harbour'.")).to_be_visible()
    folder = page.get_by_label("Folder", exact=True)
    folder.select_option(index=2)
    expect(row(page, "Bell")).to_be_visible()
    expect(row(page, "Varro")).to_be_hidden()
    folder.select_option(label="World")
    expect(row(page, "Varro")).to_be_visible()


def test_a_lorebook_that_the_book_does_not_use_is_explored(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    open_lore(page)
    page.get_by_label("Instructions").fill("Waves under the lighthouse, and a bell.")
    shelf = dialog(page)
    shelf.get_by_role("listbox", name="Lorebooks").get_by_role("option", name="The Sea").click()
    shelf.get_by_role("button", name="Explore", exact=True).click()
    expect(page.get_by_text("Trying out The Sea")).to_be_visible()
    entries = page.get_by_role("listbox", name="Lore entries").get_by_role("option")
    expect(entries).to_have_count(4)
    page.get_by_label("Scanned", exact=True).select_option("pasted")
    first = entries.first.locator(".name").inner_text()
    page.get_by_label("Pasted text").fill("Nothing of the kind.")
    expect(entries.first).to_contain_text("not:")
    entries.first.click()
    entry = page.get_by_role("region", name="Lore entry")
    entry.get_by_label("Called by").fill("kind")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.locator(".replay [role=status]")).to_contain_text("3 parts, 4 entries")
    entry.get_by_role("button", name="Save").click()
    expect(entry).to_be_hidden()
    expect(entries.filter(has_text=first)).to_contain_text("in:")
    page.get_by_role("button", name="Back to this book's lore").click()
    expect(row(page, "Bell")).to_be_visible()
    expect(page.get_by_text("Trying out")).to_be_hidden()
