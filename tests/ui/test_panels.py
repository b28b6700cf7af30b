"""The page of the inspector for extensions, and what the prompt page says of one that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

import marginalia as mg
from marginalia.extensions.api import Extension, Host, Panel
from marginalia.testing import WordTokenizer
from marginalia.ui.components.inspecting import PromptReader
from marginalia.ui.components.shelves import PanelPage
from marginalia.ui.desk import Desk
from marginalia.ui.lens import Lens
from marginalia.ui.views.panels import PANELS_TAB, PanelsView
from marginalia.ui.views.prompt import PROMPT_TAB, PromptView


@dataclass(frozen=True, kw_only=True)
class Kept:
    mood: str = ""


class Moody(Extension):
    name = "moody"

    def install(self, host: Host) -> None:
        self.kept = host.book_data(Kept)
        host.insert(self.fail)
        host.panel(Panel(title="Mood", show=self.show, form=self.kept))
        host.panel(Panel(title="Broken", show=self.fail))

    def show(self, _studio: Any, book: mg.Book, _prompt: Any) -> str:
        return f"It is **{self.kept.of(book).mood or 'calm'}**."

    def fail(self, *_: Any) -> Any:
        raise ValueError("the moon is missing")


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with mg.Studio(":memory:", extensions=[Moody()], tokenizer=WordTokenizer()) as studio:
        studio.books.create(name="Salt")
        desk = Desk(studio)
        await desk.open()
        yield desk
        desk.close()
        await asyncio.sleep(0)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for piece in (PanelPage, PromptReader):
        monkeypatch.setattr(piece, "_send_msg", lambda _, message: messages.append(message))
    return messages


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not met():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


def shown(told: list[dict[str, Any]]) -> dict[str, str]:
    """What each panel showed last."""
    return {each["key"]: each["html"] for each in told if each["type"] == "panel"}


async def nowhere() -> None:
    """Nothing is opened here."""


async def test_panels_are_asked_while_their_page_is_open_and_follow_what_is_saved(
    desk: Desk, told: list[dict[str, Any]]
) -> None:
    view = PanelsView(desk, extensions=nowhere)
    await desk.refresh()
    assert told == []
    desk.tab = PANELS_TAB
    await until(lambda: "moody/Broken" in shown(told))
    assert "<strong>calm</strong>" in shown(told)["moody/Mood"]
    assert "the moon is missing" in shown(told)["moody/Broken"]

    page = view.__panel__()
    await page._heard["save"]({"key": "moody/Mood", "values": {"mood": "wild"}})  # type: ignore[misc]
    assert [each["errors"] for each in told if each["type"] == "saved"] == [{}]
    await until(lambda: "wild" in shown(told)["moody/Mood"])

    desk.studio.extensions.disable("moody")
    await page._heard["save"]({"key": "moody/Mood", "values": {"mood": "calm"}})  # type: ignore[misc]
    troubles = [each["text"] for each in told if each["type"] == "trouble"]
    assert any("no longer there" in text for text in troubles)


async def test_the_prompt_page_says_who_failed_while_it_was_built(
    desk: Desk, told: list[dict[str, Any]]
) -> None:
    view = PromptView(desk, Lens(desk))
    desk.tab = PROMPT_TAB
    await until(lambda: desk.prompt is not None)
    await until(lambda: any(each.get("troubles") for each in told))
    (last,) = [each for each in told if each["type"] == "prompt"][-1:]
    assert last["troubles"] == ["moody failed in BeforePrepareContent: the moon is missing"]
    assert view.__panel__() is not None
