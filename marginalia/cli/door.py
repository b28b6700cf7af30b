"""The door of a shared server: who signs in, and that nobody gets into the session of somebody else."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from http import HTTPStatus
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
from tornado.web import HTTPError, RequestHandler, decode_signed_value
from tornado.websocket import WebSocketHandler

from marginalia.cli.people import People

_DOOR = "door"
_WRONG = "That name and that password do not go together."
_AFTER_A_WRONG_ONE = 1.0  # seconds
_AT_ONCE = 2  # each check takes 32 MiB


class CloseCookies(RequestHandler):
    """A page whose cookies are sent by no other site's pages, and over no open line once there was a closed one."""

    def set_default_headers(self) -> None:
        """Be shown by no other site."""
        _show_only_here(self)

    def set_cookie(self, name: str, value: str | bytes, *args: Any, **settings: Any) -> None:  # noqa: ANN401 - Tornado's
        """Set a cookie; the arguments are Tornado's."""
        settings = {"samesite": "Lax", "secure": self.request.protocol == "https"} | settings
        cast("Any", super()).set_cookie(name, value, *args, **settings)


class SignIn(CloseCookies, BasicLoginHandler):
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
        # Whoever signed in with a password that was changed since has to sign in again.
        config: Any = pn.config
        mark = self.people.mark(name, config.cookie_secret)
        self.set_signed_cookie(
            _DOOR, mark, expires_days=config.oauth_expiry, httponly=True, path=config.cookie_path
        )
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
            _refuse_named(handler)
            user = known(handler)
            return user if user and self._lets_in(handler, user) and _may_join(handler, user) else None

        return get_user

    def _lets_in(self, handler: RequestHandler, user: str) -> bool:
        if not self._people.knows(user):
            return False
        shown = handler.get_signed_cookie(_DOOR) or b""
        secret: str = cast("Any", pn.config).cookie_secret
        return hmac.compare_digest(shown, self._people.mark(user, secret).encode())

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
    def login_handler(self) -> Any:  # noqa: ANN401 - a class that is made here
        """The way to the service that vouches, and back."""
        handler = cast("type[RequestHandler]", cast("Any", super()).login_handler)
        return type("SignInElsewhere", (CloseCookies, handler), {})

    @property
    def get_user_async(self) -> Any:  # noqa: ANN401 - Panel and Bokeh type it differently
        """Who asks; ``None`` for a stranger, and for a session that is another's."""
        known = cast("Callable[[RequestHandler], Awaitable[str | None]]", cast("Any", super()).get_user_async)

        async def get_user(handler: RequestHandler) -> str | None:
            _refuse_named(handler)
            user = await known(handler)
            return user if user and _may_join(handler, user) else None

        return get_user


def _refuse_named(handler: RequestHandler) -> None:
    """Raise for a page that names a session, and for one that is made for other sites to show.

    The answer would hold the token of that session, and with it the cookies of whoever began it; what other sites show
    they can read.
    """
    if isinstance(handler, WebSocketHandler):
        return
    _show_only_here(handler)
    named = any(handler.get_arguments(name) for name in ("bokeh-session-id", "bokeh-token"))
    if (
        named
        or "Bokeh-Session-Id" in handler.request.headers
        or handler.request.path.endswith("/autoload.js")
    ):
        raise HTTPError(HTTPStatus.FORBIDDEN, reason="Behind a login, sessions have no address")


def _show_only_here(handler: RequestHandler) -> None:
    """Forbid other sites to show a page in theirs, where it could be pressed unseen."""
    handler.set_header("Content-Security-Policy", "frame-ancestors 'self'")


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
