"""``marginalia serve``: the app for a browser, on this machine unless told otherwise."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import ipaddress
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

from marginalia.cli.door import OAuthDoor, PasswordDoor
from marginalia.cli.people import People
from marginalia.cli.talk import Talk
from marginalia.cli.users import FILE
from marginalia.errors import InvalidInput, MarginaliaError
from marginalia.inference.hosts import VARIABLE as HOSTS_VARIABLE
from marginalia.store import home_folder
from marginalia.store.files import write_whole
from marginalia.studio.limits import RUNS_VARIABLE, SUMMARIES_VARIABLE, HouseRules
from marginalia.ui.app import extension, page
from marginalia.ui.house import guard, studio_of_visitor

_PAGES = Path(__file__).parent / "pages"
_OPEN_TO_OTHERS = 0o077
_SECRET_BYTES = 32
_RUNS = 4  # of one person at once, where there is a login
_SUMMARIES = 2


def run(options: Namespace, talk: Talk) -> int:
    """Serve until interrupted."""
    refuse_open_door(options)
    set_house_rules(options)
    options.port = options.port or free_port(options.address)
    served = _served(options, talk)
    server = cast("Server", served)  # it is a thread only when asked for as one
    loop = server.io_loop

    def end(_signal: int, _frame: object) -> None:
        cast("Any", loop).asyncio_loop.call_soon_threadsafe(loop.stop)

    signal.signal(signal.SIGTERM, end)
    server.start()
    path = options.prefix.strip("/")
    where = f"http://{_shown(options.address)}:{server.port}/{path}{'/' if path else ''}"
    talk.say(f"Marginalia is at {where} (end it with Ctrl+C)")
    loop.start()
    server.stop()  # lets the studios end: their threads would keep the process alive
    talk.note("Marginalia has ended; everything that was written is kept.")
    return 0


def _served(options: Namespace, talk: Talk) -> object:
    copies = _Schedule(timedelta(hours=options.copy_every))
    path = options.prefix.strip("/")
    try:
        return cast("Any", pn).serve(  # its types are incomplete
            _app(copies),
            address=options.address,
            port=options.port,
            websocket_origin=origins(options),
            title="Marginalia",
            show=options.show,
            start=False,
            verbose=False,
            prefix=path,
            root_path=f"/{path}/" if path else None,
            use_xheaders=options.behind_proxy,
            **door(options, talk),
        )
    except OSError as error:
        raise _refused(error, options) from error


def free_port(address: str) -> int:
    """A port that nothing listens on now; browsers have to be told which one before the server takes it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def refuse_open_door(options: Namespace) -> None:
    """Raise ``InvalidInput`` where anybody on the network could read and write the books."""
    if options.oauth and not options.only:
        raise InvalidInput(
            f"Without --only, everybody who has an account at {options.oauth} could sign in. Name who may, for "
            "instance --only mara@example.org or --only '*@example.org'."
        )
    if options.auth or options.oauth or options.without_login or _is_loopback(options.address):
        return
    raise InvalidInput(
        f"Without a login, whoever reaches {options.address} could read and write your books. Ask for one with "
        "--auth (after marginalia user add NAME), listen on 127.0.0.1 only, or say --without-login if the network is "
        "yours alone."
    )


def origins(options: Namespace) -> list[str]:
    """The hosts from which browsers may connect; raises ``InvalidInput`` for a wildcard."""
    if any("*" in host for host in options.allow_host):
        raise InvalidInput("Name each host that may be used; * would let any web page read your books.")
    own = (f"localhost:{options.port}", f"127.0.0.1:{options.port}")
    return list(dict.fromkeys([*own, f"{_shown(options.address)}:{options.port}", *options.allow_host]))


def set_house_rules(options: Namespace) -> None:
    """Hand on what the server allows each person: to this process and to what it starts.

    Behind a login there is a limit unless the options or the environment set another one.
    """
    shared = options.auth or options.oauth
    for variable, given, usual in (
        (RUNS_VARIABLE, options.runs_per_user, _RUNS),
        (SUMMARIES_VARIABLE, options.summaries_per_user, _SUMMARIES),
    ):
        if given is not None:
            os.environ[variable] = str(given)
        elif shared:
            os.environ.setdefault(variable, str(usual))
    if options.provider_host:
        os.environ[HOSTS_VARIABLE] = ",".join(options.provider_host)
    HouseRules.from_environment(os.environ)


def door(options: Namespace, talk: Talk) -> Mapping[str, Any]:
    """What the server needs to ask who comes, if it is to ask.

    Raises ``InvalidInput`` for a file that is no list of people, or an OAuth provider without who may come.
    """
    if not (options.auth or options.oauth):
        return {}
    secret = cookie_secret(home_folder())
    # Session ids are signed, or whoever is signed in could open a session that says somebody else is.
    settings: dict[str, Any] = {
        "cookie_secret": secret,
        "secret_key": hashlib.sha256(f"sessions {secret}".encode()).hexdigest(),
        "sign_sessions": True,
    }
    pages = {"login_template": str(_PAGES / "login.html"), "logout_template": str(_PAGES / "logout.html")}
    if options.oauth:
        config: Any = pn.config
        config.oauth_provider = options.oauth
        if not config.oauth_encryption_key:
            config.oauth_encryption_key = base64.urlsafe_b64encode(hashlib.sha256(secret.encode()).digest())
        guard(options.only)
        return settings | {"auth_provider": cast("Any", OAuthDoor)(logout_template=pages["logout_template"])}
    people = People(home_folder() / FILE if options.auth == Path() else options.auth)
    _look_at(people, talk)
    guard()
    return settings | {"auth_provider": PasswordDoor(people, **pages)}


def _look_at(people: People, talk: Talk) -> None:
    if not people.names():
        raise InvalidInput(
            f"Nobody can sign in with {people.file}. Add somebody with: marginalia user add NAME --file {people.file}"
        )
    if clear := people.in_clear():
        talk.note(
            f"{people.file} holds the passwords of {', '.join(clear)} as they are. Keep only their hashes with: "
            f"marginalia user add NAME --file {people.file}"
        )
    if os.name == "posix" and people.file.stat().st_mode & _OPEN_TO_OTHERS:
        talk.note(
            f"{people.file} can be read by other people on this machine; forbid it with: chmod 600 {people.file}"
        )


def cookie_secret(home: Path) -> str:
    """The secret that signs the cookies of who is signed in: ``PANEL_COOKIE_SECRET``, or one kept in the home folder.

    It stays the same from one start to the next, so that nobody has to sign in again. Raises ``InvalidInput`` for one
    that was cut: with a short secret, or none, anybody could sign a cookie.
    """
    given = os.environ.get("PANEL_COOKIE_SECRET", "")
    if given:
        return given
    path = home / "cookie-secret"
    home.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, secrets.token_hex(_SECRET_BYTES).encode(), private=True)
    secret = path.read_text("utf-8").strip()
    if len(secret) < _SECRET_BYTES:
        raise InvalidInput(
            f"{path} is cut, and with what is left of it anybody could sign in. Delete it; the next start makes a new "
            "one, and everybody signs in again."
        )
    return secret


class _Schedule:
    """Takes copies of the database from the first visit on: before it, nothing can have changed."""

    def __init__(self, every: timedelta) -> None:
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, unless that was done or there is no schedule."""
        if self._task is None and self._every > timedelta(0):
            with suppress(MarginaliaError):  # the page says why the database cannot be opened
                copies = studio_of_visitor().copies
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


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _shown(address: str) -> str:
    return f"[{address}]" if ":" in address else address
