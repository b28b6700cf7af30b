"""The line at the top: the book, its model and how that is, the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marginalia.ui.components import Masthead
from marginalia.ui.view import View
from marginalia.values import Book, BookId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from marginalia.ui.components.base import Said
    from marginalia.ui.desk import Desk
    from marginalia.ui.reading import Library

NEW = -1
_CONNECT = -2
_ALL = -3


class MastheadView(View):
    """Shows what the desk has open, and asks it for something else; *go* opens one of the *places*."""

    def __init__(
        self, desk: Desk, *, places: Sequence[tuple[str, str, str]], go: Callable[[str], Any]
    ) -> None:
        super().__init__(desk)
        self._bar = Masthead(sizing_mode="stretch_width", places=[list(each) for each in places])
        self._go = go
        self._bar.hear(
            book=self._book, provider=self._provider, protocol=self._protocol,
            keys=lambda _: desk.wish("keys"), settings=lambda _: desk.wish("book"),
            place=lambda said: go(str(said.get("name"))),
        )  # fmt: skip
        self.follow("book", "library", "model_state", then=self._update)

    def __panel__(self) -> Masthead:
        return self._bar

    def _update(self, *_: object) -> None:
        library: Library | None = self.desk.library
        book = self.desk.book or Book()
        if library is None:
            return
        self._bar.param.update(
            books=[*_options(library.books, book.id, "no book"), [NEW, "New book…"], [_ALL, "All books…"]],
            book=book.id,
            providers=[
                *_options(library.providers, book.provider_id, "no model"),
                [_CONNECT, "Connect a model…"],
            ],
            provider=book.provider_id or 0,
            protocols=[
                *_options(library.protocols, book.protocol_id, "no protocol"),
                [NEW, "New protocol…"],
            ],
            protocol=book.protocol_id or 0,
            state=self.desk.model_state,
        )

    async def _book(self, said: Said) -> None:
        chosen = int(said["value"])
        if chosen == NEW:
            self.desk.wish("new book")
        elif chosen == _ALL:
            await self._go("books")
        elif chosen:
            await self.desk.open_book(BookId(chosen))

    async def _provider(self, said: Said) -> None:
        chosen = int(said["value"])
        if chosen == _CONNECT:
            self.desk.wish("connect")
        elif chosen:
            await self.desk.choose(provider=chosen)

    async def _protocol(self, said: Said) -> None:
        chosen = int(said["value"])
        if chosen == NEW:
            self.desk.wish("new protocol")
        elif chosen:
            await self.desk.choose(protocol=chosen)


def _options(pairs: Sequence[tuple[int, str]], chosen: int | None, none: str) -> list[list[int | str]]:
    """The pairs; with an entry for "none" when what is chosen is none of them (it may have been deleted)."""
    options: list[list[int | str]] = [[each, name or "(no name)"] for each, name in pairs]
    return options if any(each == chosen for each, _ in pairs) else [[0, none], *options]
