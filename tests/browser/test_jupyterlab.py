"""The example notebook in a real JupyterLab, in Chromium, without any other host."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from benchmarks.serving import ROOT
from tests.browser.conftest import OURS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        find_spec("jupyterlab") is None, reason="JupyterLab is not installed: marginalia[notebook]"
    ),
]
NOTEBOOK = ROOT / "docs" / "notebooks" / "exploring-lore.ipynb"
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells stay on the page
}
_LONG = 90_000
WATCH = """() => { window.lengths = new Set(); setInterval(() => {
  const text = document.querySelector(".marginalia-text")
  if (text) window.lengths.add(text.textContent.length) }, 50) }"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab of its own, with the notebook in it."""
    work, settings = tmp_path / "work", tmp_path / "settings"
    work.mkdir()
    shutil.copy(NOTEBOOK, work)
    for name, values in SETTINGS.items():
        file = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
               "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython"}  # fmt: skip
    environment = os.environ | {name: str(tmp_path / folder) for name, folder in folders.items()}
    environment |= {"JUPYTERLAB_SETTINGS_DIR": str(settings), "PYTHONPATH": str(ROOT)}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={work}",
    ]  # fmt: skip
    with (tmp_path / "lab.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/api", tmp_path / "lab.log")
        yield f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK.name}"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(address: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError):  # not there yet, or too busy to answer
            urllib.request.urlopen(address, timeout=20).close()  # noqa: S310 - our own server
            return
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start: {log.read_text()}")


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    elsewhere: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith(OURS):
            elsewhere.append(request.url)

    context.on("request", note)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()
    assert elsewhere == []


def test_in_jupyterlab_the_panels_come_up_and_a_run_streams_in_its_cell_and_in_the_app(
    page: Page, lab: str
) -> None:
    page.goto(lab)
    page.get_by_text(
        "(ipykernel) | Idle"
    ).wait_for()  # cells that are run before that are left out without a word
    page.evaluate(WATCH)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    app = page.frame_locator("iframe[title=Marginalia]")
    expect(app.get_by_role("article", name="Part 25", exact=True)).to_contain_text(
        "The bell rang after all.", timeout=_LONG
    )
    expect(page.get_by_role("button", name="fired 2").first).to_be_visible()
    expect(page.get_by_role("article", name="Message 1, system").first).to_be_visible()
    expect(page.get_by_role("row", name="Asking the model").first).to_be_attached()
    expect(page.locator(".change").filter(has_text="there is room for it now").first).to_be_attached()
    expect(page.locator(".bk-Figure").first).to_be_attached()
    assert len(page.evaluate("[...window.lengths]")) >= 8
    bare = "[...document.querySelectorAll('[data-marginalia]')].filter((each) => !each.shadowRoot).length"
    assert page.evaluate(bare) == 0
    wrong = page.locator(
        "[data-mime-type='application/vnd.jupyter.error'], [data-mime-type='application/vnd.jupyter.stderr']"
    )
    expect(wrong).to_have_count(0)
