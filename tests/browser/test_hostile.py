"""Everything that people, models, lore and files can put a text into, with texts that want to run: nothing does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from playwright.sync_api import Page, expect

import marginalia as mg
from marginalia.prompt.diff import diff
from marginalia.testing import Reasoning, ScriptedServer, Status, Stream, WordTokenizer
from marginalia.ui.keys import KEYS
from tests.browser.conftest import App

pytestmark = pytest.mark.browser

RUN = "(window.top||window).pwned=1"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f'<img src=x onerror="{RUN}">',
    f'<svg onload="{RUN}"></svg>',
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"<details open ontoggle={RUN}>x</details>",
    f"[x](javascript:{RUN})",
    f"[x](JaVaScRiPt:{RUN})",
    f"[x](&#106;avascript:{RUN})",
    f"<a href='javascript:{RUN}'>x</a>",
    "[x](data:text/html;base64,PHNjcmlwdD50b3AucHduZWQ9MTwvc2NyaXB0Pg==)",
    f"<form action='javascript:{RUN}'><button>x</button></form>",
    "<p style='position:fixed;inset:0;z-index:31337'>x</p>",
    "<style>*{outline:31337px solid red}</style>",
    f"<math><mtext></p><style><img title='</style><img src=x onerror={RUN}>'></math>",
    f"&lt;img src=x onerror={RUN}&gt;",
    f"&amp;lt;img src=x onerror={RUN}&amp;gt;",
    f"&amp;amp;lt;img src=x onerror={RUN}&amp;amp;gt;",
    f"```html\n<script>{RUN}</script>\n```",
    f'```"><img src=x onerror={RUN}>\nx\n```',
    f"$$\\href{{javascript:{RUN}}}{{x}}$$",
    "![x](http://elsewhere.example/pixel.png)",
    "<link rel=stylesheet href=http://elsewhere.example/x.css><base href=http://elsewhere.example/>",
    f'"><img src=x onerror={RUN}>',
    f"'-{RUN}-'",
    "${" + RUN + "}",
    "</textarea></title></script><script>" + RUN + "</script>",
)
TEXT = "\n\n".join(PAYLOADS)
LINE = " ".join(each.replace("\n", " ") for each in PAYLOADS)
CHANGING = {"generate", "stop", "regenerate", "swipe", "undo", "redo", "previous version", "next version"}
# Every element of the page and of all shadow roots: what should not be there.
LOOK = r"""() => {
  const found = [], links = ["href", "src", "action", "xlink:href", "formaction"]
  const framed = ["iframe", "object", "embed", "base", "math"]
  const look = (el) => {
    const tag = el.localName
    if (framed.includes(tag) && /pwned|31337|elsewhere/.test(el.outerHTML)) found.push(tag)
    if (tag === "script" && el.textContent.trim().startsWith("(window.top")) found.push(tag)
    if (tag === "style" && /31337/.test(el.textContent)) found.push(tag)
    if (tag === "img" && /elsewhere|[/]x$/.test(el.src)) found.push(`img ${el.src}`)
    if (tag === "link" && /elsewhere/.test(el.href)) found.push(tag)
    for (const { name, value } of el.attributes) {
      if (/^on/i.test(name) && /pwned/.test(value)) found.push(name)
      if (links.includes(name) && /^\s*(javascript|data:text)/i.test(value)) found.push(`${tag} ${value}`)
      if (name === "style" && /31337/.test(value)) found.push("style=")
    }
  }
  const walk = (root) => {
    for (const el of root.querySelectorAll("*")) { look(el); if (el.shadowRoot) walk(el.shadowRoot) }
  }
  walk(document)
  return { found, pwned: window.pwned ?? null }
}"""


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def app(tmp_path: Path, model: ScriptedServer, start_app: Callable[[], App]) -> App:
    with mg.Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name=LINE, base_url=model.base_url, model=LINE, max_context=200_000, max_response=256
        )
        protocol = studio.protocols.create(name=LINE)
        world = studio.lorebooks.create(name=LINE, description=TEXT, tags=(LINE,))
        studio.lorebooks.add_entry(
            world,
            name=LINE,
            payload=TEXT,
            tags=(LINE,),
            match=mg.Match(any=(mg.Pattern(text="x"), mg.Pattern(text=LINE))),
        )
        studio.lorebooks.add_entry(
            world, name=LINE, payload=TEXT, match=mg.Match(any=(mg.Pattern(text="never"),))
        )
        book = studio.books.create(
            name=LINE, description=TEXT, tags=(LINE,), provider=provider, protocol=protocol, lorebook=world
        )
        turn = mg.Turn(scene_setting=TEXT, pov_character=LINE, present_characters=LINE, instructions=TEXT)
        parts = [studio.story.append(book, TEXT, turn=turn, reasoning=TEXT, model=LINE) for _ in range(3)]
        studio.story.edit(parts[1], f"Changed. {TEXT}")
        studio.story.fork(parts[1])
        studio.story.activate(book, parts[2])
        studio.story.mark(parts[0], label=LINE, bookmarked=True)
        gone = studio.story.append(book, TEXT)
        studio.story.delete(gone)
        studio.books.delete(studio.books.create(name=LINE))
    return start_app()


def harmless(page: Page, where: str) -> None:
    seen = page.evaluate(LOOK)
    assert seen == {"found": [], "pwned": None}, where


def test_nothing_that_anybody_wrote_runs_anywhere_on_the_page(
    app: App, model: ScriptedServer, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(app.book(1))
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    expect(page.get_by_role("article", name="Part 1", exact=True)).to_contain_text("onerror")
    harmless(page, "the story")
    write(page, model)
    for name in ("Tree", "Summaries", "Outline"):
        page.get_by_role("tab", name=name, exact=True).click()
        page.wait_for_timeout(300)
        harmless(page, name)
    hover_over_the_tree(page)
    for item in ("Show Prompt", "Revisions", "Summary"):
        page.get_by_role("button", name="Menu of part 2", exact=True).click()
        page.get_by_role("menuitem", name=item).first.dispatch_event("click")
        page.wait_for_timeout(400)
        harmless(page, item)
        page.keyboard.press("Escape")
    for key, name in KEYS.items():
        if name in CHANGING:
            continue
        page.get_by_role("region", name="Story").focus()
        page.keyboard.press(
            "+".join(
                word.capitalize() if word in ("ctrl", "alt") else word for word in key.split("+")
            ).replace("Ctrl", "Control")
        )
        page.wait_for_timeout(300)
        if name == "search":
            page.get_by_label("Search the story").fill("onerror")
            page.wait_for_timeout(500)
        harmless(page, name)
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    take_in(page, tmp_path)
    assert dialogs == []
    assert page.title() == "Marginalia"


def write(page: Page, model: ScriptedServer) -> None:
    """An answer, reasoning and two failures, each with all texts in it."""
    pieces = [Reasoning(f"{each}\n\n") for each in PAYLOADS] + [f"{each}\n\n" for each in PAYLOADS]
    model.script(Stream(*pieces), Status(400, {"error": {"message": LINE}}), Status(401, {"error": TEXT}))
    generate = page.get_by_role("button", name="Generate", exact=True)
    generate.click()
    expect(page.get_by_role("article", name="Part 4", exact=True)).to_contain_text(
        "elsewhere", timeout=20_000
    )
    expect(generate).to_be_enabled(timeout=20_000)
    harmless(page, "the answer")
    for _ in range(2):
        generate.click()
        expect(page.get_by_role("alert").first).to_be_visible(timeout=20_000)
        expect(generate).to_be_enabled(timeout=20_000)
        harmless(page, "the failure")


def hover_over_the_tree(page: Page) -> None:
    page.get_by_role("tab", name="Tree", exact=True).click()
    plot = page.locator(".bk-Figure").first
    plot.wait_for()
    box = plot.bounding_box()
    assert box is not None
    for at in range(10, int(box["height"]), 24):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + at)
    harmless(page, "the tree under the mouse")


def take_in(page: Page, folder: Path) -> None:
    """Files whose names and contents want to run."""
    name = "<img src=x onerror=top.pwned=1>.json"
    card = {
        "spec": "chara_card_v2",
        "data": {"name": LINE, "description": TEXT, "first_mes": TEXT, "creator_notes": TEXT, "tags": [LINE]},
    }
    good, bad = folder / name, folder / f"2{name}"
    good.write_text(json.dumps(card))
    bad.write_text(TEXT)
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("b")
    shelf = page.get_by_role("dialog", name="Books")
    shelf.get_by_label("Stories, cards or backups").set_input_files([good, bad])
    expect(shelf.get_by_role("group", name="What came of the files")).to_contain_text(
        "onerror", timeout=20_000
    )
    harmless(page, "the import report")


async def displays() -> str:
    """What a notebook shows of a prompt and everything around it."""
    with ScriptedServer([Stream(TEXT)]) as server:
        async with mg.Studio(":memory:", tokenizer=WordTokenizer(), extensions=()) as studio:
            provider = studio.providers.create(
                name=LINE, base_url=server.base_url, model=LINE, max_context=99_000
            )
            world = studio.lorebooks.create(name=LINE)
            studio.lorebooks.add_entry(
                world,
                name=LINE,
                payload=TEXT,
                match=mg.Match(any=(mg.Pattern(text="x"), mg.Pattern(text=LINE))),
            )
            book = studio.books.create(
                name=LINE, provider=provider, protocol=studio.protocols.create(name=LINE), lorebook=world
            )
            studio.story.append(book, TEXT)
            first = await studio.preview(book, mg.Turn(instructions=TEXT))
            second = await studio.preview(book, mg.Turn(instructions=LINE))
            run = studio.generate(book, mg.Turn(instructions=TEXT))
            part = (await run.settled()).part
            assert part is not None
            receipt = studio.story.receipt(part)
            shown = [first, first.budget, *first.lore, first.lore, receipt, diff(first, second)]
            return "".join(each._repr_html_() for each in shown if hasattr(each, "_repr_html_"))


def test_nothing_runs_in_what_a_notebook_shows(open_page: Callable[..., Page], tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as beside:  # Playwright keeps an event loop in this thread
        html = beside.submit(anyio.run, displays).result()
    assert html.count("onerror") > 10
    file = tmp_path / "cell.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><title>cell</title><body>{html}")
    page = open_page("about:blank", wait=False)
    page.set_content(file.read_text())
    page.wait_for_timeout(300)
    harmless(page, "a cell")
    page.set_content(PAYLOADS[1] + PAYLOADS[8])
    page.wait_for_timeout(300)
    seen = page.evaluate(LOOK)  # what looks for trouble finds it
    assert seen["pwned"] == 1
    assert "onerror" in seen["found"]
