"""What the views share: a desk to look at, and a typed way to follow it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from panel.viewable import Viewer

if TYPE_CHECKING:
    import param

    from marginalia.ui.desk import Desk


class View(Viewer):
    """A view on the desk; subclasses build what they show once, and change it in place from then on."""

    def __init__(self, desk: Desk) -> None:
        # Panel leaves its constructor untyped.
        super().__init__()  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType]
        self.desk = desk

    def follow(
        self,
        *names: str,
        then: Callable[..., Coroutine[Any, Any, None] | None],
        always: bool = False,
        of: param.Parameterized | None = None,
    ) -> None:
        """Call *then* when one of the parameters *names* of the desk, or *of* something else, changes.

        *always*: also when it is set to what it was.
        """
        followed = self.desk if of is None else of
        followed.param.watch(  # pyright: ignore[reportUnknownMemberType]
            self.desk.errands.on(then), list(names), onlychanged=not always
        )
