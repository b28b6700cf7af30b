"""The served app, as a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import anyio
import anyio.to_thread
import pytest
from bokeh.core.types import ID
from bokeh.util.token import generate_jwt_token, get_session_id
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from marginalia.cli.people import People

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


class Vouching(BaseHTTPRequestHandler):
    """Another service that says who somebody is: whoever comes is Mara."""

    email = "mara@example.org"

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if self.path.startswith("/authorize"):
            answer = urlencode({"code": "a-code", "state": asked["state"][0]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri'][0]}?{answer}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.tell({"email": self.email})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.tell({"access_token": "a-token", "token_type": "Bearer", "expires_in": 3600})

    def tell(self, what: object) -> None:
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def vouching(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Vouching]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Vouching) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        for name, value in {
            "PANEL_OAUTH_KEY": "client",
            "PANEL_OAUTH_SECRET": "secret",
            "PANEL_OAUTH_AUTHORIZE_URL": f"{address}/authorize",
            "PANEL_OAUTH_TOKEN_URL": f"{address}/token",
            "PANEL_OAUTH_USER_URL": f"{address}/user",
        }.items():
            monkeypatch.setenv(name, value)
        yield Vouching
        server.shutdown()
        thread.join()


def browser() -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(CookieJar()))


def text(opener: OpenerDirector, url: str, **form: str) -> str:
    with opener.open(url, data=urlencode(form).encode() if form else None, timeout=60) as answer:
        found: bytes = answer.read()
    return found.decode()


def test_the_app_is_served_and_ends_when_asked_to(tmp_path: Path) -> None:
    with served(home=tmp_path) as address:
        assert "<article>" in text(browser(), address)  # the end of the story, before any script has run
        # Of a site whose name leads to this machine.
        elsewhere = Request(address, headers={"Host": "far.example"})  # noqa: S310 - our own server
        with browser().open(elsewhere, timeout=60) as answer:
            page = answer.read().decode()
        assert "Marginalia" in page
        assert "<article>" not in page
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
        assert "do not go together" in text(stranger, f"{address}login", username="mara", password="guess")
        with pytest.raises(HTTPError):
            text(stranger, f"{address}ws")
        assert "Password" in text(browser(), f"{address}metadata")
        writer = browser()
        text(writer, f"{address}login", username="mara", password="the lamp went out")
        assert "Password" not in text(writer, address)
        assert "signed out" in text(writer, f"{address}logout")
        assert "Password" in text(writer, address)


async def seen(address: str, cookies: CookieJar, token: str) -> str:
    """What a websocket tells of the session behind a *token*; nothing where it is refused."""
    carried = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)
    request = HTTPRequest(
        f"{address.replace('http', 'ws', 1)}ws",
        headers={"Cookie": carried, "Origin": address.rstrip("/")},
        connect_timeout=20,
    )
    try:
        socket = await websocket_connect(request, subprotocols=["bokeh", token])
    except HTTPClientError:
        return ""
    said = ""
    while (fragment := await socket.read_message()) is not None:
        if '"msgtype":"ACK"' in str(fragment).replace(" ", ""):
            for line in ('{"msgid": "1", "msgtype": "PULL-DOC-REQ"}', "{}", "{}"):
                await socket.write_message(line)
        said += str(fragment)
        if '"doc":' in said:
            break
    socket.close()
    return said


async def test_nobody_gets_into_the_session_of_somebody_else(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    people = People(file)
    people.add("mara", "the lamp went out")
    people.add("elias", "salt on the clasp")
    with served("--auth", str(file), home=tmp_path / "home") as address:
        jars = {"mara": CookieJar(), "elias": CookieJar()}
        token = ""
        for name, password in (("mara", "the lamp went out"), ("elias", "salt on the clasp")):
            opener = build_opener(HTTPCookieProcessor(jars[name]))
            text(opener, f"{address}login", username=name, password=password)
            for path in ("", "login"):  # no other site shows a page of ours in its own
                with opener.open(f"{address}{path}", timeout=60) as answer:
                    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
            if name == "mara":
                found = re.search(r'"token":"([^"]+)"', text(opener, address))
                assert found is not None
                token = found[1]
        assert '"doc":' in await seen(address, jars["mara"], token)
        assert await seen(address, jars["elias"], token) == ""  # a session of somebody else
        assert await seen(address, CookieJar(), token) == ""  # a stranger
        for cookies in ({}, {"is_guest": "1"}):
            forged = generate_jwt_token(
                ID("invented"),
                signed=False,
                extra_payload={"cookies": cookies, "headers": {}, "arguments": {}},
            )
            assert '"doc":' not in await seen(address, jars["elias"], forged)  # a session that names nobody
        session = get_session_id(token)
        for name in ("elias", "mara"):  # a page that names a session would hold what its owner is known by
            opener = build_opener(HTTPCookieProcessor(jars[name]))
            for path in (
                f"?bokeh-session-id={session}",
                f"?bokeh-token={token}",
                "autoload.js?bokeh-autoload-element=x",
            ):
                with pytest.raises(HTTPError, match="403"):
                    text(opener, f"{address}{path}")
            opener.addheaders = [("Bokeh-Session-Id", session)]
            with pytest.raises(HTTPError, match="403"):
                text(opener, address)
        assert '"doc":' in await seen(address, jars["mara"], token)
        people.remove("mara")
        assert await seen(address, jars["mara"], token) == ""  # who is put out stays out


def test_who_signed_in_with_a_password_that_was_changed_signs_in_again(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    people = People(file)
    people.add("mara", "the lamp went out")
    with served("--auth", str(file), home=tmp_path / "home") as address:
        jar = CookieJar()
        opener = build_opener(HTTPCookieProcessor(jar))
        text(opener, f"{address}login", username="mara", password="the lamp went out")
        assert "Password" not in text(opener, address)
        told = {cookie.name: cookie for cookie in jar if cookie.name in {"user", "id_token", "door"}}
        assert len(told) == 3
        for cookie in told.values():
            assert cookie.has_nonstandard_attr("HttpOnly")
            assert cookie.get_nonstandard_attr("SameSite") == "Lax"
        people.add("mara", "the lamp is lit")
        assert "Password" in text(opener, address)


async def test_another_service_may_say_who_comes_and_the_server_who_may(
    tmp_path: Path, vouching: type[Vouching], monkeypatch: pytest.MonkeyPatch
) -> None:
    with served("--oauth", "generic", "--only", "*@example.org", home=tmp_path) as address:
        for email, let_in in (("mara@example.org", True), ("mara@example.com", False), ("local", False)):
            monkeypatch.setattr(vouching, "email", email)
            cookies = CookieJar()
            page = await anyio.to_thread.run_sync(
                text, build_opener(HTTPCookieProcessor(cookies)), address.replace("127.0.0.1", "localhost")
            )
            found = re.search(r'"token":"([^"]+)"', page)
            assert found is not None
            said = await seen(address.replace("127.0.0.1", "localhost"), cookies, found[1])
            assert '"doc":' in said
            assert ("may not use this Marginalia" in said) is not let_in
