"""The served app, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM ends a process at once there")


@contextmanager
def served(*options: str, home: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "marginalia", "--home", str(home), "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        yield said.split()[3]
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0, errors
        assert "Marginalia has ended" in errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()


def browser() -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(CookieJar()))


def text(opener: OpenerDirector, url: str, **form: str) -> str:
    with opener.open(url, data=urlencode(form).encode() if form else None, timeout=60) as answer:
        found: bytes = answer.read()
    return found.decode()


def test_the_app_is_served_and_ends_when_asked_to(tmp_path: Path) -> None:
    with served(home=tmp_path) as address:
        assert "Marginalia" in text(browser(), address)
    assert not (tmp_path / "marginalia.db.wal").exists()


def test_a_login_stands_before_everything_and_asks_no_other_host(tmp_path: Path) -> None:
    people = tmp_path / "people.json"
    people.write_text(json.dumps({"mara": "the lamp went out"}))
    people.chmod(0o600)
    with served("--auth", str(people), home=tmp_path / "home") as address:
        stranger = browser()
        page = text(stranger, address)
        assert "Password" in page
        assert "://" not in page
        assert "Invalid" in text(stranger, f"{address}login", username="mara", password="guess")
        with pytest.raises(HTTPError):
            text(stranger, f"{address}ws")
        writer = browser()
        text(writer, f"{address}login", username="mara", password="the lamp went out")
        assert "Password" not in text(writer, address)
        assert "signed out" in text(writer, f"{address}logout")
        assert "Password" in text(writer, address)
