"""The app in a notebook cell: a server in a thread on the loopback address, and a frame that shows it."""

from __future__ import annotations

import builtins
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import panel as pn

from marginalia.errors import MarginaliaError
from marginalia.ui.app import extension, page

if TYPE_CHECKING:
    from marginalia.studio import Studio

_HOST = "127.0.0.1"
_HEIGHT = 720
_LONGEST_START = 20.0
_servers: WeakKeyDictionary[Studio, tuple[Any, int]] = WeakKeyDictionary()


def mimebundle(studio: Studio, *, height: int = _HEIGHT) -> dict[str, str]:
    """The MIME bundle that shows the app on *studio*: one server per studio, started at the first time."""
    address = f"http://{_HOST}:{serve(studio)}/"
    frame = f'<iframe src="{address}" width="100%" height="{height}" style="border:0" title="Marginalia"></iframe>'
    return {"text/html": frame, "text/plain": f"Marginalia at {address}"}


def serve(studio: Studio) -> int:
    """The port on which the app is served on *studio*."""
    if studio in _servers:
        return _servers[studio][1]

    def app() -> Any:  # noqa: ANN401 - whatever Panel can show
        with _unseen_by_the_notebook():
            extension()
        return page(studio)

    port = _free_port()
    started: list[Any] = []
    # Threads inherit whether they are daemons; a server that is none would keep the process alive for ever.
    starter = Thread(target=lambda: started.append(_start(app, port)), daemon=True)
    starter.start()
    starter.join()
    _wait_until_open(port)
    _servers[studio] = (started[0], port)
    return port


@contextmanager
def _unseen_by_the_notebook() -> Generator[None]:
    """A session of the server is no cell: Panel would print its scripts into whatever cell runs at the moment."""
    names = builtins.__dict__
    mark = names.pop("__IPYTHON__", None)
    try:
        yield
    finally:
        if mark is not None:
            names["__IPYTHON__"] = mark


def _start(app: Callable[[], Any], port: int) -> Any:  # noqa: ANN401 - Panel's thread
    serving = cast("Any", pn.serve)  # pyright: ignore[reportUnknownMemberType] - typed in part
    return serving(
        app,
        port=port,
        address=_HOST,
        show=False,
        threaded=True,
        verbose=False,
        websocket_origin=[f"{_HOST}:{port}", f"localhost:{port}"],
    )


def _wait_until_open(port: int) -> None:
    deadline = time.monotonic() + _LONGEST_START
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((_HOST, port), timeout=1):
            return
        time.sleep(0.02)
    raise MarginaliaError(f"The app could not be served on port {port}. Run the cell again.")


def end(studio: Studio) -> None:
    """Stop serving *studio*; called when it is closed."""
    served = _servers.pop(studio, None)
    if served is not None:
        served[0].stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
