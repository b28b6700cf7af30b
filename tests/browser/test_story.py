"""A person works on a story as a tree: swipes, branches, steps back, search, summaries; all of it is there later."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from marginalia import Studio
from marginalia.testing import Pause, ScriptedServer, Stream
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

TEXTS = ("Ada rowed out before dawn.", "The bell rang over the water.", "The fog came in.")


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
        book = studio.books.create(
            name="The Bell", provider=provider, protocol=studio.protocols.create(name="P")
        )
        for text in TEXTS:
            studio.story.append(book, text)
    return start_app()


def part(page: Page, number: int) -> Locator:
    return page.get_by_role("article", name=f"Part {number}", exact=True)


def menu(page: Page, number: int, item: str) -> None:
    page.get_by_role("button", name=f"Menu of part {number}", exact=True).click()
    page.get_by_role("menuitem", name=item).click()


def search(page: Page, query: str) -> Locator:
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("Control+f")
    page.get_by_label("Search the story").fill(query)
    return page.get_by_role("listbox", name="Hits").get_by_role("option")


def test_the_reading_place_stays_when_a_side_makes_the_column_narrow(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        book = studio.books.create(name="Long")
        for number in range(1, 9):
            studio.story.append(
                book, f"Here part {number} begins. " + "The sea had been up since noon. " * 60
            )
    page = open_page(start_app().book(1), width=1000, wait=False)
    drawer = page.get_by_role("button", name="Open drawer")
    expect(part(page, 8)).to_be_in_viewport()
    drawer.click()
    page.wait_for_timeout(800)
    expect(page.get_by_role("button", name="↓ to the end")).to_be_hidden()
    page.get_by_role("button", name="Close drawer").click()
    page.wait_for_timeout(800)
    fourth = part(page, 4)
    for _ in range(4):  # what lies above gets its real height only when it has been near
        fourth.evaluate("(el) => el.scrollIntoView({ block: 'start' })")
        page.wait_for_timeout(200)
    before = fourth.bounding_box()
    drawer.click()
    page.wait_for_timeout(800)
    after = fourth.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] < before["width"]
    assert abs(after["y"] - before["y"]) < 12


def test_swipe_branch_edit_undo_and_redo(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream("A gull cried instead."))
    page = open_page(app.book(1))
    part(page, 3).get_by_role("button", name="Swipe").click()
    expect(part(page, 3)).to_contain_text("A gull cried instead.")
    menu(page, 2, "Branch Story")
    expect(part(page, 2)).to_contain_text("2/2")
    expect(part(page, 3)).to_have_count(0)
    menu(page, 2, "Edit")
    page.get_by_label("Text of part 2").fill("The gong sounded over the water.")
    page.get_by_label("Text of part 2").press("Control+Enter")
    expect(part(page, 2)).to_contain_text("The gong sounded")
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("Control+z")
    expect(part(page, 2)).to_contain_text("The bell rang")
    expect(page.get_by_text("Undone: an edit.")).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    expect(part(page, 2)).to_contain_text("The gong sounded")
    page.reload()
    expect(part(page, 2)).to_contain_text("The gong sounded")
    expect(part(page, 2)).to_contain_text("2/2")


def test_a_search_leads_to_another_branch_and_the_trash_back(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream("A gull cried instead."))
    page = open_page(app.book(1))
    part(page, 3).get_by_role("button", name="Swipe").click()
    expect(part(page, 3)).to_contain_text("A gull cried instead.")
    hits = search(page, "fog")
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("branch")
    page.keyboard.press("Enter")
    expect(part(page, 3)).to_contain_text("The fog came in.")
    page.keyboard.press("Escape")
    expect(hits).to_have_count(0)
    menu(page, 3, "Delete")
    expect(part(page, 3)).to_have_count(0)
    page.get_by_role("button", name="Trash").click()
    expect(page.get_by_role("dialog")).to_contain_text("The fog came in.")
    page.get_by_role("button", name="Restore").click()
    expect(part(page, 3)).to_contain_text("The fog came in.")
    menu(page, 1, "Bookmark")
    expect(part(page, 1).get_by_label("Bookmarked")).to_be_visible()
    page.reload()
    expect(part(page, 3)).to_contain_text("The fog came in.")
    expect(part(page, 1).get_by_label("Bookmarked")).to_be_visible()
    expect(search(page, '"gull cried"')).to_have_count(1)


def test_summaries_stream_stop_merge_unwind_and_turn_stale_at_once(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(
        Stream("Never ", Pause(30), "done"), Stream("Ada rows."), Stream("Fog."), Stream("Ada rows into fog.")
    )
    page = open_page(app.book(1))
    menu(page, 2, "Summary")
    summaries = page.get_by_role("region", name="Summaries")
    expect(summaries).to_contain_text("Never")
    summaries.get_by_role("button", name="Stop").click()
    expect(summaries).to_contain_text("No summaries yet.")
    menu(page, 2, "Summary")
    expect(summaries.get_by_role("article", name="Summary #1\u2013#2")).to_contain_text("Ada rows.")
    summaries.get_by_role("button", name="+ Summary").click()
    expect(summaries.get_by_role("article", name="Summary #3")).to_contain_text("Fog.")
    for where in ("#1\u2013#2", "#3"):
        summaries.get_by_label(f"Choose summary {where}").check()
    summaries.get_by_role("button", name="Merge").click()
    expect(summaries.get_by_role("article", name="Summary #1\u2013#3")).to_contain_text("Ada rows into fog.")
    menu(page, 1, "Edit")
    page.get_by_label("Text of part 1").fill("Ada swam out.")
    page.get_by_label("Text of part 1").press("Control+Enter")
    expect(summaries.get_by_role("note").first).to_contain_text("Stale.")
    summaries.get_by_role("button", name="Unwind").click()
    expect(summaries.get_by_role("article", name="Summary #3")).to_contain_text("Fog.")
    page.reload()
    page.get_by_role("tab", name="Summaries").click()
    expect(summaries.get_by_role("article", name="Summary #1\u2013#2")).to_contain_text("Part 1 is not what")


def test_revisions_show_what_changed_and_lead_back(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    menu(page, 2, "Edit")
    page.get_by_label("Text of part 2").fill("The bell fell silent over the water.")
    page.get_by_label("Text of part 2").press("Control+Enter")
    menu(page, 2, "Revisions")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("del")).to_contain_text("rang")
    dialog.get_by_role("button", name="Bring back").click()
    expect(part(page, 2)).to_contain_text("The bell rang over the water.")
    expect(dialog).to_be_hidden()


def test_a_part_is_split_where_the_cursor_stands_and_merged_again_and_one_is_written_by_hand(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    menu(page, 1, "Split here")
    editor = page.get_by_label("Text of part 1")
    editor.evaluate("(el) => el.setSelectionRange(9, 9)")
    page.get_by_role("button", name="Split here").click()
    expect(part(page, 2)).to_contain_text("out before dawn.")
    expect(page.get_by_role("article")).to_have_count(4)
    menu(page, 2, "Merge with the one before")
    expect(page.get_by_role("article")).to_have_count(3)
    expect(part(page, 1)).to_contain_text("out before dawn.")
    menu(page, 3, "Write on by hand")
    editor = page.get_by_label("Text of part 4")
    expect(editor).to_be_focused()
    editor.fill("Nobody answered.")
    editor.press("Control+Enter")
    expect(part(page, 4)).to_contain_text("Nobody answered.")
    expect(part(page, 4)).to_contain_text("written by hand")


def test_a_cut_part_is_kept_or_continued(
    app: App, model: ScriptedServer, open_page: Callable[..., Page]
) -> None:
    model.script(Stream("The boat ", Pause(30), "sank."), Stream("drifted on."))
    page = open_page(app.book(1))
    page.get_by_role("button", name="Generate", exact=True).click()
    expect(part(page, 4)).to_contain_text("The boat")
    page.get_by_role("button", name="Stop").click()
    part(page, 4).get_by_role("button", name="Continue").click()
    expect(part(page, 5)).to_contain_text("drifted on.")
    expect(page.get_by_text("what had come was kept")).to_have_count(0)


def test_the_tree_shows_a_part_and_goes_on_from_there(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_role("tab", name="Tree").click()
    card = page.get_by_role("group", name="Part in the tree")
    card.focus()
    card.press("ArrowUp")
    expect(card).to_contain_text(TEXTS[2])
    card.press("ArrowUp")
    expect(card).to_contain_text(TEXTS[1])
    card.get_by_label("Label").fill("The turn")
    card.get_by_label("Label").press("Enter")
    expect(part(page, 2)).to_contain_text("The turn")
    card.get_by_role("button", name="Continue here").click()
    expect(page.get_by_role("article")).to_have_count(2)
    canvas = page.locator(".bk-events").first.bounding_box()
    assert canvas is not None
    # The picture shows 22.8 rows; the third mark is in the first lane, a little from its left edge.
    spot = canvas["x"] + canvas["width"] * 0.7 / 7.7, canvas["y"] + canvas["height"] * 2.8 / 22.8
    page.mouse.click(*spot)
    expect(card).to_contain_text(TEXTS[2])
    page.mouse.dblclick(*spot)
    expect(page.get_by_role("article")).to_have_count(3)


def test_while_one_types_steps_back_are_those_of_the_typing(app: App, open_page: Callable[..., Page]) -> None:
    page = open_page(app.book(1))
    page.get_by_label("Instructions").press_sequentially("abc")
    page.keyboard.press("Control+z")
    expect(page.get_by_label("Instructions")).not_to_have_value("abc")
    expect(page.get_by_text(re.compile("^Undone"))).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(3)


def test_a_branch_is_attached_elsewhere_with_the_keys_and_undone(
    app: App, open_page: Callable[..., Page]
) -> None:
    page = open_page(app.book(1))
    page.get_by_role("tab", name="Tree").click()
    card = page.get_by_role("group", name="Part in the tree")
    card.focus()
    card.press("ArrowUp")
    card.press("ArrowUp")
    expect(card).to_contain_text(TEXTS[1])
    card.get_by_role("button", name="Attach below").press("Enter")
    expect(card).to_contain_text("This is #2 itself.")
    expect(card).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(card).to_contain_text("a part cannot stand below what follows it")
    page.keyboard.press("Escape")
    expect(card.get_by_role("button", name="Cancel")).to_have_count(0)
    card.get_by_role("button", name="Attach below").click()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(card).to_contain_text("#1 is chosen.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").get_by_text("What was #3 now follows #1.")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(2)
    expect(part(page, 2)).to_contain_text(TEXTS[2])
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Undone: moving a part.")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(3)


COUNT_NODES = """() => {
  const count = (root) => [...root.querySelectorAll("*")]
    .reduce((sum, el) => sum + 1 + (el.shadowRoot ? count(el.shadowRoot) : 0), 0)
  return count(document)
}"""


def test_a_book_of_10000_parts_is_as_light_in_the_browser_as_one_of_24(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        for size in (24, 10_000):
            lines = [{"chat_metadata": {}, "user_name": "You", "character_name": "Ada"}]
            lines += [{"name": "Ada", "is_user": False, "mes": f"Wave {at}."} for at in range(1, size + 1)]
            studio.import_story("\n".join(map(json.dumps, lines)).encode(), name=f"{size} waves")
    app = start_app()
    short = open_page(app.book(1))
    expect(part(short, 24)).to_contain_text("Wave 24.")
    page = open_page(app.book(2))
    expect(part(page, 10_000)).to_contain_text("Wave 10000.")
    assert page.evaluate(COUNT_NODES) <= short.evaluate(COUNT_NODES) * 1.25
    outline = page.get_by_role("listbox", name="Outline")
    outline.focus()
    outline.press("Home")
    expect(part(page, 1)).to_contain_text("Wave 1.")
    assert page.get_by_role("article").count() <= 240
    assert outline.get_by_role("option").count() <= 40
    page.get_by_role("tab", name="Tree").click()
    card = page.get_by_role("group", name="Part in the tree")
    card.focus()
    card.press("ArrowUp")
    expect(card).to_contain_text("Wave 10000.")
    card.press("ArrowUp")
    expect(card.get_by_role("button", name="Unfold 9,999")).to_be_visible()
    card.get_by_role("button", name="Unfold 9,999").click()
    expect(card.get_by_role("button", name="Fold", exact=True)).to_be_visible()
    expect(search(page, "wave 5000")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(part(page, 5_000)).to_contain_text("Wave 5000.")
