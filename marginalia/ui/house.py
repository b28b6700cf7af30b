"""The studios of a server: one per user, opened at the first visit, ended with the server."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import panel as pn
from bokeh.application.handlers.handler import Handler

from marginalia.errors import Refused
from marginalia.studio import Studio
from marginalia.ui.tidying import leave_full_collections_to_us, set_the_libraries_aside, tidy
from marginalia.ui.work import SAID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bokeh.application.application import ServerContext
    from bokeh.document import Document
    from bokeh.server.contexts import BokehServerContext

SIGN_OUT = "./logout"
_LOCAL = "local"
_NOBODY = "Nobody is signed in here any more. Reload the page, and sign in again."
_log = logging.getLogger(__name__)


class House:
    """Opens studios and keeps them. A database that could not be opened is tried again at the next visit."""

    def __init__(self, path: Path | str | None = None) -> None:
        self._path = path
        self._guarded = False
        self._admitted: tuple[str, ...] | None = None
        self._studios: dict[str, Studio] = {}
        self._lock = Lock()
        self.tidying: asyncio.Task[None] | None = None

    def guard(self, admitted: Iterable[str] | None = None) -> None:
        """From now on every page needs somebody who has signed in, one of *admitted* unless that is ``None``."""
        self._guarded = True
        self._admitted = None if admitted is None else tuple(admitted)

    def admit(self, user: str | None, *, login: bool = False, vouched: bool = False) -> None:
        """Raise ``Refused`` for a page that *user* may not see: without a login where there is one, or not admitted.

        *login*: the server asks for a name. *vouched*: another service says who it is, so that a person there who
        chose the name of this server's owner is not the owner.
        """
        if user is None and (login or self._guarded):
            raise Refused(_NOBODY)
        listed = self._admitted
        if listed is None and vouched and user == _LOCAL:
            listed = ()
        if user is not None and listed is not None and not any(_same(user, each) for each in listed):
            raise Refused(
                f"“{user}” may not use this Marginalia. Ask whoever runs it, or sign in as somebody else."
            )

    def studio_of(self, user: str | None) -> Studio:
        """The studio of *user*; raises ``StoreError`` with a plain sentence where the database cannot be opened."""
        name = user or _LOCAL
        with self._lock:
            studio = self._studios.get(name)
            if studio is None:
                studio = self._studios[name] = (
                    self._owner().for_user(name) if name != _LOCAL else self._owner()
                )
            return studio

    def _owner(self) -> Studio:
        """The studio that holds the database; those of people who log in stand beside it."""
        owner = self._studios.get(_LOCAL)
        if owner is None:
            owner = self._studios[_LOCAL] = Studio(self._path, user=_LOCAL)
            set_the_libraries_aside()
            _end_with_the_server(self)
        return owner

    def busy(self) -> bool:
        """Whether anybody waits for a text, or did anything since this was last asked."""
        return SAID.felt() or any(studio.busy for studio in tuple(self._studios.values()))

    async def aclose(self) -> None:
        """End all studios; what they write at this moment is stopped, and what had come of it is kept."""
        with self._lock:
            studios, self._studios = self._studios, {}
        owner = studios.pop(_LOCAL, None)
        for studio in (*studios.values(), *([owner] if owner else [])):
            await studio.aclose()


class _Farewell(Handler):
    """Closes a house when the server ends: its loop has stopped by then, and is run once more for that.

    Threads of the store and of anyio would keep the process alive otherwise.
    """

    def __init__(self, house: House, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._house = house
        self._loop = loop

    def modify_document(self, doc: Document) -> None:
        """Add nothing to a page."""

    def on_server_unloaded(self, server_context: ServerContext) -> None:
        """Close the house."""
        del server_context
        if not self._loop.is_closed() and not self._loop.is_running():
            self._loop.run_until_complete(self._close())

    async def _close(self) -> None:
        try:
            await self._house.aclose()
        except Exception:  # noqa: BLE001 - a server that ends does so whatever happens
            _log.exception("A studio could not be closed.")
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)


def _end_with_the_server(house: House) -> None:
    document = pn.state.curdoc
    session = document.session_context if document is not None else None
    if session is None:
        return
    # Bokeh types the context it hands out less exactly than the one it is.
    context = cast("BokehServerContext", session.server_context)
    application = context.application_context.application if context.application_context else None
    if application is not None and not any(
        isinstance(handler, _Farewell) for handler in application.handlers
    ):
        loop = asyncio.get_running_loop()
        application.add(_Farewell(house, loop))
        leave_full_collections_to_us()
        # In a context of its own: this one is the first visitor's, whose page it would hold for good.
        house.tidying = loop.create_task(tidy(house.busy), context=Context())


def _same(user: str, admitted: str) -> bool:
    """Whether *admitted* means *user*: a name, or ``*@example.org`` for everybody of a domain."""
    return user.endswith(admitted[1:]) if admitted.startswith("*@") else user == admitted


_house = House()


def studio_of_visitor() -> Studio:
    """The studio of who looks at this page: who is signed in, or the one person at this machine.

    Raises ``Refused`` for a page that wants a login and has none, ``StoreError`` where the database cannot be opened.
    """
    config: Any = pn.config
    user = pn.state.user
    _house.admit(
        user, login=bool(config.basic_auth or config.oauth_provider), vouched=bool(config.oauth_provider)
    )
    return _house.studio_of(user)


def way_out() -> tuple[tuple[str, str, str], ...]:
    """The place where whoever is signed in signs out, as the list of places has it; none without a login."""
    user = pn.state.user if pn.state.curdoc is not None else None
    return ((SIGN_OUT, f"Sign out ({user})", ""),) if user else ()


def guard(admitted: Iterable[str] | None = None) -> None:
    """See :meth:`House.guard`, for the pages of this process."""
    _house.guard(admitted)
