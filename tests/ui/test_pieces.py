"""What the components are told, and what the browser hears of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from marginalia.ui.components import Dialogs
from marginalia.ui.components.base import Piece
from marginalia.ui.house import House

READY = SimpleNamespace(data={"do": "ready"})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the messages that go to the browser."""
    kinds: list[str] = []

    def send(_: Piece, message: dict[str, Any]) -> None:
        kinds.append(message["type"])

    monkeypatch.setattr(Piece, "_send_msg", send)
    return kinds


async def test_what_is_told_before_the_browser_shows_a_piece_is_not_lost(sent: list[str]) -> None:
    piece = Dialogs()
    piece.tell("sheet")
    piece.tell("result")
    assert sent == []
    await piece._listen(READY)
    assert sent == ["sheet", "result"]
    piece.tell("close")
    await piece._listen(READY)  # shown anew: what was told stays told once
    assert sent == ["sheet", "result", "close"]


async def test_a_piece_that_is_told_everything_when_it_is_ready_needs_nothing_kept(sent: list[str]) -> None:
    piece = Dialogs()
    piece.hear(ready=lambda _: piece.tell("everything", first=True))
    piece.tell("sheet")
    await piece._listen(READY)
    assert sent == ["sheet", "everything"]


async def test_the_house_is_busy_for_a_look_after_somebody_did_something(sent: list[str]) -> None:
    house = House()
    house.busy()
    assert not house.busy()
    await Dialogs()._listen(SimpleNamespace(data={"do": "submit"}))
    assert house.busy()
    assert not house.busy()
    assert sent == []
