"""Two people, two browsers, one server: neither finds a way to what is the other's, by whatever path."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect

from benchmarks.serving import ROOT
from marginalia import Studio, TextFilter
from marginalia.cli.people import People
from marginalia.testing import ScriptedServer, Stream
from tests.browser.conftest import OURS

pytestmark = pytest.mark.browser

SECRET = "Quartzmark"
PASSWORDS = {"mara": "the lamp went out", "elias": "salt on the clasp"}
# What leaves the browser of Elias names the books and parts of Mara in the place of his own.
SWAP = """
window.swapped = 0
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (data) {
  if (typeof data === "string" && window.swap) {
    for (const [own, theirs] of window.swap) {
      let changed = data
      for (const name of ["id", "part"]) changed = changed.replaceAll(`"${name}",${own}]`, `"${name}",${theirs}]`)
      if (changed !== data) window.swapped += 1
      data = changed
    }
  }
  return send.call(this, data)
}
"""


@dataclass
class Someone:
    """One person's browser, and everything that the server ever told it."""

    page: Page
    heard: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.heard.append(str(frame)))

    @property
    def everything(self) -> str:
        return "".join(self.heard)


@dataclass(frozen=True)
class House:
    address: str
    home: Path
    book: int
    own: int
    parts: tuple[tuple[int, int], ...]
    model: ScriptedServer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    home = tmp_path / "home"
    people = People(home / "people.json")
    with ScriptedServer(default=Stream(*[f"{SECRET} rises. "] * 4000, pace=0.1)) as model:
        with Studio(home / "marginalia.db", extensions=()) as owner:
            mara, elias = owner.for_user("mara"), owner.for_user("elias")
            book = furnish(mara, model, SECRET)
            other = furnish(elias, model, "Harbour")
            parts = tuple(
                (int(one.id), int(another.id))
                for one, another in zip(elias.story.branch(other), mara.story.branch(book), strict=True)
            )
            mara.keys.set("provider", f"sk-{SECRET}")
        for name, password in PASSWORDS.items():
            people.add(name, password)
        with served(home) as address:
            yield House(address, home, int(book.id), int(other.id), parts, model)


def furnish(studio: Studio, model: ScriptedServer, word: str):  # noqa: ANN201 - the book
    provider = studio.providers.create(
        name=f"{word} provider",
        base_url=model.base_url,
        model=f"{word}-model",
        max_context=4096,
        max_response=256,
    )
    protocol = studio.protocols.create(name=f"{word} protocol")
    world = studio.lorebooks.create(name=f"{word} world")
    studio.lorebooks.add_entry(
        world, name=f"{word} entry", payload=f"{word} lore.", filter=TextFilter("night")
    )
    book = studio.books.create(
        name=f"{word} book",
        provider=provider,
        protocol=protocol,
        lorebook=world,
        description=f"About {word}.",
    )
    for number in range(3):
        part = studio.story.append(book, f"{word} before {number}.")
        studio.story.edit(part, f"{word} text {number}, at night.")
    return book


