"""What stands on the page when something is missing or broken."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from marginalia import Studio
from marginalia.testing import ScriptedServer, Stream
from tests.browser.conftest import App

pytestmark = pytest.mark.browser


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The home folder on a disk of its own that is soon full."""
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=24m", "tmpfs", str(tmp_path)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_book_without_a_model_says_how_to_connect_one(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        book = studio.books.create(name="Bare", protocol=studio.protocols.create(name="Plain"))
        studio.story.append(book, "It was night.")
    page = open_page(start_app().url + f"?book={book.id}")
    page.get_by_role("button", name="Generate", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Book is missing model.")).to_be_visible()
    expect(page.get_by_role("article", name="Part 1")).to_contain_text("It was night.")
    page.get_by_role("button", name="Connect a model").click()
    expect(page.get_by_role("dialog")).to_contain_text("llama.cpp")
    page.get_by_label("Name", exact=True).fill("Mine")
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).not_to_be_empty()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("combobox", name="Model").locator("option:checked")).to_have_text("Mine")


def test_a_context_that_is_too_small_shows_by_how_much(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        provider = studio.providers.create(
            name="Tiny", base_url="http://127.0.0.1:9/v1", model="m", max_context=120, max_response=60
        )
        book = studio.books.create(
            name="Tight", provider=provider, protocol=studio.protocols.create(name="Plain")
        )
    page = open_page(start_app().url + f"?book={book.id}")
    expect(page.get_by_text("Contextual limit not sufficient.").first).to_be_visible()
    expect(page.get_by_text("too many before any of the story")).to_be_visible()


def test_a_second_process_on_the_same_books_gets_a_plain_answer(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db"):
        page = open_page(start_app().url, wait=False)
        expect(page.get_by_text("The books cannot be opened.")).to_be_visible()
        expect(page.get_by_text("is in use by")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Generate", exact=True)).to_be_visible()


def test_a_damaged_file_is_said_and_left_as_it_is(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    broken = tmp_path / "marginalia.db"
    broken.write_bytes(b"not a database" * 1000)
    page = open_page(start_app().url, wait=False)
    expect(page.get_by_text("The books cannot be opened.")).to_be_visible()
    assert broken.read_bytes() == b"not a database" * 1000


def test_without_any_book_one_is_asked_for(
    tmp_path: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with Studio(tmp_path / "marginalia.db") as studio:
        studio.settings.set("sample", value=True)
    app = start_app()
    page = open_page(app.url, wait=False)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("New book")
    page.get_by_label("Title").fill("The First")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("combobox", name="Book", exact=True).locator("option:checked")).to_have_text(
        "The First"
    )
    expect(page.get_by_text("Nothing is written yet.")).to_be_visible()


def test_a_full_disk_is_said_and_the_story_stays(
    small_disk: Path, start_app: Callable[[], App], open_page: Callable[..., Page]
) -> None:
    with ScriptedServer(default=Stream("The sea ", "rose.")) as model:
        with Studio(small_disk / "marginalia.db") as studio:
            provider = studio.providers.create(name="M", base_url=model.base_url, model="m", max_context=4096)
            book = studio.books.create(
                name="Full", provider=provider, protocol=studio.protocols.create(name="Plain")
            )
            studio.story.append(book, "It was night.")
        page = open_page(start_app().url + f"?book={book.id}")
        with suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass
        page.get_by_label("Instructions").fill("The tide comes in.")
        page.get_by_role("button", name="Generate", exact=True).click()
        expect(page.get_by_role("alert").filter(has_text="disk")).to_be_visible()
        expect(page.get_by_role("article", name="Part 1")).to_contain_text("It was night.")
        expect(page.get_by_label("Instructions")).to_have_value("The tide comes in.")
        (small_disk / "ballast").unlink()
        page.get_by_role("button", name="Generate", exact=True).click()
        expect(page.get_by_role("article", name="Part 2")).to_contain_text("The sea rose.")
