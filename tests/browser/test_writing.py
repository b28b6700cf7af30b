"""A person writes: the whole chain from the keyboard to the store, with a scripted model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from marginalia import Studio, TextFilter, Turn
from marginalia.testing import Pause, Reasoning, ScriptedServer, Status, Stream
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

SLOW = Stream("The bell ", Pause(0.6), "rang once. ", Pause(0.6), "Then ", Pause(30), "never")
HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> [x](javascript:window.pwned=1)'


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer().start()
    yield server
    server.stop()


@pytest.fixture
def home(tmp_path: Path, model: ScriptedServer) -> Path:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Scripted", base_url=model.base_url, model="m", max_context=4096, max_response=256
        )
        protocol = studio.protocols.create(name="Plain")
        world = studio.lorebooks.create(name="World")
        studio.lorebooks.add_entry(
            world, name="Varro", payload="Varro keeps the ferry.", filter=TextFilter("varro")
        )
        book = studio.books.create(name="The Ferry", provider=provider, protocol=protocol, lorebook=world)
        turn = Turn(scene_setting="The quay", pov_character="Ada", present_characters="Ada")
        studio.story.append(book, "Ada waited at the quay.", turn=turn)
    return tmp_path


@pytest.fixture
def app(home: Path, start_app: Callable[[], App]) -> App:
    return start_app()


def generate(page: Page, instructions: str) -> None:
    page.get_by_label("Instructions").fill(instructions)
    page.get_by_role("button", name="Generate", exact=True).click()


def test_a_part_streams_in_and_stop_keeps_what_came(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(SLOW)
    page = open_page(app.book(1))
    expect(page.get_by_label("Scene Setting")).to_have_value("The quay")
    generate(page, "Varro comes.")
    part = page.get_by_role("article", name="Part 2")
    expect(part.get_by_text("The bell")).to_be_visible()
    expect(part.get_by_text("The bell rang once. Then")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("what had come was kept")).to_be_visible()
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("The bell rang once. Then")
    expect(page.get_by_label("Instructions")).to_have_value("")
    page.reload()
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("The bell rang once. Then")
    assert "Varro keeps the ferry." in str(model.completions[0].body)


def test_a_swipe_stands_beside_and_one_can_go_back(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream("First."), Stream("Second."))
    page = open_page(app.book(1))
    generate(page, "Go.")
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("First.")
    page.get_by_role("button", name="Swipe").click()
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("Second.")
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("2/2")
    page.get_by_role("button", name="Previous version").click()
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("First.")
    expect(page.get_by_role("article", name="Part 2")).to_contain_text("1/2")


def test_a_reload_and_a_second_tab_show_the_generation_going_on(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(SLOW)
    page = open_page(app.book(1))
    generate(page, "Go.")
    expect(page.get_by_role("article").get_by_text("The bell rang once.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("article").get_by_text("The bell rang once. Then")).to_be_visible()
    other = open_page(app.book(1), wait=False)
    expect(other.get_by_role("article").get_by_text("The bell rang once. Then")).to_be_visible()
    other.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("what had come was kept")).to_be_visible()


def test_budget_and_lore_follow_the_keys(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    headline = page.locator(".headline:not(.quiet)")
    before = headline.inner_text()
    page.get_by_label("Instructions").press_sequentially("Varro comes over the water.", delay=15)
    expect(headline).not_to_have_text(before)
    page.get_by_role("tab", name="Lore").click()
    entry = page.get_by_role("option", name="Varro")
    expect(entry).to_contain_text("in:")
    page.get_by_label("Instructions").fill("Nobody comes.")
    expect(entry).to_contain_text("not:")


def test_reasoning_is_folded_and_the_text_comes_below(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream(Reasoning("She should wait."), Pause(0.5), "Ada waited on.", Pause(2), " Still."))
    page = open_page(app.book(1))
    generate(page, "Go.")
    expect(page.get_by_text("Reasoning", exact=True)).to_be_visible()
    expect(page.get_by_text("She should wait.")).to_be_hidden()
    expect(page.get_by_role("article").get_by_text("Ada waited on. Still.")).to_be_visible()


def test_an_error_says_what_to_do_and_takes_no_text(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Status(401, {"error": {"message": "bad key"}}))
    page = open_page(app.book(1))
    generate(page, "Keep me.")
    alert = page.get_by_role("alert").filter(has_text="key")
    expect(alert).to_be_visible()
    expect(page.get_by_label("Instructions")).to_have_value("Keep me.")
    expect(page.get_by_role("article")).to_have_count(1)
    alert.get_by_role("button", name="Open model").click()
    expect(page.get_by_label("Address")).to_have_value(model.base_url)


def test_a_draft_outlives_a_reload(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_label("Instructions").fill("Not sent yet.")
    page.reload()
    expect(page.get_by_label("Instructions")).to_have_value("Not sent yet.")
    expect(page.get_by_label("POV Character")).to_have_value("Ada")


def test_hostile_text_runs_nothing_anywhere(
    home: Path, model: ScriptedServer, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(home / "marginalia.db") as studio:
        book = studio.books.all()[0]
        studio.books.save(replace(book, name=HOSTILE))
        studio.lorebooks.add_entry(studio.lorebooks.all()[0], name=HOSTILE, payload=HOSTILE)
        studio.story.append(book, HOSTILE, turn=Turn(scene_setting=HOSTILE))
    app = start_app()
    model.script(Stream(HOSTILE, Pause(0.4), "\n\n", HOSTILE), Status(400, {"error": {"message": HOSTILE}}))
    page = open_page(app.book(1))
    generate(page, HOSTILE)
    expect(page.get_by_role("article")).to_have_count(3)
    for tab in ("Lore", "Prompt", "Run", "Budget"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(250)
    generate(page, HOSTILE)
    expect(page.get_by_role("alert").filter(has_text="onerror")).to_be_visible()
    page.get_by_role("button", name="Settings").click()
    page.wait_for_timeout(400)
    assert page.evaluate("window.pwned") is None
    assert page.locator(".story img, .story script, a[href^='javascript']").count() == 0


def test_editing_in_place_saves_by_itself_and_escape_goes_back(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    part = page.get_by_role("article", name="Part 1")
    part.hover()
    part.get_by_role("button", name="Menu of part 1").click()
    page.get_by_role("menuitem", name="Edit").click()
    area = page.get_by_label("Text of part 1")
    area.fill("Ada left the quay.")
    area.press("Control+Enter")
    expect(part).to_contain_text("Ada left the quay.")
    expect(part).to_contain_text("edited")
    page.keyboard.press("e")
    page.get_by_label("Text of part 1").fill("Nothing.")
    page.wait_for_timeout(1200)
    page.get_by_label("Text of part 1").press("Escape")
    expect(part).to_contain_text("Ada left the quay.")


def test_what_is_deleted_can_be_taken_back(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_role("button", name="Menu of part 1").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_text("Nothing is written yet.")).to_be_visible()
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_role("article", name="Part 1")).to_contain_text("Ada waited")


def test_a_long_branch_stays_light_and_every_part_can_be_reached(
    home: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(home / "marginalia.db") as studio:
        book = studio.books.all()[0]
        for number in range(2, 401):
            studio.story.append(book, f"This is what happened in part {number}. " * 12)
    page = open_page(start_app().book(1))
    expect(page.get_by_role("article", name="Part 400")).to_be_visible()
    assert page.get_by_role("article").count() <= 60
    page.get_by_label("Outline").press("Home")
    expect(page.get_by_role("article", name="Part 1", exact=True)).to_be_in_viewport()
    page.get_by_role("button", name="to the end").click()
    expect(page.get_by_role("article", name="Part 400")).to_be_in_viewport()


def test_on_a_narrow_page_the_sides_are_drawers(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1), width=420)
    expect(page.get_by_role("article", name="Part 1")).to_be_in_viewport()
    expect(page.locator(".headline:not(.quiet)")).to_have_count(0)
    page.get_by_role("button", name="Open contextbar").click()
    expect(page.locator(".headline:not(.quiet)")).to_contain_text(re.compile(r"of 4,096 tokens"))


def test_the_server_ends_when_it_is_told_to(home: Path, open_page: Callable[..., Page]) -> None:
    app = App(home).start()
    page = open_page(app.book(1))
    page.close()
    assert app.stop() == 0


def test_regenerate_writes_in_place_and_keys_reach_everything(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream("First."), Stream("Again ", Pause(30), "never"))
    page = open_page(app.book(1))
    page.get_by_label("Instructions").fill("Go.")
    page.get_by_label("Instructions").press("Control+Enter")
    part = page.get_by_role("article", name="Part 2")
    expect(part).to_contain_text("First.")
    expect(page.get_by_role("button", name="Generate", exact=True)).to_be_enabled()  # the first one has ended
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("Alt+r")
    expect(part).to_contain_text("Again")
    page.keyboard.press("Escape")
    expect(part).to_contain_text("what had come was kept")
    expect(page.get_by_role("article")).to_have_count(2)
    page.keyboard.press("2")
    expect(page.get_by_role("listbox", name="Lore entries")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Ctrl+Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_lore_entry_is_added_and_called_at_once(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_role("tab", name="Lore").click()
    page.get_by_role("button", name="+ Entry").click()
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_label("Text", exact=True).fill("Ada never swims.")
    page.get_by_label("Called by").fill("ada")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("option", name="Ada", exact=False).filter(has_text="in:")).to_be_visible()
