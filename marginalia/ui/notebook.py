"""The app in a notebook cell: a server in a thread on the loopback address, and a frame that shows it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import panel as pn

from marginalia.ui.app import extension, page

if TYPE_CHECKING:
    from marginalia.studio import Studio

_HOST = "127.0.0.1"
_HEIGHT = 720
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
        extension()
        return page(studio)

    port = _free_port()
    start = cast("Any", pn.serve)  # pyright: ignore[reportUnknownMemberType] - typed in part
    server = start(
        app,
        port=port,
        address=_HOST,
        show=False,
        threaded=True,
        websocket_origin=[f"{_HOST}:{port}", f"localhost:{port}"],
    )
    _servers[studio] = (server, port)
    return port


def end(studio: Studio) -> None:
    """Stop serving *studio*; called when it is closed."""
    served = _servers.pop(studio, None)
    if served is not None:
        served[0].stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
