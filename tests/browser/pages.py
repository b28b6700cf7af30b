"""The way to every page and sheet of the app, for the tests and pictures that look at all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from playwright.sync_api import Page


def _place(name: str, page: Page) -> None:
    page.get_by_role("button", name="Places").click()
    page.get_by_role("menuitem", name=re.compile(f"^{name}\\b")).click()
    page.wait_for_timeout(200)


def _tab(name: str, page: Page) -> None:
    tab = page.get_by_role("tab", name=name, exact=True)
    if not tab.is_visible():
        side = "drawer" if name in ("Outline", "Tree", "Summaries") else "contextbar"
        page.get_by_role("button", name=f"Open {side}").click()
    tab.click()
    page.wait_for_timeout(200)


def _button(name: str, page: Page) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_timeout(200)


def _key(key: str, page: Page) -> None:
    page.get_by_role("region", name="Story").focus()
    page.keyboard.press(key)
    page.wait_for_timeout(250)


def _nothing(_: Page) -> None:
    """The page as it opens."""


PAGES: Mapping[str, Callable[[Page], None]] = {
    "studio": _nothing,
    "places": partial(_button, "Places"),
    **{
        name.lower(): partial(_tab, name)
        for name in ("Tree", "Summaries", "Outline", "Lore", "Prompt", "Run", "Panels", "Budget")
    },
    **{
        name.lower(): partial(_place, name)
        for name in (
            "Books",
            "Contents",
            "Lorebooks",
            "Models",
            "Protocols",
            "Prompts",
            "Extensions",
            "Copies",
            "Settings",
            "All keys",
        )
    },
    "book": partial(_button, "Settings"),
    "search": partial(_key, "Control+f"),
    "edit": partial(_key, "e"),
    "focus": partial(_key, "f"),
}


def leave(page: Page) -> None:
    """Close what is open over the page."""
    for _ in range(2):
        page.keyboard.press("Escape")
    page.wait_for_timeout(350)  # drawers take their time
