"""What the views share: a desk to look at, and a typed way to follow it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from panel.viewable import Viewer

if TYPE_CHECKING:
    from marginalia.ui.desk import Desk


class View(Viewer):
    """A view on the desk; subclasses build what they show once, and change it in place from then on."""

    def __init__(self, desk: Desk) -> None:
        # Panel leaves its constructor untyped.
        super().__init__()  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]
        self.desk = desk

    def follow(self, *names: str, then: Callable[..., Awaitable[None] | None], always: bool = False) -> None:
        """Call *then* when one of the desk's parameters *names* changes, or is set at all if *always*."""
        self.desk.param.watch(then, list(names), onlychanged=not always)  # pyright: ignore[reportUnknownMemberType]
