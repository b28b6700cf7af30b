"""The door of a shared server: who signs in, and that nobody gets into the session of somebody else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import anyio.to_thread
import panel as pn
from bokeh.util.token import check_token_signature, get_token_payload
from panel.auth import (
    BasicAuthProvider,
    BasicLoginHandler,
    OAuthProvider,
    _validate_next_url,  # pyright: ignore[reportPrivateUsage] - the one check of where a sign-in may lead
)
from tornado.escape import url_escape
from tornado.web import RequestHandler, decode_signed_value
from tornado.websocket import WebSocketHandler

from marginalia.cli.people import People

_WRONG = "That name and that password do not go together."
_AFTER_A_WRONG_ONE = 1.0  # seconds
_AT_ONCE = 2  # each check takes 32 MiB


class SignIn(BasicLoginHandler):
    """The login page, where passwords are checked by their hashes."""

    people: People
    _checking = anyio.CapacityLimiter(_AT_ONCE)

    async def post(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - Tornado takes both
        """Check a name and a password; a wrong pair is answered a second later."""
        name, password = self.get_argument("username", ""), self.get_argument("password", "")
        right = await anyio.to_thread.run_sync(self.people.check, name, password, limiter=self._checking)
        if right:
            self._welcome(name)
            return
        await anyio.sleep(_AFTER_A_WRONG_ONE)
        path = self.request.uri.partition("?")[0] if self.request.uri else "login"
        self.redirect(f"{path}?error={url_escape(_WRONG)}")

    def _welcome(self, name: str) -> None:
        cast("Any", self).set_current_user(name)
        wanted = self.get_cookie("next_url")
        self.redirect(_validate_next_url(wanted) if wanted else "./")


class PasswordDoor(BasicAuthProvider):
    """Lets in those who are in *people*, each into sessions of their own."""

    def __init__(self, people: People, *, login_template: str, logout_template: str) -> None:
        self._people = people  # asked for while Panel's part is made
        super().__init__(login_template=login_template, logout_template=logout_template)  # type: ignore[no-untyped-call]

    @property
    def get_user(self) -> Any:  # noqa: ANN401 - Panel and Bokeh type it differently
        """Who asks; ``None`` for a stranger, and for a session that is another's."""
        known = cast("Callable[[RequestHandler], str | None]", cast("Any", super()).get_user)

        def get_user(handler: RequestHandler) -> str | None:
            user = known(handler)
            return user if user and self._people.knows(user) and _may_join(handler, user) else None

        return get_user

    @property
    def login_handler(self) -> type[BasicLoginHandler]:
        """The login page."""
        page = type("SignInHere", (SignIn,), {"people": self._people})
        page._login_endpoint = self.login_url  # type: ignore[attr-defined]  # noqa: SLF001 - Panel's way of telling it
        page._login_template = self._login_template  # type: ignore[attr-defined]  # noqa: SLF001 - the same
        return page


class OAuthDoor(OAuthProvider):
    """Lets in whom an OAuth provider vouches for, each into sessions of their own."""

    @property
    def get_user_async(self) -> Any:  # noqa: ANN401 - Panel and Bokeh type it differently
        """Who asks; ``None`` for a stranger, and for a session that is another's."""
        known = cast("Callable[[RequestHandler], Awaitable[str | None]]", cast("Any", super()).get_user_async)

        async def get_user(handler: RequestHandler) -> str | None:
            user = await known(handler)
            return user if user and _may_join(handler, user) else None

        return get_user


def _may_join(handler: RequestHandler, user: str) -> bool:
    """Whether a websocket that *user* opens leads to a session that was begun for them."""
    if not isinstance(handler, WebSocketHandler):
        return True
    token = handler.request.headers.get("Sec-WebSocket-Protocol", "").rpartition(",")[2].strip()
    key = cast("Any", handler).application.secret_key
    try:
        if not check_token_signature(token, signed=True, secret_key=key):
            return False
        cookies: dict[str, str] = cast("Any", get_token_payload(token)).get("cookies") or {}
    except Exception:  # noqa: BLE001 - whatever was sent, it is no token of ours
        return False
    config: Any = pn.config
    whose = decode_signed_value(config.cookie_secret, "user", cookies.get("user", ""))
    return whose is not None and whose.decode() == user
