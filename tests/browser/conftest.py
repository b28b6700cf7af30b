"""A real server in a process of its own, and a real Chromium that looks at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from benchmarks.serving import ARGUMENTS, CHROMIUM, App

OURS = ("http://127.0.0.1:", "http://localhost:", "data:", "blob:", "about:")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    # One per module: Playwright keeps an event loop in this thread as long as it runs.
    if not Path(CHROMIUM).exists():
        pytest.skip("Chromium is not installed here; set CHROMIUM to where it is.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def start_app(tmp_path: Path) -> Iterator[Callable[[], App]]:
    """Starts the app on the test's own home folder, when the test has put there what it needs."""
    running: list[App] = []

    def start() -> App:
        app = App(tmp_path).start()
        running.append(app)
        return app

    yield start
    for app in running:
        app.stop()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page that may load nothing from elsewhere and may not raise."""
    context = chromium.new_context(viewport={"width": 1400, "height": 860})
    elsewhere: list[str] = []
    faults: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith(OURS):
            elsewhere.append(request.url)

    def open_(url: str, *, width: int = 1400, wait: bool = True) -> Page:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 860})
        page.set_default_timeout(20_000)
        page.on("request", note)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(url)
        if wait:
            page.get_by_role("button", name="Generate", exact=True).and_(page.locator(":enabled")).wait_for()
            page.wait_for_timeout(300)
        return page

    yield open_
    context.close()
    assert elsewhere == []
    assert faults == []
