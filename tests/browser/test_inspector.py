"""A person asks what the model is sent, why, and what would be different."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from marginalia import Studio, TextFilter
from marginalia.testing import ScriptedServer, Stream
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.pwned=1">'
PARTS = 12


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer().start()
    yield server
    server.stop()


@pytest.fixture
def app(tmp_path: Path, model: ScriptedServer, start_app: Callable[[], App]) -> App:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Scripted", base_url=model.base_url, model="m", max_context=2048, max_response=256
        )
        protocol = studio.protocols.create(name="Plain")
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(
            world, name="Varro", payload=f"Varro keeps the ferry. {HOSTILE}", filter=TextFilter("varro")
        )
        studio.lorebooks.add_entry(
            world, name=f"Salt {HOSTILE}", payload="Salt is money. " * 8, filter=TextFilter("salt")
        )
        book = studio.books.create(name="The Ferry", provider=provider, protocol=protocol, lorebook=world)
        for number in range(1, PARTS + 1):
            studio.story.append(book, f"This is part {number}. {HOSTILE} " + "Ada waited at the quay. " * 20)
    return start_app()


def write(page: Page, model: ScriptedServer, instructions: str) -> None:
    """Have the 13th part written."""
    model.script(Stream("The bell rang."))
    page.get_by_label("Instructions").fill(instructions)
    page.get_by_role("button", name="Generate", exact=True).click()
    part = page.get_by_role("article", name=f"Part {PARTS + 1}", exact=True)
    expect(part.get_by_role("button", name="Swipe")).to_be_visible()
    expect(part).to_contain_text("The bell rang.")
    expect(page.get_by_role("button", name="Generate", exact=True)).to_be_enabled()


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def from_menu(page: Page, name: str) -> None:
    """Choose something in the menu of the 13th part."""
    part = page.get_by_role("article", name=f"Part {PARTS + 1}", exact=True)
    part.hover()
    part.get_by_role("button", name=f"Menu of part {PARTS + 1}").click()
    page.get_by_text(name).click()


def test_a_what_if_moves_the_picture_and_changes_nothing_until_it_is_kept(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    expect(page.get_by_text("of 2,048 tokens")).to_be_visible()
    page.get_by_text("What if", exact=True).click()
    expect(page.get_by_text("12 of 12 parts").first).to_be_visible()  # the curve, from 4k on
    exact = page.get_by_label("Context, exact")
    exact.fill("8192")
    exact.press("Tab")
    expect(page.get_by_text("of 8,192 tokens")).to_be_visible()
    expect(page.get_by_text("Would send 12 of 12 parts")).to_be_visible()
    page.get_by_role("button", name="Back to how it is").click()
    expect(page.get_by_text("of 2,048 tokens")).to_be_visible()
    expect(exact).to_have_value("2048")
    exact.fill("8192")
    exact.press("Tab")
    page.get_by_role("button", name="Keep in Plain").click()
    expect(page.get_by_text("What if: ")).to_have_count(0)
    expect(page.get_by_text("of 8,192 tokens")).to_be_visible()
    page.reload()
    expect(page.get_by_text("of 8,192 tokens")).to_be_visible(
        timeout=20_000
    )  # a whole page, on a busy machine


def test_the_picture_stays_in_sight_and_what_was_kept_can_be_taken_back(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    page.set_viewport_size({"width": 1400, "height": 620})
    page.get_by_text("What if", exact=True).click()
    ladder = page.locator(".rungs")
    expect(ladder).to_contain_text("12 of 12 parts")
    page.get_by_role("slider", name="Parts").focus()
    page.mouse.move(1250, 400)
    page.mouse.wheel(0, 2000)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".bk-Figure").first).to_be_in_viewport(ratio=0.9)
    expect(ladder).to_contain_text("1 of 12 parts")
    page.get_by_role("button", name="Keep in this book").click()
    expect(page.get_by_text("Kept in this book.")).to_be_visible()
    expect(page.get_by_text("story, 1 of 12 parts")).to_be_visible()
    page.locator(".whatif").get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("story, 1 of 12 parts")).to_have_count(0)
    expect(ladder).to_contain_text("12 of 12 parts")
    page.get_by_role("slider", name="Answer").press("End")  # more than the whole context
    expect(page.locator(".whatif .note").first).to_contain_text("The fixed part of the prompt")
    expect(page.get_by_role("button", name="Keep in Plain")).to_have_count(0)


def test_a_piece_of_the_picture_says_what_it_is_and_why(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_label("Instructions").fill("She weighs the salt.")
    expect(page.get_by_text("lore", exact=True).and_(page.locator(".ledger *"))).to_be_visible()
    box = page.locator(".bk-Figure").first.bounding_box()
    assert box is not None
    tip = page.locator(".bk-Tooltip").filter(has_text="Salt").first
    for at in range(2, 60, 3):
        page.mouse.move(box["x"] + at, box["y"] + 58)
        page.wait_for_timeout(60)
        if tip.is_visible():
            break
    expect(tip).to_contain_text("Salt <img")
    expect(tip).to_contain_text("salt is in the request")
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".ledger .note").filter(has_text="Salt <img")).to_contain_text(
        "salt is in the request."
    )
    page.get_by_label("Instructions").fill("Varro weighs the salt.")  # other pieces stand before it now
    expect(page.get_by_text("Budget").first).to_be_visible()
    page.wait_for_timeout(600)
    expect(page.locator(".ledger .note").filter(has_text="Salt <img")).to_be_visible()
    page.get_by_label("Instructions").fill("Nothing happens.")
    expect(page.locator(".ledger .note").filter(has_text="Salt <img")).to_have_count(0)
    assert page.evaluate("window.pwned") is None


def test_what_was_left_out_says_what_it_needs(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_text("Left out:").click()
    expect(page.get_by_text("more tokens of room").first).to_be_visible()


def test_the_next_prompt_is_compared_with_the_last_one_and_with_that_of_a_part(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    write(page, model, "Varro comes.")
    page.get_by_label("Instructions").fill("The ferry leaves.")
    tab(page, "Prompt")
    expect(page.get_by_role("region", name="Prompt")).to_contain_text("Same beginning as last time")
    page.get_by_label("Compare with").select_option("last")
    change = page.locator(".change", has_text="Varro")
    expect(change).to_contain_text("is not in the request")
    expect(page.locator(".change", has_text="part 13")).to_contain_text("it was written since")
    request = page.locator(".change.changed", has_text="request")
    request.locator("summary").click()
    expect(request.locator("ins")).to_contain_text("ferry leaves")
    expect(request.locator("del")).to_contain_text("Varro comes")
    page.get_by_label("Instructions").fill("The ferry leaves at noon.")
    expect(request.locator("ins")).to_contain_text("ferry leaves at noon")  # still unfolded
    page.get_by_label("Compare with").select_option("part:12")
    expect(page.get_by_text("No prompt is known there")).to_be_visible()
    page.get_by_label("Compare with").select_option("")
    expect(page.get_by_role("article", name="Message 1, system")).to_be_visible()


def test_a_part_shows_what_was_sent_for_it_and_one_click_leads_back(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    write(page, model, "Varro comes.")
    part = page.get_by_role("article", name="Part 13", exact=True)
    part.hover()
    part.get_by_role("button", name="Menu of part 13").click()
    page.get_by_text("Show Prompt").click()
    expect(page.get_by_text("What was sent for part 13").and_(page.locator(":visible"))).to_be_visible()
    expect(page.get_by_text("Lore: Varro.")).to_be_visible()
    tab(page, "Lore")
    scanned = page.get_by_label("Scanned", exact=True)
    expect(scanned).to_have_value("asked")
    expect(page.get_by_label("Part", exact=True)).to_have_value("13")
    expect(page.get_by_role("region", name="Scanned text")).to_contain_text("Varro comes.")
    tab(page, "Budget")
    expect(page.get_by_text("What was sent for part 13").and_(page.locator(":visible"))).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    tab(page, "Lore")
    expect(scanned).to_have_value("next")
    tab(page, "Budget")
    expect(page.get_by_text("What was sent for part 13").and_(page.locator(":visible"))).to_have_count(0)
    tab(page, "Prompt")
    expect(page.get_by_text("What would be sent now")).to_be_visible()


def test_a_part_is_written_once_more_and_the_timeline_tells_how_it_went(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    tab(page, "Run")
    write(page, model, "Varro comes.")
    first = model.completions[-1].body
    table = page.get_by_role("table", name="What happened when")
    for name in ("Asking the model", "waiting for the model", "Storing"):
        expect(table.get_by_role("row", name=name)).to_be_visible()
    part = page.get_by_role("article", name="Part 13", exact=True)
    from_menu(page, "Once more…")
    reader = page.get_by_role("region", name="Prompt")
    expect(reader).to_contain_text("Once more, exactly as it was")
    expect(reader).to_contain_text("Nothing is different.")
    reader.get_by_role("button", name="with today's lore and settings").click()
    expect(reader).to_contain_text("Once more, with today's lore and settings")
    reader.get_by_role("button", name="Cancel").click()
    expect(reader.get_by_role("article", name="Message 1, system")).to_be_visible()
    reader.get_by_role("button", name="as it was").click()
    model.script(Stream("The bell rang twice."))
    reader.get_by_role("button", name="Send as a new swipe").click()
    expect(part).to_contain_text("The bell rang twice.")
    expect(part.get_by_text("2/2")).to_be_visible()
    assert model.completions[-1].body == first
    from_menu(page, "Show Prompt")
    expect(page.get_by_text("Once more:")).to_be_visible()
    tab(page, "Run")
    expect(page.get_by_text("another version, as it was")).to_be_visible()
    expect(table.get_by_role("row", name="writing")).to_be_visible()
    tab(page, "Budget")
    expect(page.get_by_text("of 2,048 tokens")).to_contain_text("Part 13")


def test_a_prompt_can_be_searched_and_taken_along(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Instructions").fill("Varro comes.")
    tab(page, "Prompt")
    expect(page.locator(".calls")).to_have_text("Varro")
    page.get_by_label("Search the prompt").fill("this is part 12.")
    expect(page.locator("mark")).to_have_text("This is part 12.")
    page.get_by_label("Copy").select_option("json")
    expect(page.get_by_text("Copied:")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    write(page, model, "Varro comes.")
    assert json.loads(copied) == model.completions[-1].body
    assert page.evaluate("window.pwned") is None


def test_what_is_searched_may_go_across_words_that_called_lore(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    page.get_by_label("Instructions").fill("Then Varro comes (home). \u05e9\u05dc\u05d5\u05dd")
    tab(page, "Prompt")
    expect(page.locator(".calls")).to_have_text("Varro")
    page.get_by_label("Search the prompt").fill("then  VARRO comes (")
    expect(page.locator("mark")).to_have_text(["Then ", "Varro", " comes ("])
    expect(page.locator("span.hits")).to_have_text("1")


def test_characters_that_nobody_sees_are_shown_and_right_to_left_paragraphs_run_from_the_right(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    hebrew = "\u05e9\u05dc\u05d5\u05dd."
    page.get_by_label("Instructions").fill(f"Go\u202e on\u200b.\n{hebrew}")
    tab(page, "Prompt")
    expect(page.locator(".unseen")).to_have_text(["U+202E", "U+200B"])
    page.get_by_label("Search the prompt").fill(hebrew)
    mark, text = page.locator("mark").bounding_box(), page.locator(".text:visible").bounding_box()
    assert mark is not None
    assert text is not None
    assert mark["x"] > text["x"] + text["width"] / 2
    page.get_by_label("Search the prompt").fill("")
    write(page, model, "Go on.")
    page.get_by_label("Instructions").fill("Go on\u200b.")
    page.get_by_label("Compare with").select_option("last")
    request = page.locator(".change.changed", has_text="request")
    request.locator("summary").click()
    expect(request.locator("ins .unseen")).to_have_text("U+200B")


def test_on_a_narrow_page_a_parts_prompt_opens_over_the_text(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    write(page, model, "Varro comes.")
    page.set_viewport_size({"width": 420, "height": 860})
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Menu of part 13").click()
    page.get_by_text("Show Prompt").click()
    dialog = page.get_by_role("dialog", name="What the model read")
    expect(dialog.get_by_role("article", name="Message 1, system")).to_contain_text("Varro keeps the ferry.")