class served:  # noqa: N801 - used like a function
    """``marginalia serve --auth`` in a process of its own."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "marginalia", "--home", str(home), "serve", "--port", "0", "--auth"]
        with (home / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ
            )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()[3]

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.communicate()


@pytest.fixture
def come(chromium: Browser, house: House) -> Iterator[object]:
    contexts = []
    expect.set_options(timeout=20_000)

    def come_(name: str, *, swapping: bool = False) -> Someone:
        context = chromium.new_context(viewport={"width": 1400, "height": 860})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        if swapping:
            page.add_init_script(SWAP)
        someone = Someone(page)
        page.on("websocket", someone.listen)
        page.on(
            "request",
            lambda request: None if request.url.startswith(OURS) else someone.elsewhere.append(request.url),
        )
        page.goto(house.address)
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORDS[name])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Generate", exact=True).wait_for()
        return someone

    yield come_
    expect.set_options(timeout=5_000)
    for context in contexts:
        context.close()


def opened(someone: Someone, house: House, number: int) -> None:
    someone.page.goto(f"{house.address}?book={number}")
    someone.page.get_by_role("button", name="Generate", exact=True).and_(
        someone.page.locator(":enabled")
    ).wait_for()
    someone.page.wait_for_timeout(300)


def test_neither_finds_a_way_to_what_is_the_other_s(house: House, come) -> None:  # noqa: ANN001 - the fixture
    mara: Someone = come("mara")
    opened(mara, house, house.book)
    expect(mara.page.get_by_role("article", name="Part 1", exact=True)).to_contain_text(f"{SECRET} text 0")
    mara.page.get_by_label("Instructions").fill(f"{SECRET} draft")
    mara.page.get_by_role("button", name="Generate", exact=True).click()
    expect(mara.page.get_by_text(f"{SECRET} rises.").first).to_be_visible()

    elias: Someone = come("elias", swapping=True)
    page = elias.page
    opened(elias, house, house.book)  # the address of her book opens one of his own
    expect(
        page.get_by_role("combobox", name="Book", exact=True).locator("option:checked")
    ).not_to_contain_text(SECRET)
    opened(elias, house, house.own)
    expect(page.get_by_role("article", name="Part 1", exact=True)).to_contain_text("Harbour text 0")
    look_around(page)
    forge(page, house)
    ask_by_address(elias, house)

    assert SECRET not in elias.everything
    assert SECRET not in page.content()
    assert "Harbour" in elias.everything  # it is what the server tells that was looked at
    assert "Harbour" not in mara.everything
    assert mara.elsewhere == elias.elsewhere == []
    mara.page.get_by_role("button", name="Stop", exact=True).click()
    expect(mara.page.get_by_role("button", name="Generate", exact=True)).to_be_visible()
    mara.page.reload()
    for number in range(3):
        story_part = mara.page.get_by_role("article", name=f"Part {number + 1}", exact=True)
        expect(story_part).to_contain_text(f"{SECRET} text {number}, at night.")
    expect(mara.page.get_by_role("article", name="Part 4", exact=True)).to_contain_text(f"{SECRET} rises.")
    leave(mara, house)


def leave(mara: Someone, house: House) -> None:
    """Sign out, and find the door closed."""
    mara.page.get_by_role("button", name="Places").click()
    mara.page.get_by_role("menuitem", name="Sign out (mara)").click()
    expect(mara.page.get_by_text("You are signed out.")).to_be_visible()
    mara.page.goto(f"{house.address}?book={house.book}")
    expect(mara.page.get_by_role("button", name="Sign in")).to_be_visible()


def look_around(page: Page) -> None:
    """Search, the lists of everything, an export, the four tabs."""
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("Control+f")
    page.get_by_label("Search the story").fill("quartz*")
    page.wait_for_timeout(500)
    expect(page.get_by_role("listbox", name="Hits").get_by_role("option")).to_have_count(0)
    page.keyboard.press("Escape")
    for name in ("Lore", "Prompt", "Run", "Budget"):
        page.get_by_role("tab", name=name, exact=True).click()
        page.wait_for_timeout(200)
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("b")
    shelf = page.get_by_role("dialog", name="Books")
    shelf.get_by_role("listbox", name="Books").get_by_role("option", name="Harbour book").click()
    with page.expect_download() as coming:
        shelf.get_by_role("button", name="Download backup").click()
    assert SECRET.encode() not in coming.value.path().read_bytes()
    page.keyboard.press("Escape")


def forge(page: Page, house: House) -> None:
    """Do what a person does with parts and books, while what is sent names those of somebody else."""
    swap = [list(pair) for pair in house.parts]
    page.evaluate("swap => { window.swap = swap }", swap)
    for item in ("Show Prompt", "Revisions", "Edit", "Bookmark", "Branch Story", "Delete"):
        page.get_by_role("button", name="Menu of part 2", exact=True).click()
        page.get_by_role("menuitem", name=item).dispatch_event("click")
        page.wait_for_timeout(250)
        page.keyboard.press("Escape")
    page.evaluate("swap => { window.swap = swap }", [[house.own, house.book]])
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press("b")
    shelf = page.get_by_role("dialog", name="Books")
    shelf.get_by_role("listbox", name="Books").get_by_role("option", name="Harbour book").click()
    for name in ("Export", "Download backup", "Duplicate", "Rename", "Delete book"):
        shelf.get_by_role("button", name=name).click()
        page.wait_for_timeout(250)
    assert page.evaluate("window.swapped") >= 10
    page.evaluate("window.swap = null")


def ask_by_address(elias: Someone, house: House) -> None:
    """Ask for files and pages by their addresses, with the cookies of Elias and without."""
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in elias.page.context.cookies())
    for path in (
        "static/marginalia.db",
        "static/../marginalia.db",
        "marginalia.db",
        "people.json",
        "static/%2e%2e/people.json",
        "static/extensions/..%2f..%2fpeople.json",
        "components/marginalia.ui.house/House/_studios/x",
        "assets/marginalia.db",
        "rest/session_info",
        "admin",
        "metadata",
        f"?book={house.book}",
    ):
        for headers in ({"Cookie": cookies}, {}):
            request = urllib.request.Request(f"{house.address}{path}", headers=headers)  # noqa: S310 - our own server
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - the same
                    body = answer.read()
            except urllib.error.HTTPError as error:
                body = error.read()
            assert SECRET.encode() not in body
            assert b"scrypt" not in body
            assert not re.search(rb"^.{8}DUCK", body[:32], re.DOTALL)
