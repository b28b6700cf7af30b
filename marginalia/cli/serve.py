"""``marginalia serve``: the app for a browser, on this machine unless told otherwise."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import os
import secrets
import signal
import socket
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import panel as pn
from bokeh.server.server import Server

from marginalia.cli.talk import Talk
from marginalia.errors import InvalidInput, StoreError
from marginalia.store import home_folder
from marginalia.ui.app import extension, page
from marginalia.ui.house import studio_of

_PAGES = Path(__file__).parent / "pages"
_OPEN_TO_OTHERS = 0o077


def run(options: Namespace, talk: Talk) -> int:
    """Serve until interrupted."""
    refuse_open_door(options)
    options.port = options.port or free_port(options.address)
    login: Mapping[str, Any] = login_settings(options.auth, home_folder(), talk) if options.auth else {}
    copies = _Schedule(timedelta(hours=options.copy_every))
    try:
        served = cast("Any", pn).serve(  # its types are incomplete
            _app(copies),
            address=options.address,
            port=options.port,
            websocket_origin=origins(options),
            title="Marginalia",
            show=options.show,
            start=False,
            verbose=False,
            **login,
        )
    except OSError as error:
        raise _refused(error, options) from error
    server = cast("Server", served)  # it is a thread only when asked for as one
    loop = server.io_loop

    def end(_signal: int, _frame: object) -> None:
        cast("Any", loop).asyncio_loop.call_soon_threadsafe(loop.stop)

    signal.signal(signal.SIGTERM, end)
    server.start()
    talk.say(f"Marginalia is at http://{_shown(options.address)}:{server.port}/ (end it with Ctrl+C)")
    loop.start()
    server.stop()  # lets the studios end: their threads would keep the process alive
    talk.note("Marginalia has ended; everything that was written is kept.")
    return 0


def free_port(address: str) -> int:
    """A port that nothing listens on now; browsers have to be told which one before the server takes it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def refuse_open_door(options: Namespace) -> None:
    """Raise ``InvalidInput`` where anybody on the network could read and write the books."""
    if options.auth or options.without_login or _is_loopback(options.address):
        return
    raise InvalidInput(
        f"Without a login, whoever reaches {options.address} could read and write your books. Ask for one with "
        "--auth FILE, listen on 127.0.0.1 only, or say --without-login if the network is yours alone."
    )


def origins(options: Namespace) -> list[str]:
    """The hosts from which browsers may connect; raises ``InvalidInput`` for a wildcard."""
    if any("*" in host for host in options.allow_host):
        raise InvalidInput("Name each host that may be used; * would let any web page read your books.")
    own = (f"localhost:{options.port}", f"127.0.0.1:{options.port}")
    return list(dict.fromkeys([*own, f"{_shown(options.address)}:{options.port}", *options.allow_host]))


def login_settings(file: Path, home: Path, talk: Talk) -> Mapping[str, Any]:
    """What the server needs to ask for a name and a password.

    Raises ``InvalidInput`` for a file that is no list of them.
    """
    try:
        people: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read as a list of names and passwords: {error}.") from error
    if not isinstance(people, dict) or not people or not _all_texts(cast("dict[object, object]", people)):
        raise InvalidInput(
            f'{file} has to be a JSON object of names and passwords, like {{"mara": "a password"}}.'
        )
    if os.name == "posix" and file.stat().st_mode & _OPEN_TO_OTHERS:
        talk.note(f"{file} can be read by other people on this machine; forbid it with: chmod 600 {file}")
    return {
        "basic_auth": str(file),
        "login_template": str(_PAGES / "login.html"),
        "logout_template": str(_PAGES / "logout.html"),
        "cookie_secret": cookie_secret(home),
    }


def cookie_secret(home: Path) -> str:
    """The secret that signs the cookies of who is signed in: ``PANEL_COOKIE_SECRET``, or one kept in the home folder.

    It stays the same from one start to the next, so that nobody has to sign in again.
    """
    given = os.environ.get("PANEL_COOKIE_SECRET", "")
    if given:
        return given
    path = home / "cookie-secret"
    home.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    return path.read_text("utf-8").strip()


class _Schedule:
    """Takes copies of the database from the first visit on: before it, nothing can have changed."""

    def __init__(self, every: timedelta) -> None:
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, unless that was done or there is no schedule."""
        if self._task is None and self._every > timedelta(0):
            with suppress(StoreError):  # the page says why the database cannot be opened
                copies = studio_of(pn.state.user).copies
                self._task = asyncio.get_running_loop().create_task(copies.keep_taking(every=self._every))


def _app(copies: _Schedule) -> Callable[[], Any]:
    def app() -> Any:  # noqa: ANN401 - whatever Panel can show
        extension()
        shown = page()
        copies.begin()
        return shown

    return app


def _refused(error: OSError, options: Namespace) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(
            f"Port {options.port} is in use, perhaps by another Marginalia; open that one, or choose another "
            "port with --port."
        )
    return InvalidInput(f"{options.address} port {options.port} cannot be used: {error.strerror or error}.")


def _all_texts(people: Mapping[object, object]) -> bool:
    return all(isinstance(text, str) and text for pair in people.items() for text in pair)


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _shown(address: str) -> str:
    return f"[{address}]" if ":" in address else address
