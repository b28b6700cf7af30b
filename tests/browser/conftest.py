"""A real server in a process of its own, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OURS = ("http://127.0.0.1:", "http://localhost:", "data:", "blob:", "about:")


class App:
    """``panel serve app.py`` on a home folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}/app"
        self.log = home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def book(self, number: int) -> str:
        return f"{self.url}?book={number}"

    def start(self) -> App:
        environment = os.environ | {"MARGINALIA_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        command = [
            sys.executable,
            "-m",
            "panel",
            "serve",
            "app.py",
            "--address",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError):  # not there yet, or too busy to answer
                urllib.request.urlopen(self.url, timeout=20).close()  # noqa: S310 - our own server
                return self
            time.sleep(0.2)
        pytest.fail(f"The server did not start: {self.log.read_text()}")

    def stop(self) -> int:
        """End it as a person would; how it ended."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            pytest.fail("The server did not end within 20 seconds.")


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
