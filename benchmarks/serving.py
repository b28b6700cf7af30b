"""The app in a process of its own, and the Chromium that looks at it: for benchmarks, pictures and browser tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_PATIENCE = 60.0


class App:
    """``panel serve app.py`` on a home folder of its own, and on *more*: other pages, or options of Panel."""

    def __init__(self, home: Path, *more: str) -> None:
        self.home = home
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.address}/app"
        self.log = home / "server.log"
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None

    def book(self, number: int) -> str:
        """The address of one book."""
        return f"{self.url}?book={number}"

    def start(self) -> App:
        """Start it, and wait until it answers.

        Raises:
            TimeoutError: it does not; the text is what it said meanwhile.
        """
        environment = os.environ | {"MARGINALIA_HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "panel", "serve", "app.py", *self._more]
        where = ["--address", "127.0.0.1", "--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *where], cwd=ROOT, env=environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError):  # not there yet, or too busy to answer
                urllib.request.urlopen(self.url, timeout=20).close()  # noqa: S310 - our own server
                return self
            time.sleep(0.2)
        self.stop()
        raise TimeoutError(f"The server did not start: {self.log.read_text()}")

    def stop(self) -> int:
        """End it as a person would; how it ended.

        Raises:
            TimeoutError: it did not end by itself within 20 seconds; it is gone now.
        """
        if self._process is None:
            return 0
        self._process.terminate()
        try:
            return self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise TimeoutError("The server did not end within 20 seconds.") from None


@contextmanager
def served(home: Path, *more: str) -> Iterator[App]:
    """The app on *home*, for the block."""
    app = App(home, *more)
    try:
        yield app.start()
    finally:
        app.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
